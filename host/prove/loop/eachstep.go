package loop

import (
	"math"

	"psafe/host/arith"
)

// EachStep bounds the probability over a fresh draw of the network at each of the plant's steps (section 3.9 of
// docs/theory.md), by values of cells:
//
//	V_0 = 1 on cells of the goal, or of the safe set without one,    V_(t+1) = sum_j P_j (a_j - a_(j+1)),
//
// where B_1 within B_2 ... within B_m are the images of the rings of a cell, each enlarged by the one before, a_j
// is the least V_t on B_j, and a_(m+1) = 0. Cells of the goal keep 1, others that are not safe, or of
// which nothing is known, have 0 from step 1 on. Differences, products and sums are rounded down.
func (l *Loop) EachStep(cells []Cell) Result {
	n := l.Cells()
	rings := make([][]step, n)
	for i := range cells {
		if c := &cells[i]; l.safe[c.Number] {
			rings[c.Number] = l.steps(c)
		}
	}
	now, next := make([]float64, n), make([]float64, n)
	for c := range now {
		if l.reached[c] || l.Goal == nil && l.safe[c] {
			now[c] = 1
		}
	}
	for range l.Steps {
		l.iterate(rings, now, next)
		now, next = next, now
	}
	r := Result{Values: now}
	if l.StartOutside() {
		r.Why = outside
		return r
	}
	r.Lower = 1
	for _, c := range l.start {
		r.Lower = min(r.Lower, now[c])
	}
	for c := range cells {
		r.Cells = append(r.Cells, cells[c].Number)
	}
	if r.Ranks = make([]int, len(r.Cells)); len(l.start) == 0 {
		r.Lower = 0
	}
	if !(r.Lower > 0) {
		r.Lower, r.Why = 0, "from a cell of the start set nothing is proved"
	}
	return r
}

// step is a set of next states with a lower bound of its probability.
type step struct {
	to Image
	p  float64
}

// steps are the nested images of a cell's rings, up to the first that leaves the grid.
func (l *Loop) steps(c *Cell) []step {
	var list []step
	for _, r := range c.Rings {
		m := l.Image(c.Number, r.Out)
		if !m.Inside() {
			break
		}
		if k := len(list); k > 0 {
			for i, before := range list[k-1].to.First {
				m.First[i] = min(m.First[i], before)
				m.Last[i] = max(m.Last[i], list[k-1].to.Last[i])
			}
		}
		if r.P > 0 {
			list = append(list, step{m, r.P})
		}
	}
	return list
}

// iterate sets the values of cells one step earlier.
func (l *Loop) iterate(rings [][]step, now, next []float64) {
	for c := range now {
		if l.reached[c] {
			next[c] = 1
			continue
		}
		next[c] = l.value(rings[c], now)
	}
}

// value is sum_j P_j (a_j - a_(j+1)).
func (l *Loop) value(rings []step, now []float64) float64 {
	sum, before := 0.0, 0.0 // from the widest ring on
	for j := len(rings) - 1; j >= 0; j-- {
		least := math.Inf(1)
		l.each(rings[j].to, func(to int) bool { least = min(least, now[to]); return least > before })
		if least > before { // and else it is before, as this ring is within the wider ones
			sum = arith.SumDown(sum, arith.ProductDown(rings[j].p, arith.SumDown(least, -before)))
			before = least
		}
	}
	return min(sum, 1)
}
