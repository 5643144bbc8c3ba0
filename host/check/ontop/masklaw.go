package ontop

import (
	"math"
	"math/bits"
	"slices"

	"psafe/host/arith"
	"psafe/host/check/covary"
	"psafe/host/check/law"
)

// Laws of sums of masks (docs/theory.md (94a) to (94c)), on lattices finer than those of certify.

// rise is a mask above its lesser value: by so much with probability chance, else by nothing.
type rise struct{ by, chance, rest float64 }

// risesOf adds the lesser values to least.
func risesOf(list []mask, least *arith.Sum) (rises []rise) {
	for _, m := range list {
		r := rise{arith.SumDown(m.kept, -m.dropped), arith.Up(1 - m.rate), m.rate}
		if !(m.kept > m.dropped) {
			r = rise{arith.SumDown(m.dropped, -m.kept), m.rate, arith.Up(1 - m.rate)}
		}
		least.Plus(min(m.dropped, m.kept))
		if r.by > 0 {
			rises = append(rises, r)
		}
	}
	return rises
}

// spanOf is about how far the mean of a sum of rises is above 0, and its standard deviation.
func spanOf(rises []rise) (mean, sd float64) {
	for _, r := range rises {
		mean += r.by * r.chance
		sd += r.by * r.by * r.chance * r.rest
	}
	return mean, math.Sqrt(sd)
}

// lattice are masses at the points 0 to n of a lattice of this width, upper bounds but for roundings, of the
// sum of rises: each at the point at or below it, or, if even is true, on the points on both sides, its mean
// kept or below.
func lattice(rises []rise, width float64, n int, even bool) []float64 {
	now, next := make([]float64, n+1), make([]float64, n+1)
	now[0] = 1
	reached := 0
	for _, r := range rises {
		place := arith.Down(r.by / width)
		if !(place <= float64(n)) {
			place = float64(n + 1)
		}
		whole := math.Floor(place)
		share := 0.0
		if even {
			share = place - whole
		}
		steps := int(whole)
		top := min(n, reached+steps+1)
		for k := range top + 1 {
			v := 0.0
			if k <= reached {
				v = float64(now[k] * r.rest)
			}
			if at := k - steps; at >= 0 && at <= reached {
				v += float64(now[at] * float64(r.chance*(1-share)))
			}
			if at := k - steps - 1; at >= 0 && at <= reached {
				v += float64(now[at] * float64(r.chance*share))
			}
			next[k] = v
		}
		reached = top
		now, next = next, now
	}
	return now
}

// shortfalls are E (s - Y)+ for the points s.
func shortfalls(masses []float64) []float64 {
	list := make([]float64, len(masses))
	for s := 1; s < len(list); s++ {
		masses[s] += masses[s-1] // now those up to s
		list[s] = list[s-1] + masses[s-1]
	}
	return list
}

// quantileDown is a number that the row is above but for a probability of tau.
func (r *maskedRow) quantileDown(tau float64) float64 {
	least := r.least
	rises := risesOf(slices.Concat(r.exact, r.convex), &least)
	low := least.Lo()
	mean, sd := spanOf(rises)
	points := 1 << max(9, min(bits.Len(uint(len(rises)))+7, 12)) // of certify a quarter at most
	width := arith.Up(max(mean-sd, mean/2) / float64(points))
	if !(math.Abs(low) <= covary.TopMost) {
		return -arith.Inf
	}
	if !(width > covary.TopTiny && width <= covary.TopMost) {
		return low
	}
	short := shortfalls(lattice(rises, width, points, true))
	grow := 1 + covary.Loose(8*len(rises)+2*points)*2
	// The share of sums at or below a point is at most E (s - Y)+ / (s - point) for each s above it: the
	// last point with an s for which that is at most tau is found by bisection, as these shares rise.
	rare := func(point int) bool {
		for s := point + 1; s < len(short); s++ {
			if arith.Up(short[s]*grow)+covary.TopTiny <= arith.Down(tau*float64(s-point)) {
				return true
			}
		}
		return false
	}
	point := 0
	for step := points / 2; step >= 1; step /= 2 {
		if rare(point + step) {
			point += step
		}
	}
	return arith.SumDown(low, arith.ProductDown(width, float64(point)))
}

// maskSum is a row on a lattice from low on: of the first terms masses up to its last point, and of the
// others shortfalls.
type maskSum struct {
	low, width    float64
	masses, short []float64
	grow          float64
	// about is about the row's mean, and sd its standard deviation.
	about, sd float64
}

// sumTo is a lattice that reaches reach(s), at or above low, with about four times so many points for each
// mask; without masses if that is out of range.
func (r *maskedRow) sumTo(each int, reach func(s *maskSum) float64) *maskSum {
	exact, convex := r.exact, r.convex
	const mostExact = 2048
	if len(exact) > mostExact {
		exact, convex = nil, slices.Concat(convex, exact)
	}
	least := r.least
	known, other := risesOf(exact, &least), risesOf(convex, &least)
	s := &maskSum{low: least.Lo()}
	mean, spread := spanOf(known)
	more, sd := spanOf(other)
	s.about, s.sd = s.low+(mean+more), math.Sqrt(spread*spread+sd*sd)
	to := reach(s)
	if !(math.Abs(s.low) <= covary.TopMost && to >= s.low && to <= covary.TopMost) {
		return s
	}
	count := len(known) + len(other)
	const finer = 4
	n := finer * max(1024, min(each*(count+1), 1<<16, 1<<26/(count+1)))
	need := arith.Up(arith.SumUp(to, -s.low) + covary.TopTiny)
	s.width = arith.Up(arith.Up(need+2*sd) / float64(n))
	s.masses = lattice(known, s.width, min(n, int(math.Ceil(arith.Up(need/s.width)))), false)
	if s.grow = 1 + covary.Loose(8*count); len(other) > 0 {
		s.short, s.grow = shortfalls(lattice(other, s.width, n+1, true)), 1+4*covary.Loose(16*count+4*n)
	}
	return s
}

// upTo bounds the probability that the row is x or less: 1 beyond the lattice.
func (s *maskSum) upTo(x float64) float64 {
	switch {
	case !(math.Abs(s.low) <= covary.TopMost):
		return 1
	case s.low > x:
		return 0
	}
	place := math.Ceil(arith.Up(arith.Up(arith.SumUp(x, -s.low)+covary.TopTiny) / s.width))
	if !(place < float64(len(s.masses))) {
		return 1
	}
	last := int(place)
	var total arith.Sum
	at := len(s.short) - 1
	for k, m := range s.masses[:last+1] {
		if m == 0 { // of few masks most points have none
			continue
		}
		share := 1.0
		if s.short != nil {
			room := last - k // sums of the others up to here fail
			share = s.short[at] / float64(at-room)
			for at-1 > room && s.short[at-1]/float64(at-1-room) <= share {
				at--
				share = s.short[at] / float64(at-room)
			}
		}
		total.Plus(float64(m * min(1, share)))
	}
	return min(1, arith.Up(total.Hi()*s.grow)+covary.TopTiny)
}

// tailUp bounds the probability that the row is negative or 0.
func (r *maskedRow) tailUp() float64 {
	return r.sumTo(1024, func(*maskSum) float64 { return 0 }).upTo(0)
}

// maskPoints is the number of steps of a law of masks, of which atoms may be just above a step.
const maskPoints = 4 * law.Steps

// law returns how likely the row is small, from well above its mean down, and as tail what tailUp says, but coarser.
func (r *maskedRow) law() (is *law.MarginLaw, tail float64) {
	each := 1024
	if len(r.convex) > 0 {
		each = 128
	}
	s := r.sumTo(each, func(s *maskSum) float64 { return s.about + 4*s.sd })
	switch {
	case s.masses == nil:
		return &law.MarginLaw{}, 1
	case !(s.sd > 0):
		return &law.MarginLaw{At: []float64{s.low}, Below: []float64{0}}, s.upTo(0)
	}
	is = &law.MarginLaw{}
	for i := range maskPoints + 1 {
		x := s.about + s.sd*(3-10*float64(i)/maskPoints)
		below := s.upTo(x)
		if i > 0 {
			below = min(below, is.Below[i-1])
		}
		is.At, is.Below = append(is.At, x), append(is.Below, below)
	}
	if is.At[maskPoints] >= s.low { // a deviation that is next to nothing reaches no least value
		is.At, is.Below = append(is.At, s.low), append(is.Below, 0)
	}
	return is, s.upTo(0)
}

// maskedRow holds a lower bound of a row: least, and independent numbers of two values. Of the first of these, exact,
// these are known; of the others only that means of convex functions that do not rise are not larger.
type maskedRow struct {
	least  arith.Sum
	exact  []mask
	convex []mask
}

// mask is a number: dropped with probability rate, else kept.
type mask struct{ dropped, kept, rate float64 }
