package relax

import (
	"math"

	"psafe/host/arith"
	"psafe/host/check/curves"
)

// Differ bounds the greatest difference of another member of window v to its star from above;
// +Inf where nothing is known. plain, which is not below most, is what certify has.
type Differ func(v int, star int32) (most, plain float64)

// windowOf returns what intervals say of window v: its star, and the greatest upper end of the
// others, -Inf if there are none.
func (l *Layer) windowOf(v int, y Span, by *Choice) (star int32, others float64) {
	star = -1
	var best float64
	for _, j := range l.Windows[v] {
		if middle := y.Lo[j] + y.Hi[j]; star < 0 || by.Decide(middle, best) || math.IsNaN(best) {
			star, best = j, middle
		}
	}
	others = -arith.Inf
	for _, j := range l.Windows[v] {
		if j != star {
			others = max(others, y.Hi[j])
		}
	}
	return star, others
}

// Stars bounds a max pool of values in y; greatest says that lower bounds of all members hold,
// not only those of stars. Differences are taken where they may help.
func (l *Layer) Stars(y Span, greatest bool, by *Choice, d Differ) Hidden {
	n := l.Out
	h := Hidden{Pre: NewSpan(n), Z: NewSpan(n), Arg: NewSpan(n), Pool: &pool{make([]int32, n), make([]float64, n), make([]float64, n)}}
	for v := range n {
		star, others := l.windowOf(v, y, by)
		lo, hi := y.Lo[star], y.Hi[star]
		delta, plain := arith.Inf, arith.Inf
		if d != nil && others > lo {
			delta, plain = d(v, star)
			delta, plain = max(0, delta), max(0, plain)
		}
		slope, above := upperOfMax(lo, hi, max(lo, others), delta, plain, by)
		h.Pool.Star[v], h.Pool.Slope[v], h.Pool.Above[v] = star, slope, above
		top := min(max(hi, others), arith.SumUp(hi, delta))
		bottom := lo
		for _, j := range l.Windows[v] {
			if greatest {
				bottom = max(bottom, y.Lo[j])
			}
		}
		h.Pre.Lo[v], h.Pre.Hi[v] = bottom, top
		h.Z.Lo[v], h.Z.Hi[v] = curves.ValueDown(l.Act, bottom), curves.ValueUp(l.Act, top)
		// The activation of v is at least that of y_*, and at most that of the upper line, or of
		// top where that is less: lines of the activation have slopes that are not negative.
		var from, to arith.Sum
		from.Plus(above)
		from.Add(slope, lo)
		to.Plus(above)
		to.Add(slope, hi)
		h.Arg.Lo[v], h.Arg.Hi[v] = min(lo, from.Lo()), max(hi, to.Hi(), top)
		lower, _ := LinesAround(l.Act, lo, hi, by)
		_, upper := LinesAround(l.Act, min(from.Lo(), top), top, by)
		h.Lower, h.Upper = append(h.Lower, lower), append(h.Upper, upper)
	}
	return h
}

// upperOfMax is a line in y_* in [lo, hi] above max(y_*, c), or y_* + delta where y_* + plain is
// lower in the middle. It is not asked whether y_* + delta is: the line that is lower there may be
// the worse one for a row, and a claim rests on the one that certify took.
func upperOfMax(lo, hi, c, delta, plain float64, by *Choice) (slope, above float64) {
	if c >= hi {
		slope, above = 0, c
	} else {
		if slope = (hi - c) / (hi - lo); !(slope >= 0 && slope <= 1) {
			slope = 1
		}
		// max(y, c) is convex: a line is above it if it is so at both ends.
		above = max(aboveLine(c, slope, lo), aboveLine(hi, slope, hi))
	}
	if middle := lo/2 + hi/2; delta < arith.Inf && !by.Decide(middle+plain, slope*middle+above) && !(middle+plain == slope*middle+above) {
		return 1, delta
	}
	return slope, above
}

// Pooled bounds layer k, a max pool.
func (p *Pass) Pooled(k int) Hidden {
	below := p.Graph.From[k][0]
	var d Differ
	// Of the units of a pool no differences are known, and certify asks for none of units that are off.
	if p.Lines && p.Layers[below].Windows == nil && (p.Off == nil || p.Off[below] == nil) {
		d = func(v int, star int32) (most, plain float64) {
			return p.difference(below, star, p.Layers[k].Windows[v])
		}
	}
	return p.Layers[k].Stars(p.Hidden[below].Z, true, &p.By, d)
}

// difference bounds y_j - y_star from above for all other members j of a window, y being the
// pre-activations of layer k, which has no activation: rows e_star - e_j. plain is without the
// chords of this layer's own weights, which certify does without.
func (p *Pass) difference(k int, star int32, window []int32) (most, plain float64) {
	l := &p.Layers[k]
	ways := p.Ways(k)
	most, plain = -arith.Inf, -arith.Inf
	for _, j := range window {
		if j == star {
			continue
		}
		if p.Ctx != nil && p.Ctx.Err() != nil {
			return arith.Inf, arith.Inf
		}
		a := make([]float64, l.Out)
		a[star], a[j] = 1, -1
		least := func(s Span, c arith.Sum) float64 {
			lo := IntervalLo(s, p.Into(k), c)
			for _, w := range ways {
				lo = max(lo, p.Down(k, s, c, w))
			}
			return lo
		}
		var c arith.Sum
		s := p.Substitute(k, a, &c, false)
		lo := least(s, c)
		best := lo
		if l.At != nil && p.wide[k] {
			shared := func(by form) float64 {
				var c arith.Sum
				s := l.substituteShared(a, p.Into(k), &c, by)
				return least(s, c)
			}
			lo = max(lo, shared(byCentres))
			best = max(lo, shared(byChords))
		}
		most, plain = max(most, -best), max(plain, -lo)
	}
	return most, plain
}
