package ontop

import (
	"math"
	"psafe/host/prove/covary"
	"slices"

	"psafe/host/arith"
)

// The laws of sums of terms of masks, on lattices (docs/posteriors.md (94a) to (94c)).

// term is a number of two values, the first one with probability rate.
type term struct{ dropped, kept, rate float64 }

// gap is a term less its lower value: 0 with probability stay, else gap, which is rounded down.
type gap struct{ gap, up, stay float64 }

// gapsOf takes terms apart; low gets their lower values.
func gapsOf(terms []term, low *arith.Sum) []gap {
	list := make([]gap, 0, len(terms))
	for _, t := range terms {
		g := gap{up: t.rate, stay: 1 - t.rate}
		least, size := t.kept, t.dropped
		if t.kept > t.dropped {
			least, size, g.up, g.stay = t.dropped, t.kept, g.stay, g.up
		}
		low.Plus(least)
		if g.gap = max(0, arith.SumDown(size, -least)); g.gap > 0 {
			list = append(list, g)
		}
	}
	return list
}

// moments are about the mean and the standard deviation of a sum of gaps.
func moments(gaps []gap) (mean, sd float64) {
	for _, g := range gaps {
		mean += g.gap * g.up
		sd += g.gap * g.gap * g.up * g.stay
	}
	return mean, math.Sqrt(sd)
}

// placed is gap/step: whole steps and a share of one, rounded down; the whole is at most n.
func (g *gap) placed(step float64, n int) (whole int, share float64) {
	q := arith.Down(g.gap / step)
	if !(q < float64(n)) {
		return n, 0
	}
	q = max(0, q)
	return int(q), q - math.Floor(q)
}

// floored are upper bounds, but for a factor grow, of the masses of points 0 to n of a lattice, of the sum
// of gaps each of which is rounded down to a point.
func floored(gaps []gap, step float64, n int) []float64 {
	p := make([]float64, n+1)
	p[0] = 1
	top := 0
	for _, g := range gaps {
		whole, _ := g.placed(step, n+1)
		if whole == 0 {
			continue
		}
		top = min(n, top+whole)
		for k := top; k >= whole; k-- {
			p[k] = float64(p[k]*g.stay) + float64(p[k-whole]*g.up)
		}
		for k := min(whole, n+1) - 1; k >= 0; k-- {
			p[k] *= g.stay
		}
	}
	return p
}

// spread are the same masses where each gap between two points is put on both, its mean kept: of any
// convex function that does not rise the mean is not less then.
func spread(gaps []gap, step float64, n int) []float64 {
	p := make([]float64, n+1)
	p[0] = 1
	top := 0
	for _, g := range gaps {
		whole, share := g.placed(step, n+1)
		near, far := float64(g.up*(1-share)), float64(g.up*share)
		if whole == 0 {
			top = min(n, top+1)
			for k := top; k >= 1; k-- {
				p[k] = float64(p[k]*(g.stay+near)) + float64(p[k-1]*far)
			}
			p[0] *= g.stay + near
			continue
		}
		top = min(n, top+whole+1)
		for k := top; k > whole; k-- {
			p[k] = float64(p[k]*g.stay) + (float64(p[k-whole]*near) + float64(p[k-whole-1]*far))
		}
		if whole <= n {
			p[whole] = float64(p[whole]*g.stay) + float64(p[0]*near)
		}
		for k := min(whole, n+1) - 1; k >= 0; k-- {
			p[k] *= g.stay
		}
	}
	return p
}

// missing are E (s - Y)+ for points s of the lattice, of a Y of these masses.
func missing(p []float64) []float64 {
	d := make([]float64, len(p))
	below, sum := 0.0, 0.0
	for s := range d {
		d[s] = sum
		below += p[s]
		sum += below
	}
	return d
}

// law is what a row is at least: base and a sum Y of steps, of which missing tells.
type law struct {
	base, step float64
	missing    []float64
	grow       float64
}

// lawPoints is how many points the law of a neuron of so many gaps has.
func lawPoints(gaps int) int { return max(128, min(32*gaps, 1024)) }

// newLaw is the law of the mean and the terms.
func newLaw(mean float64, terms []term) law {
	var low arith.Sum
	low.Plus(mean)
	gaps := gapsOf(terms, &low)
	points := lawPoints(len(gaps))
	l := law{base: low.Lo(), grow: covary.Grow(6*len(gaps) + 2*points)}
	// A neuron's quantile is some deviations below the mean.
	middle, sd := moments(gaps)
	if r := middle - sd; r > middle/2 {
		middle = r
	}
	if l.step = arith.Up(middle / float64(points)); !(l.step > covary.Tiny && l.step <= covary.Most) {
		l.step = 0
		return l
	}
	l.missing = missing(spread(gaps, l.step, points))
	return l
}

// quantileDown is what the row is above, but for a probability of tau: (94c).
func (l *law) quantileDown(tau float64) float64 {
	if !(math.Abs(l.base) <= covary.Most) {
		return math.Inf(-1)
	}
	if l.missing == nil {
		return l.base
	}
	// Prob( Y <= at ) <= E (s - Y)+ / (s - at) for every s above at.
	fails := func(at int) bool {
		for s := len(l.missing) - 1; s > at; s-- {
			if float64(l.missing[s]*l.grow)+covary.Tiny <= float64(tau*float64(s-at))*(1-0x1p-50) {
				return false
			}
		}
		return true
	}
	lo, hi := -1, len(l.missing)-1 // it does not fail at the first: nothing is below point 0
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; fails(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return arith.SumDown(l.base, arith.ProductDown(l.step, float64(max(0, lo))))
}

// Lattices of rows of a property have pointsEach points for each term, up to finePoints together, and
// fewer where they would take more than latticeWork steps.
const (
	pointsEach  = 1024
	finePoints  = 1 << 16
	latticeWork = 1 << 26
	// exactTerms is up to how many terms of the lowest layer are rounded down.
	exactTerms = 2048
)

// tailUp bounds the probability that mean + the lowest terms + those above is negative or 0. Of the
// lowest the law is what it is; of those above only means of convex functions are known: (94b), (94c).
func tailUp(mean float64, lowest, above []term, upTo int) float64 {
	if len(lowest) > exactTerms {
		lowest, above = nil, append(slices.Clone(above), lowest...)
	}
	var low arith.Sum
	low.Plus(mean)
	exact, convex := gapsOf(lowest, &low), gapsOf(above, &low)
	base := low.Lo()
	switch {
	case !(math.Abs(base) <= covary.Most):
		return 1
	case base > 0:
		return 0
	}
	// The last factor is for check, whose numbers differ.
	t := arith.Up(-base*(1+0x1p-20)) + covary.Tiny
	count := len(exact) + len(convex)
	_, sd := moments(convex)
	points := max(1024, min(pointsEach*(count+1), upTo, latticeWork/(count+1)))
	step := arith.Up(arith.Up(t+2*sd) / float64(points))
	at := min(points, int(math.Ceil(arith.Up(t/step))))
	p := floored(exact, step, at)
	sum := 0.0
	if len(convex) == 0 {
		for _, q := range p {
			sum += q
		}
		return min(1, float64(sum*covary.Grow(4*count+2*points))+covary.Tiny)
	}
	d := missing(spread(convex, step, points+1))
	s := len(d) - 1
	for k, q := range p {
		// The best s falls with what is left.
		left := at - k
		for s-1 > left && float64(d[s-1]*float64(s-left)) <= float64(d[s]*float64(s-1-left)) {
			s--
		}
		sum += float64(q * min(1, d[s]/float64(s-left)))
	}
	return min(1, float64(sum*covary.Grow(10*count+4*points))+covary.Tiny)
}
