package check

import (
	"math"

	"psafe/host/arith"
	"psafe/host/check/curves"
)

// pool bounds the maxima v of the windows of a max pool by one member each, the star, which is
// chosen by intervals: y_* <= v <= slope y_* + above. docs/theory.md, (22) to (25).
type pool struct {
	star         []int32
	slope, above []float64
}

// differ bounds the greatest difference of another member of window v to its star from above;
// +Inf where nothing is known. plain, which is not below most, is what certify has.
type differ func(v int, star int32) (most, plain float64)

// windowOf returns what intervals say of window v: its star, and the greatest upper end of the
// others, -Inf if there are none.
func (l *layer) windowOf(v int, y span, by *choice) (star int32, others float64) {
	star = -1
	var best float64
	for _, j := range l.windows[v] {
		if middle := y.lo[j] + y.hi[j]; star < 0 || by.decide(middle, best) || math.IsNaN(best) {
			star, best = j, middle
		}
	}
	others = -arith.Inf
	for _, j := range l.windows[v] {
		if j != star {
			others = max(others, y.hi[j])
		}
	}
	return star, others
}

// stars bounds a max pool of values in y; greatest says that lower bounds of all members hold,
// not only those of stars. Differences are taken where they may help.
func (l *layer) stars(y span, greatest bool, by *choice, d differ) hidden {
	n := l.out
	h := hidden{pre: newSpan(n), z: newSpan(n), arg: newSpan(n), pool: &pool{make([]int32, n), make([]float64, n), make([]float64, n)}}
	for v := range n {
		star, others := l.windowOf(v, y, by)
		lo, hi := y.lo[star], y.hi[star]
		delta, plain := arith.Inf, arith.Inf
		if d != nil && others > lo {
			delta, plain = d(v, star)
			delta, plain = max(0, delta), max(0, plain)
		}
		slope, above := upperOfMax(lo, hi, max(lo, others), delta, plain, by)
		h.pool.star[v], h.pool.slope[v], h.pool.above[v] = star, slope, above
		top := min(max(hi, others), arith.SumUp(hi, delta))
		bottom := lo
		for _, j := range l.windows[v] {
			if greatest {
				bottom = max(bottom, y.lo[j])
			}
		}
		h.pre.lo[v], h.pre.hi[v] = bottom, top
		h.z.lo[v], h.z.hi[v] = curves.ValueDown(l.act, bottom), curves.ValueUp(l.act, top)
		// The activation of v is at least that of y_*, and at most that of the upper line, or of
		// top where that is less: lines of the activation have slopes that are not negative.
		var from, to arith.Sum
		from.Plus(above)
		from.Add(slope, lo)
		to.Plus(above)
		to.Add(slope, hi)
		h.arg.lo[v], h.arg.hi[v] = min(lo, from.Lo()), max(hi, to.Hi(), top)
		lower, _ := relax(l.act, lo, hi, by)
		_, upper := relax(l.act, min(from.Lo(), top), top, by)
		h.lower, h.upper = append(h.lower, lower), append(h.upper, upper)
	}
	return h
}

// upperOfMax is a line in y_* in [lo, hi] above max(y_*, c), or y_* + delta where y_* + plain is
// lower in the middle. It is not asked whether y_* + delta is: the line that is lower there may be
// the worse one for a row, and a claim rests on the one that certify took.
func upperOfMax(lo, hi, c, delta, plain float64, by *choice) (slope, above float64) {
	if c >= hi {
		slope, above = 0, c
	} else {
		if slope = (hi - c) / (hi - lo); !(slope >= 0 && slope <= 1) {
			slope = 1
		}
		// max(y, c) is convex: a line is above it if it is so at both ends.
		above = max(aboveLine(c, slope, lo), aboveLine(hi, slope, hi))
	}
	if middle := lo/2 + hi/2; delta < arith.Inf && !by.decide(middle+plain, slope*middle+above) && !(middle+plain == slope*middle+above) {
		return 1, delta
	}
	return slope, above
}

// substitute replaces a v by s y, plus what it adds to c, for the values y of the layer of n
// numbers that is pooled: the lower line where a is positive, else the upper one.
func (p *pool) substitute(a []float64, n int, c *arith.Sum) span {
	total := make([]arith.Sum, n)
	for v, x := range a {
		j := p.star[v]
		if x > 0 {
			total[j] = total[j].With(x, 1)
		} else if x != 0 {
			c.Add(x, p.above[v])
			total[j] = total[j].With(x, p.slope[v])
		}
	}
	s := newSpan(n)
	for j := range total {
		if total[j].N > 0 {
			s.lo[j], s.hi[j] = total[j].Lo(), total[j].Hi()
		}
	}
	return s
}

// pooled bounds layer k, a max pool.
func (p *pass) pooled(k int) hidden {
	below := p.graph.from[k][0]
	var d differ
	// Of the units of a pool no differences are known, and certify asks for none of units that are off.
	if p.lines && p.layers[below].windows == nil && (p.off == nil || p.off[below] == nil) {
		d = func(v int, star int32) (most, plain float64) {
			return p.difference(below, star, p.layers[k].windows[v])
		}
	}
	return p.layers[k].stars(p.hidden[below].z, true, &p.by, d)
}

// difference bounds y_j - y_star from above for all other members j of a window, y being the
// pre-activations of layer k, which has no activation: rows e_star - e_j. plain is without the
// chords of this layer's own weights, which certify does without.
func (p *pass) difference(k int, star int32, window []int32) (most, plain float64) {
	l := &p.layers[k]
	ways := p.ways(k)
	most, plain = -arith.Inf, -arith.Inf
	for _, j := range window {
		if j == star {
			continue
		}
		if p.ctx != nil && p.ctx.Err() != nil {
			return arith.Inf, arith.Inf
		}
		a := make([]float64, l.out)
		a[star], a[j] = 1, -1
		least := func(s span, c arith.Sum) float64 {
			lo := intervalLo(s, p.into(k), c)
			for _, w := range ways {
				lo = max(lo, p.down(k, s, c, w))
			}
			return lo
		}
		var c arith.Sum
		s := p.substitute(k, a, &c, false)
		lo := least(s, c)
		best := lo
		if l.at != nil && p.wide[k] {
			shared := func(by form) float64 {
				var c arith.Sum
				s := l.substituteShared(a, p.into(k), &c, by)
				return least(s, c)
			}
			lo = max(lo, shared(byCentres))
			best = max(lo, shared(byChords))
		}
		most, plain = max(most, -best), max(plain, -lo)
	}
	return most, plain
}
