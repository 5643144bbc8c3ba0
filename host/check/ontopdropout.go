package check

import (
	"math"

	"psafe/host/arith"
)

// droppedTailUp bounds the probability that a row is negative, or 0, somewhere in the cell where each
// input of the last layer is dropped with a probability, else multiplied by its reciprocal rest
// (docs/posteriors.md (94)): the row is at least its least value at the means, and for each input one of
// two numbers, independently. The numbers are put on a lattice, each at or below where it is.
func (t *topPass) droppedTailUp(r *topRow, c *chosen) float64 {
	rate := arith.Exactly(t.rate)
	odds := rate.Over(arith.Difference(1, t.rate))
	type pair struct{ gap, chance, rest float64 }
	var pairs []pair
	var least arith.Sum
	least.Plus(t.meanDown(r, c))
	for j, a := range r.mean {
		mid := a.Times(arith.Exactly(c.at[j]))
		around := arith.Exactly(arith.Up(a.Size() * c.reach[j]))
		if c.reach[j] == 0 {
			around = arith.Interval{}
		}
		dropped, kept := mid.Negated().Minus(around).Lo, mid.Minus(around).Times(odds).Lo
		chance := pair{arith.SumDown(kept, -dropped), arith.Up(1 - t.rate), t.rate}
		if kept < dropped {
			chance = pair{arith.SumDown(dropped, -kept), t.rate, arith.Up(1 - t.rate)}
		}
		least.Plus(min(dropped, kept))
		pairs = append(pairs, chance)
	}
	low := least.Lo()
	switch {
	case !(math.Abs(low) <= topMost):
		return 1
	case low > 0:
		return 0
	}
	const finer = 4
	n := finer * min(1024*t.in, 1<<16)
	width := arith.Up(arith.Up(-low+topTiny) / float64(n))
	at := make([]float64, n+1)
	at[0] = 1
	for _, p := range pairs {
		steps := math.Floor(arith.Down(p.gap / width))
		if !(steps >= 1) {
			continue
		}
		for k := n; k >= 0; k-- {
			at[k] *= p.rest
			if float64(k) >= steps {
				at[k] += float64(at[k-int(steps)] * p.chance)
			}
		}
	}
	var total arith.Sum
	for _, p := range at {
		total.Plus(p)
	}
	return min(1, arith.Up(total.Hi()*(1+loose(4*t.in))+topTiny))
}
