package network

import (
	"fmt"
	"iter"
	"math"
)

// Linear is a map with weights, linear in its inputs z and in its parameters: two flat
// lists, weights and biases, each parameter used in any number of places,
//
//	zeta_i = sum over the places (i, j, w) of weight_w z_j  +  bias_BiasOf(i)
//
// Nothing else knows where a parameter lies in its list.
type Linear interface {
	Map
	// Lowered is the map as devices compute it. It is made anew with every call.
	Lowered() *Lowered
	// Into gives the places of output i: the input j and the weight that meets it there.
	// No weight occurs twice among them, though it may lead into other outputs too.
	Into(i int) iter.Seq2[int, int]
	// From gives the places of input j: the output i and the weight on the way.
	From(j int) iter.Seq2[int, int]
	// BiasOf is the parameter in the list of biases that is added to output i.
	BiasOf(i int) int
	// addGradient adds to dw and db the gradient with respect to the parameters, given the
	// inputs and the gradient with respect to zeta. Ordinary float64.
	addGradient(dw, db, z, dzeta []float64)
}

// Fixed is a map without parameters that is linear in its inputs: AvgPool, Add, Concat,
// Reorder.
type Fixed interface {
	Map
	// Lowered is the map as devices compute it. It is made anew with every call.
	Lowered() *Lowered
	fixed()
}

// Unweighted gives, for an output i of a map without weights, the inputs j that it is made of.
// Of a Fixed map it is the sum of them, each times a number between 0 and the upper bound that
// comes with j; of a MaxPool it is the greatest of them, and the numbers are 1. It panics for
// other maps.
func Unweighted(m Map) func(i int) iter.Seq2[int, float64] {
	var at func(i, k int) (j int, most float64)
	taps := 0
	switch m := m.(type) {
	case Fixed:
		l := m.Lowered()
		taps, at = l.Taps, func(i, k int) (int, float64) { return l.Input(i, k), l.CoefficientHi[k] }
	case MaxPool:
		members := m.Members()
		taps = len(members) / m.Outputs()
		at = func(i, k int) (int, float64) { return int(members[i*taps+k]), 1 }
	default:
		panic(fmt.Sprintf("network: a %T has weights", m))
	}
	return func(i int) iter.Seq2[int, float64] {
		return func(yield func(int, float64) bool) {
			for k := range taps {
				if j, most := at(i, k); j >= 0 && !yield(j, most) {
					return
				}
			}
		}
	}
}

// Dense is the map of a dense layer: every input meets every output, each with a weight
// of its own, which lie by input, outputs contiguous: (In, Out).
type Dense struct{ In, Out int }

// DenseLayer is a dense layer from in inputs to out outputs.
func DenseLayer(in, out int, a Activation) Layer {
	return Layer{Map: Dense{In: in, Out: out}, Activation: a}
}

// Inputs is In.
func (d Dense) Inputs() int { return d.In }

// Outputs is Out.
func (d Dense) Outputs() int { return d.Out }

// Weights is In*Out.
func (d Dense) Weights() int { return d.In * d.Out }

// Biases is Out.
func (d Dense) Biases() int { return d.Out }

// at is the weight from input j to output i.
func (d Dense) at(j, i int) int { return j*d.Out + i }

// Into gives every input j, ascending, and the weight from it to output i.
func (d Dense) Into(i int) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for j := range d.In {
			if !yield(j, d.at(j, i)) {
				return
			}
		}
	}
}

// From gives every output i, ascending, and the weight from input j to it.
func (d Dense) From(j int) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for i := range d.Out {
			if !yield(i, d.at(j, i)) {
				return
			}
		}
	}
}

// BiasOf is i.
func (d Dense) BiasOf(i int) int { return i }

// Lowered has one position, and the inputs as taps.
func (d Dense) Lowered() *Lowered {
	return &Lowered{Positions: 1, Taps: d.In, Channels: d.Out}
}

// Check refuses an empty shape, and one whose weights cannot be counted.
func (d Dense) Check() error {
	if d.In < 1 || d.Out < 1 || d.In > math.MaxInt/d.Out {
		return fmt.Errorf("shape %d x %d is empty or too large", d.In, d.Out)
	}
	return nil
}

// Dropped returns which inputs of a map dropout drops together, as units: each input of a dense layer by
// itself, and channels of a map with one weight for each channel (Conv.Gain), whatever their positions.
// Of other maps, where a weight meets several inputs, ok is false: dropping one is no choice of weights.
func Dropped(m Map) (units int, unit func(j int) int, ok bool) {
	switch m := m.(type) {
	case Dense:
		return m.In, func(j int) int { return j }, true
	case Conv:
		if m.Gain() {
			return m.In.Channels, m.channel, true
		}
	}
	return 0, nil, false
}
