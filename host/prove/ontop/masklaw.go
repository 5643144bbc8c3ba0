package ontop

import (
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/prove/covary"
	"psafe/host/prove/probability"
	"psafe/host/prove/slack"
)

// The laws of sums of terms of masks, on lattices (docs/theory.md (94a) to (94c)).

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

// law bounds a row from below: base and a sum Y of steps, of which missing tells.
type law struct {
	base, step float64
	missing    []float64
	grow       float64
}

// lawPoints returns how many points the law of a neuron of so many gaps has.
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

// quantileDown returns what the row is above, but for a probability of tau: (94c).
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

// sum holds what is known of mean + the lowest terms + those above. Of the lowest the law is what it is;
// of those above only means of convex functions are known: (94b), (94c).
type sum struct {
	// base holds what it is at least.
	base, step float64
	// masses holds the masses of the lowest terms at the points of a lattice above base, and missing tells of the
	// others, nil if there are none.
	masses, missing []float64
	grow            float64
	// middle and sd are about its mean and its standard deviation.
	middle, sd float64
}

// sumOf is a sum on a lattice that reaches up to to(s), at or above base, with so many points for each term,
// upTo at most.
func sumOf(mean float64, lowest, above []term, each, upTo int, to func(s *sum) float64) *sum {
	if len(lowest) > exactTerms {
		lowest, above = nil, append(slices.Clone(above), lowest...)
	}
	var low arith.Sum
	low.Plus(mean)
	exact, convex := gapsOf(lowest, &low), gapsOf(above, &low)
	more, sd := moments(convex)
	middle, other := moments(exact)
	s := &sum{base: low.Lo()}
	s.middle, s.sd = s.base+middle+more, math.Hypot(sd, other)
	reach := to(s)
	if !(math.Abs(s.base) <= covary.Most && reach >= s.base && reach <= covary.Most) {
		return s
	}
	t := s.farUp(reach)
	count := len(exact) + len(convex)
	points := max(1024, min(each*(count+1), upTo, latticeWork/(count+1)))
	s.step = arith.Up(arith.Up(t+2*sd) / float64(points))
	if s.masses = floored(exact, s.step, s.pointUp(t, points)); len(convex) == 0 {
		s.grow = covary.Grow(4*count + 2*points)
		return s
	}
	s.missing, s.grow = missing(spread(convex, s.step, points+1)), covary.Grow(10*count+4*points)
	return s
}

// farUp returns how far x is above base. The factor is for check, whose numbers differ.
func (s *sum) farUp(x float64) float64 {
	return arith.Up(arith.SumUp(x, -s.base)*(1+0x1p-20)) + covary.Tiny
}

// pointUp is the point of the lattice at or above t, or n if that is beyond it.
func (s *sum) pointUp(t float64, n int) int {
	if q := math.Ceil(arith.Up(t / s.step)); q < float64(n) {
		return int(q)
	}
	return n
}

// upTo bounds the probability that the sum is x or less; beyond where the lattice reaches by 1.
func (s *sum) upTo(x float64) float64 {
	switch {
	case !(math.Abs(s.base) <= covary.Most && x <= covary.Most):
		return 1
	case s.base > x:
		return 0
	case s.masses == nil:
		return 1
	}
	at := s.pointUp(s.farUp(x), len(s.masses))
	if at == len(s.masses) {
		return 1
	}
	total := 0.0
	if s.missing == nil {
		for _, q := range s.masses[:at+1] {
			total += q
		}
		return min(1, float64(total*s.grow)+covary.Tiny)
	}
	d := s.missing
	c := len(d) - 1
	for k, q := range s.masses[:at+1] {
		// The best c falls with what is left.
		left := at - k
		for c-1 > left && float64(d[c-1]*float64(c-left)) <= float64(d[c]*float64(c-1-left)) {
			c--
		}
		total += float64(q * min(1, d[c]/float64(c-left)))
	}
	return min(1, float64(total*s.grow)+covary.Tiny)
}

// tailUp bounds the probability that mean + the lowest terms + those above is negative or 0.
func tailUp(mean float64, lowest, above []term, upTo int) float64 {
	return sumOf(mean, lowest, above, pointsEach, upTo, func(*sum) float64 { return 0 }).upTo(0)
}

// How many standard deviations above its mean the law of a row begins, and over how many it goes down; and
// how many points it has for each term where there are some above the lowest.
const (
	lawAbove      = 3
	lawReach      = 10
	pointsEachLaw = 128
)

// lawUp is the law of such a sum, from above its mean down, and a bound of the probability that it is
// negative or 0.
func lawUp(mean float64, lowest, above []term) (known *probability.MarginLaw, tail float64) {
	each := pointsEach
	if len(above) > 0 { // then every step of the law takes long
		each = pointsEachLaw
	}
	s := sumOf(mean, lowest, above, each, finePoints, func(s *sum) float64 { return s.middle + (lawAbove+1)*s.sd })
	if s.masses == nil {
		return probability.NewMarginLaw(math.Inf(-1), nil), 1
	}
	tail = s.upTo(0)
	if !(s.sd > 0) { // nothing varies
		return probability.NewMarginLaw(s.base, nil), tail
	}
	// Atoms may be just above a point of the law. Check has more points, at most so far apart.
	kept := lawReach * s.sd / slack.MaskPoints
	return probability.MarginLawOf(s.middle+lawAbove*s.sd-kept, lawReach*s.sd, func(x float64) float64 { return s.upTo(x + kept) }), tail
}
