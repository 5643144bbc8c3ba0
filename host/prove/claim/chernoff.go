package claim

import (
	"encoding/binary"
	"math"
)

// ChernoffProof holds how the rows of S were bounded by exact moments at a point of a box (docs/theory.md, section
// 7): one entry for each row of S. Rates and Statements are what it rests on of hidden layers above the first: for each
// layer and neuron the upper and the lower bound of its mean, and those of its variance. Those of the second layer need
// no planes: Rates are theirs, little-endian float64, 0 where nothing varies.
type ChernoffProof struct {
	Rows       []ChernoffRow `json:"rows,omitempty"`
	Rates      []byte        `json:"rates,omitempty"`
	Statements []ChernoffRow `json:"statements,omitempty"`
}

// AddRates appends those of statements.
func (p *ChernoffProof) AddRates(statements []ChernoffRow) {
	for _, s := range statements {
		p.Rates = binary.LittleEndian.AppendUint64(p.Rates, math.Float64bits(s.Rate))
	}
}

// ChernoffRow is the rate h of a row's moment, 0 if the row was not bounded, and the slopes of the planes of
// all hidden layers below it but the first, in the order of neurons: by mean and by variance, two little-endian
// float32 each. On a box of some width, Budget is what the row's difference from the middle may fail with,
// and Shares has a byte for each hidden neuron, in their order: the part of a difference that goes through it,
// in 128ths. A row at a point that was bounded part by part, by the variance of the last layer's noise, has Squares,
// for each part by what its variance is multiplied in the exponent, and Upto, up to which variance each is but the
// last; its slopes are those of one part after the other.
type ChernoffRow struct {
	Rate    float64   `json:"rate"`
	Slopes  []byte    `json:"slopes,omitempty"`
	Budget  float64   `json:"budget,omitempty"`
	Shares  []byte    `json:"shares,omitempty"`
	Squares []float64 `json:"squares,omitempty"`
	Upto    []float64 `json:"upto,omitempty"`
}

// AddSlopes appends the slopes of a neuron, which must be float32.
func (r *ChernoffRow) AddSlopes(byMean, byVariance float64) {
	for _, s := range []float64{byMean, byVariance} {
		r.Slopes = binary.LittleEndian.AppendUint32(r.Slopes, math.Float32bits(float32(s)))
	}
}
