package covary

import (
	"psafe/host/arith"
	"psafe/host/check/relax"
)

// Layers whose weights depend on each other (docs/theory.md, section 5.5): the variance of a row's noise
// is a quadratic form over the box of what feeds the layer, of the covariance of the row.

// MostFormedInputs is up to how many inputs the covariance of a row is made: as for certify.
const MostFormedInputs = 128

// Covaried is a dense layer with a covariance, or a convolution: then it is what a position has, in and out
// being taps and filters, and at says where those are; last is what fed it last.
type Covaried struct {
	Topped
	at   *relax.Places
	last *convBox
	// sd are upper bounds of the deviations of the entries of [W b], [out x (in+1)].
	sd []float64
	// units are the rows of single outputs; norm is that of a WideRow.
	units []covariance
	norm  float64
	forms bool
}

// covariance is that of a row: a TopRow, a WideRow where it is large, or unknown where numbers are out of range.
type covariance interface {
	// Marginal bounds the standard deviation of coefficient j, varianceUp the form over a box.
	Marginal(j int) float64
	varianceUp(box FedBox) float64
}

type unknown struct{}

func (unknown) Marginal(int) float64      { return arith.Inf }
func (unknown) varianceUp(FedBox) float64 { return arith.Inf }

// convBox holds what feeds a convolution, position by position: what lies under the taps, and QA' of the middle
// of it, in intervals.
type convBox struct {
	z      relax.Span
	under  []FedBox
	turned [][]arith.Interval
}
