package bound

import (
	"fmt"

	"psafe/host/arith"
)

// Allow lets the pre-activation of each unit of the next hidden layer, by[i], or each property row
// from below, if all hidden layers are bounded, be off by that much from what the weight box says
// ((68) of docs/confinement.md: noise, on the event that it is no more). All that is proved after
// it holds for every such deviation, another one for every input. by are numbers >= 0 that fit the
// device's precision.
func (s *Splits) Allow(by []float64) error {
	p, k, prec := s.pass, len(s.lo), s.Precision()
	n := p.layers[k].out
	last := k == len(p.layers)-1
	if last {
		n = p.query.Rows.rows
	}
	if len(by) != n || s.w[k].lo != nil || s.assumed != nil {
		panic(fmt.Sprintf("bound: Splits.Allow: %d numbers for the %d of layer %d, whose rows are in use: %v", len(by), n, k, s.w[k].lo != nil || s.assumed != nil))
	}
	if last {
		s.below = by
		return nil
	}
	boxes := *p.query.Boxes // which are the caller's
	lo, hi, err := p.readPair(boxes.b[k].Lo, boxes.b[k].Hi)
	if err != nil {
		return err
	}
	lower, upper := make([]float64, n), make([]float64, n)
	for i, v := range by {
		lower[i], upper[i] = prec.RoundLo(arith.SumDown(lo[i], -v)), prec.RoundHi(arith.SumUp(hi[i], v))
	}
	boxes.b = append([]Interval(nil), boxes.b...)
	boxes.b[k] = Interval{s.write(lower), s.write(upper)}
	p.query.Boxes = &boxes
	return p.err
}

// lowered is a constant of property row i less what Allow has said.
func (s *Splits) lowered(constant float64, i int) float64 {
	if s.below == nil {
		return constant
	}
	return s.Precision().RoundLo(arith.SumDown(constant, -s.below[i]))
}
