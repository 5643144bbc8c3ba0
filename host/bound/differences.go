package bound

import (
	"maps"
	"math"
	"slices"
)

// Rows of differences of two units of a layer, by how much one leads the other.

// leadForms lists the forms of the rows of differences of layer k's units. One stops at closed
// values, as no interval tells of differences; the other meets noise, and so events, of layers
// below them, which those of a plain layer have not been paid for.
func (p *pass) leadForms(k int) []form {
	forms := []form{{stop: true}}
	if l := &p.layers[k]; l.meetsClosed && (p.hooks == nil || l.class != plain) {
		forms = append(forms, p.lineForm(k))
	}
	return p.alsoShared(k, forms)
}

// differencesOf are some of the differences of pool k, star minus member.
func (p *pass) differencesOf(k int, r *run) difference {
	l := &p.layers[k]
	other := p.gathered(p.hidden[k].pool.unit, r.window, p.query.Batch.Items, l.out, r.n, 1)
	return difference{layer: l.feed[0], unit: r.unit, other: other, n: r.n}
}

// lead bounds such differences, [Items x members], from below: by no form by nothing.
func (p *pass) lead(d difference, r *run) Array {
	var best Array
	var start *flight
	for _, f := range p.leadForms(d.layer) {
		if start == nil || len(start.over) != 1 || p.shares(f, d.layer) != p.shares(start.form, d.layer) {
			p.endStart(start)
			start = p.differenceRows(&d, f)
		}
		rows := start.again(f)
		if p.hooks != nil {
			p.hooks.differences(&d)
		}
		bound := p.backSubstitute(d.layer, rows)
		if p.hooks != nil {
			p.hooks.bound(d.layer, bound, r.n)
		}
		best = p.greaterOf(best, bound, r)
	}
	p.endStart(start)
	if best == nil {
		best = p.holding(slices.Repeat([]float64{math.Inf(-1)}, p.query.Batch.Items*r.n))
	}
	p.release(d.other, d.noise.mean, d.noise.variance)
	return best
}

// again is the flight in another form, which keeps its arrays if they are over the outputs of one layer: none
// is added to then.
func (f *flight) again(by form) *flight {
	g := *f
	g.form = by
	if len(f.over) == 1 {
		g.over = maps.Clone(f.over)
		g.kept = f.arrays()
	}
	return &g
}

// arrays are those of a flight.
func (f *flight) arrays() []Array {
	all := []Array{f.c.Lo, f.c.Hi}
	for _, s := range f.over {
		all = append(all, s.Lo, s.Hi)
	}
	return all
}

// endStart gives back what flights have begun with that kept it; f may be nil.
func (p *pass) endStart(f *flight) {
	if f != nil && len(f.over) == 1 {
		p.release(f.arrays()...)
	}
}

// greaterOf is the greater of two lists of lower bounds [Items x members], entry by entry. It
// takes them over; old may be nil.
func (p *pass) greaterOf(old, next Array, r *run) Array {
	if old == nil {
		return next
	}
	items, n := p.query.Batch.Items, r.n
	above, bound := p.array(items*n), p.array(items*2*n)
	index := p.filled(0, n)
	copies := func(out, in, index Array, each, at, total int) {
		p.launch(Gather{Out: out, In: in, Index: index, P: items, N: each, T: n, At: at, Total: total, R: 1})
	}
	copies(above, p.filled(math.Inf(1), items), index, 1, 0, n)
	copies(bound, next, r.local, n, 0, 2*n)
	copies(bound, p.filled(math.Inf(-1), items), index, 1, n, 2*n)
	p.launch(Intersect{Pre: Interval{old, above}, Bound: bound, P: items, N: n})
	p.release(above, bound, next)
	return old
}

// differenceRows are such rows over what feeds the layer.
func (p *pass) differenceRows(d *difference, by form) (f *flight) {
	if p.shares(by, d.layer) {
		f = p.sharedDifferences(d)
	} else {
		f = p.placedDifferences(d, p.negatedMatrix)
	}
	f.form = by
	return f
}

// placedDifferences are such rows by a matrix of layers, negated.
func (p *pass) placedDifferences(d *difference, negated func(k int) (w, b Interval, perBox int)) *flight {
	l, items := &p.layers[d.layer], p.query.Batch.Items
	w, b, perBox := negated(d.layer)
	s, c := p.interval(items*l.in*d.n), p.array(items*d.n)
	p.launch(PlaceRows{
		S: s, C: Interval{Lo: c}, W: w, B: b, Taps: l.tap, Unit: d.unit, Other: d.other, P: items, PerBox: perBox,
		R: d.n, In: l.in, Positions: l.positions, K: l.taps, Channels: l.channels,
	})
	f := &flight{over: map[int]Interval{}, c: Interval{Lo: c}, perBox: 1, cols: d.n}
	p.part(f, d.layer, s)
	return f
}

// negatedMatrix is the matrix of layer k times -1. Its biases are not: those of two units of a
// channel cancel.
func (p *pass) negatedMatrix(k int) (w, b Interval, perBox int) {
	w, b, perBox = p.matrix(k)
	l := &p.layers[k]
	if !l.weighted {
		return l.negative, b, perBox
	}
	m := once(&p.cache.negated, k, func() Interval {
		return Interval{w.Hi, w.Lo}.each(func(a Array) Array { return p.negated(a, p.query.Boxes.count*l.taps*l.channels) })
	})
	return m, b, perBox
}

// negatedBiases are those of layer k times -1.
func (p *pass) negatedBiases(k int) Interval {
	_, b, _ := p.matrix(k)
	l := &p.layers[k]
	if !l.weighted { // they are 0
		return b
	}
	return once(&p.cache.opposite, k, func() Interval {
		return Interval{b.Hi, b.Lo}.each(func(a Array) Array { return p.negated(a, p.query.Boxes.count*l.channels) })
	})
}

// negated is n numbers times -1: as one row over n things each of which is -1 of another.
func (p *pass) negated(a Array, n int) Array {
	out, c, none := p.array(n), p.array(n), p.filled(0, n)
	minus, zero := p.filled(-1, 1), p.filled(0, 1)
	p.launch(BackSubstitute{
		S: Interval{Lo: out}, C: c, A: a, CIn: none, W: Interval{minus, minus}, B: Interval{zero, zero},
		PerBox: 1, P: 1, R: n, In: 1, Out: 1,
	})
	p.release(c)
	return out
}

// sharedDifferences are differenceRows that remember that both units have the same weights: rows
// of the centre of the box, and a charge for what its half-widths do to the difference.
func (p *pass) sharedDifferences(d *difference) *flight {
	l, items := &p.layers[d.layer], p.query.Batch.Items
	_, _, perBox := p.matrix(d.layer)
	c := p.centreOf(d.layer)
	z, _, _ := p.input(d.layer)
	charge := p.array(items * d.n)
	p.launch(PairNoise{
		Sum: charge, V: c.half, Z: z, Taps: l.tap, Unit: d.unit, Other: d.other,
		P: items, PerBox: perBox, Inputs: items, R: d.n, In: l.in, Positions: l.positions, K: l.taps, Channels: l.channels,
		Round: p.dev.Precision().PairRounding(l.taps),
	})
	f := p.placedDifferences(d, func(k int) (w, b Interval, perBox int) {
		_, b, perBox = p.matrix(k)
		return Interval{c.minus, c.minus}, b, perBox
	})
	p.release(f.c.Lo)
	f.c.Lo = p.negated(charge, items*d.n)
	p.release(charge)
	return f
}

// centreOf reads the matrix of layer k, as it is small, and splits it. After an error there are no
// arrays.
func (p *pass) centreOf(k int) centred {
	return once(&p.cache.centres, k, func() centred {
		w, _, _ := p.matrix(k)
		lo, hi, err := p.readPair(w.Lo, w.Hi)
		if err != nil {
			return centred{}
		}
		minus, half := make([]float64, len(lo)), make([]float64, len(lo))
		precision := p.dev.Precision()
		for i := range lo {
			c := precision.Nearest(lo[i]/2 + hi[i]/2)
			minus[i] = -c
			if lo[i] != hi[i] || c != lo[i] {
				half[i] = precision.RoundHi(math.Nextafter(max(hi[i]-c, c-lo[i]), math.Inf(1)))
			}
		}
		return centred{p.holding(minus), p.holding(half)}
	})
}
