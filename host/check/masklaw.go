package check

import (
	"math"
	"math/bits"
	"slices"

	"psafe/host/arith"
)

// Laws of sums of masks (docs/posteriors.md (94a) to (94c)), on lattices finer than those of certify.

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
	if !(math.Abs(low) <= topMost) {
		return -arith.Inf
	}
	if !(width > topTiny && width <= topMost) {
		return low
	}
	short := shortfalls(lattice(rises, width, points, true))
	grow := 1 + loose(8*len(rises)+2*points)*2
	// The share of sums at or below a point is at most E (s - Y)+ / (s - point) for each s above it: the
	// last point with an s for which that is at most tau is found by bisection, as these shares rise.
	rare := func(point int) bool {
		for s := point + 1; s < len(short); s++ {
			if arith.Up(short[s]*grow)+topTiny <= arith.Down(tau*float64(s-point)) {
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

// tailUp bounds the probability that the row is negative or 0.
func (r *maskedRow) tailUp() float64 {
	exact, convex := r.exact, r.convex
	const mostExact = 2048
	if len(exact) > mostExact {
		exact, convex = nil, slices.Concat(convex, exact)
	}
	least := r.least
	known, other := risesOf(exact, &least), risesOf(convex, &least)
	low := least.Lo()
	switch {
	case !(math.Abs(low) <= topMost):
		return 1
	case low > 0:
		return 0
	}
	count := len(known) + len(other)
	const finer = 4
	n := finer * max(1024, min(1024*(count+1), 1<<16, 1<<26/(count+1)))
	_, sd := spanOf(other)
	need := arith.Up(-low + topTiny)
	width := arith.Up(arith.Up(need+2*sd) / float64(n))
	last := int(math.Ceil(arith.Up(need / width)))
	masses := lattice(known, width, last, false)
	var total arith.Sum
	if len(other) == 0 {
		for _, m := range masses {
			total.Plus(m)
		}
		return min(1, arith.Up(total.Hi()*(1+loose(8*count)))+topTiny)
	}
	short := shortfalls(lattice(other, width, n+1, true))
	at := n + 1
	for k, m := range masses {
		room := last - k // sums of the others up to here fail
		share := short[at] / float64(at-room)
		for at-1 > room && short[at-1]/float64(at-1-room) <= share {
			at--
			share = short[at] / float64(at-room)
		}
		total.Plus(float64(m * min(1, share)))
	}
	return min(1, arith.Up(total.Hi()*(1+4*loose(16*count+4*n)))+topTiny)
}
