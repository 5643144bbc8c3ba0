package bound

import (
	"fmt"

	"psafe/host/arith"
)

// Allow lets the pre-activation of each unit of the next hidden layer, by[i], or each property row
// from below, if all hidden layers are bounded, be off by that much from what the weight box says
// ((68) of docs/theory.md: noise, on the event that it is no more). All that is proved after
// it holds for every such deviation, another one for every input and every unit. by are numbers >= 0
// that fit the device's precision.
func (s *Splits) Allow(by []float64) error {
	p, k, prec := s.pass, len(s.lo), s.Precision()
	n := p.layers[k].out
	last := k == len(p.layers)-1
	if last {
		n = p.query.Rows.rows
	}
	if len(by) != n || s.w[k].lo != nil || s.assumed != nil || p.layers[k].pool {
		panic(fmt.Sprintf("bound: Splits.Allow: %d numbers for the %d of layer %d, whose rows are in use: %v", len(by), n, k, s.w[k].lo != nil || s.assumed != nil))
	}
	if last {
		s.below = by
		return nil
	}
	lower, upper := make([]float64, n), make([]float64, n)
	for i, v := range by {
		upper[i] = prec.RoundHi(v)
		lower[i] = -upper[i]
	}
	if p.off == nil {
		p.off = map[int]Interval{}
	}
	s.off[k] = upper
	return s.turn.Do(func() error {
		p.off[k] = Interval{p.holding(lower), p.holding(upper)}
		return p.err
	})
}

// lowered is a constant of property row i less what Allow has said.
func (s *Splits) lowered(constant float64, i int) float64 {
	if s.below == nil {
		return constant
	}
	return s.Precision().RoundLo(arith.SumDown(constant, -s.below[i]))
}

// unitsLowered are lower bounds of units of hidden layer k, or of these negated, less what Allow has
// said of them.
func (s *Splits) unitsLowered(k int, rows []int, bounds []float64) {
	if k == len(s.pass.layers)-1 || s.off[k] == nil {
		return
	}
	for r, i := range rows {
		bounds[r] = s.Precision().RoundLo(arith.SumDown(bounds[r], -s.off[k][i%len(s.off[k])]))
	}
}
