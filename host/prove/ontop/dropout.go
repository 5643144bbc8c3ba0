package ontop

import (
	"math"

	"psafe/host/arith"
	"psafe/host/prove/measure"
)

// Dropout of the inputs of the last layer (docs/posteriors.md (94)): each z_j is dropped with probability
// rate, else multiplied by 1/(1-rate), independently.

// dropoutCells is how many cells of a lattice each input gets, up to mostDropoutCells together.
const (
	dropoutCells     = 1024
	mostDropoutCells = 1 << 16
)

// dropped is a row of dropout: at least base + sum_j gap_j Y_j everywhere in the cell, where the Y_j are
// 1 with probability chance_j, else, with rest_j, 0, and independent.
type dropped struct {
	base                 float64
	gaps, chances, rests []float64
}

// droppedOf is the row in the cell as m0 + sum_j X_j, X_j = -A_j at_j - |A_j| reach_j with probability
// rate, else rate/(1-rate) (A_j at_j - |A_j| reach_j), which are independent. Values are rounded down.
func (r *Row) droppedOf(f *form) *dropped {
	d := &dropped{gaps: make([]float64, r.n), chances: make([]float64, r.n), rests: make([]float64, r.n)}
	more := arith.Exactly(r.rate).Over(arith.Difference(1, r.rate))
	var low arith.Sum // m0 and the lower values
	low.Plus(r.meanDown(f))
	for j, a := range r.mean {
		at := a.Times(arith.Exactly(f.at[j]))
		vary := arith.Exactly(a.Size()).Times(arith.Exactly(f.reach[j]))
		dropped := at.Negated().Minus(vary).Lo
		kept := at.Minus(vary).Times(more).Lo
		low.Plus(min(dropped, kept))
		d.gaps[j] = max(0, arith.SumDown(max(dropped, kept), -min(dropped, kept)))
		if d.chances[j], d.rests[j] = r.rate, 1-r.rate; kept > dropped {
			d.chances[j], d.rests[j] = 1-r.rate, r.rate
		}
	}
	d.base = low.Lo()
	return d
}

// lattice is the distribution of sum_j gap_j Y_j up to t, each gap rounded down to a multiple of the
// step: p[k] is at most the probability of k steps, but for the roundings of sums of positive terms, which
// grow(4 n + the number of terms added up) covers.
func (d *dropped) lattice(t float64) (p []float64, step float64) {
	n := min(dropoutCells*len(d.gaps), mostDropoutCells)
	step = t / float64(n)
	p = make([]float64, n+1)
	p[0] = 1
	for j, gap := range d.gaps {
		up, stay := d.chances[j], d.rests[j]
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
	return p, step
}

// droppedTailUp bounds the probability that the row is negative, or 0, somewhere in the cell.
func (r *Row) droppedTailUp(f *form) float64 {
	d := r.droppedOf(f)
	switch {
	case !(math.Abs(d.base) <= most):
		return 1
	case d.base > 0:
		return 0
	}
	// Prob( sum of the gaps that are taken <= t ); the last factor is for check, whose numbers differ.
	p, _ := d.lattice(arith.Up(-d.base*(1+0x1p-20)) + tiny)
	sum := 0.0
	for _, q := range p {
		sum += q
	}
	return min(1, float64(sum*grow(4*r.n+len(p)-1))+tiny)
}

// Law is the law of the least value of the row over the cell; there is no hidden bound that could fail.
// Of normal weights it is the tail (93) at every threshold, of dropout the sum (94), from a few standard
// deviations above its mean down.
func (r *Row) Law(c *Cell) *measure.MarginLaw {
	nothing := measure.NewMarginLaw(math.Inf(-1), nil)
	if r == nil {
		return nothing
	}
	f := r.form(c)
	switch {
	case f == nil:
		return nothing
	case r.rate == 0:
		return measure.NewMarginLaw(r.meanDown(f), []float64{r.varianceOf(f).Hi})
	}
	d := r.droppedOf(f)
	if !(math.Abs(d.base) <= most) {
		return nothing
	}
	mean, variance := 0.0, 0.0
	for j, gap := range d.gaps {
		mean += gap * d.chances[j]
		variance += gap * gap * d.chances[j] * d.rests[j]
	}
	sd := math.Sqrt(variance)
	high, low := mean+4*sd, max(0, mean-8*sd)
	if !(sd > tiny) {
		return measure.NewMarginLaw(d.base, nil)
	}
	p, step := d.lattice(arith.Up(high))
	for k := 1; k < len(p); k++ {
		p[k] += p[k-1]
	}
	g := grow(4*r.n + len(p))
	return measure.MarginLawOf(d.base+high, high-low, func(x float64) float64 {
		// The row is at least base + k step, so that it is below x for k < (x - base)/step only.
		switch k := math.Ceil(arith.Up(arith.SumUp(x, -d.base)/step)) - 1; {
		case k < 0:
			return 0
		case k < float64(len(p)):
			return min(1, float64(p[int(k)]*g)+tiny)
		}
		return 1
	})
}
