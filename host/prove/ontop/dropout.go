package ontop

import (
	"math"

	"psafe/host/arith"
	"psafe/host/prove/covary"
)

// Dropout of the inputs of the last layer (docs/posteriors.md (94)): each z_j is dropped with probability
// rate, else multiplied by 1/(1-rate), independently.

// dropoutCells is how many cells of a lattice each input gets, up to mostDropoutCells together.
const (
	dropoutCells     = 1024
	mostDropoutCells = 1 << 16
)

// droppedTailUp bounds the probability that the row is negative, or 0, somewhere in the cell: that of
// m0 + sum_j X_j <= 0, X_j = -A_j at_j - |A_j| reach_j with probability rate, else
// rate/(1-rate) (A_j at_j - |A_j| reach_j), which are independent. Values are rounded down, to floating
// point and then to a lattice, which only makes that likelier.
func (r *Row) droppedTailUp(f *form) float64 {
	more := arith.Exactly(r.rate).Over(arith.Difference(1, r.rate))
	var low arith.Sum // m0 and the lower values
	low.Plus(r.meanDown(f))
	gaps, high := make([]float64, r.n), make([]bool, r.n)
	for j, a := range r.mean {
		at := a.Times(arith.Exactly(f.at[j]))
		vary := arith.Exactly(a.Size()).Times(arith.Exactly(f.reach[j]))
		dropped := at.Negated().Minus(vary).Lo
		kept := at.Minus(vary).Times(more).Lo
		low.Plus(min(dropped, kept))
		gaps[j], high[j] = max(0, arith.SumDown(max(dropped, kept), -min(dropped, kept))), kept > dropped
	}
	base := low.Lo()
	switch {
	case !(math.Abs(base) <= covary.Most):
		return 1
	case base > 0:
		return 0
	}
	// Prob( sum of the gaps that are taken <= t ); the last factor is for check, whose numbers differ.
	t := arith.Up(-base*(1+0x1p-20)) + covary.Tiny
	n := min(dropoutCells*r.n, mostDropoutCells)
	step := t / float64(n)
	p := make([]float64, n+1)
	p[0] = 1
	keep := 1 - r.rate
	for j, gap := range gaps {
		up, stay := r.rate, keep
		if high[j] {
			up, stay = keep, r.rate
		}
		cells := n + 1
		if c := math.Floor(arith.Down(arith.Down(gap/arith.Up(step)) * (1 - 0x1p-50))); c <= float64(n) {
			cells = int(max(0, c))
		}
		if cells == 0 {
			continue
		}
		for k := n; k >= 0; k-- {
			q := float64(p[k] * stay)
			if k >= cells {
				q += float64(p[k-cells] * up)
			}
			p[k] = q
		}
	}
	sum := 0.0
	for _, q := range p {
		sum += q
	}
	return min(1, float64(sum*covary.Grow(4*r.n+n))+covary.Tiny)
}
