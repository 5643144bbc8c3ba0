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
	low, pairs := t.pairs(r, c)
	switch {
	case !(math.Abs(low) <= topMost):
		return 1
	case low > 0:
		return 0
	}
	at, _ := t.lattice(pairs, arith.Up(-low+topTiny))
	var total arith.Sum
	for _, p := range at {
		total.Plus(p)
	}
	return min(1, arith.Up(total.Hi()*(1+loose(4*t.in))+topTiny))
}

// pair is an input of the last layer in a row: gap with a probability of at most chance, or nothing.
type pair struct{ gap, chance, rest float64 }

// pairs are those of all inputs, and the least value of the row.
func (t *topPass) pairs(r *topRow, c *chosen) (low float64, pairs []pair) {
	rate := arith.Exactly(t.rate)
	odds := rate.Over(arith.Difference(1, t.rate))
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
	return least.Lo(), pairs
}

// lattice is how likely the gaps taken add up to each multiple of the width up to most, each of them
// rounded down to one.
func (t *topPass) lattice(pairs []pair, most float64) (at []float64, width float64) {
	const finer = 4
	n := finer * min(1024*t.in, 1<<16)
	width = arith.Up(most / float64(n))
	at = make([]float64, n+1)
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
	return at, width
}

// droppedLaw is the law of the row: at each of some multiples of the width, how likely fewer are taken.
func (t *topPass) droppedLaw(r *topRow, c *chosen) *marginLaw {
	low, pairs := t.pairs(r, c)
	if !(math.Abs(low) <= topMost) {
		return &marginLaw{}
	}
	mean, variance := 0.0, 0.0
	for _, p := range pairs {
		mean += p.gap * p.chance
		variance += p.gap * p.gap * p.chance * p.rest
	}
	sd := math.Sqrt(variance)
	if !(sd > topTiny) {
		return &marginLaw{[]float64{low}, []float64{0}}
	}
	high, least := mean+4*sd, max(0, mean-8*sd)
	at, width := t.lattice(pairs, high)
	for k := 1; k < len(at); k++ {
		at[k] = arith.Up(at[k] + at[k-1])
	}
	l := &marginLaw{}
	for i := range steps + 1 {
		k := int((high - (high-least)*float64(i)/steps) / width)
		below := 0.0
		if k = min(k, len(at)-1); k > 0 {
			below = min(1, arith.Up(at[k-1]*(1+loose(4*t.in)))+topTiny)
		}
		l.at, l.below = append(l.at, arith.SumDown(low, arith.ProductDown(width, float64(k)))), append(l.below, below)
	}
	return l
}
