package bound

import "math"

// Max pools (docs/theory.md (22) to (25)): v = max of the members y of its window. The
// star y_* of a window is the member whose interval has the largest middle, v >= y_*, and v is
// below a line in y_*, for which it helps to know by how much the star leads the others at least.

// poolValues holds what is known of a max pool.
type poolValues struct {
	slot, unit   Array // of the stars
	lower, upper Line  // of v, in y_*
	err          Array
	v            Interval
	star         Interval // of the star: where the lower line of the activation has to hold
	above        Interval // and where the upper line has to
	radius       Array
}

// poolLayer bounds the units of pool k and relaxes them. radius, which may be nil, is that of
// the members.
func (p *pass) poolLayer(k int, radius Array) {
	l, items := &p.layers[k], p.query.Batch.Items
	n := items * l.out
	h := &p.hidden[k]
	y := &p.hidden[l.feed[0]]
	v := poolValues{
		slot: p.array(n), unit: p.array(n), lower: Line{p.array(n), p.array(n)}, upper: Line{p.array(n), p.array(n)},
		err: p.array(n), v: h.pre, above: p.interval(n), star: p.interval(n),
	}
	p.launch(PoolStar{Slot: v.slot, Unit: v.unit, Pre: y.pre, Members: l.members, P: items, N: l.in, U: l.out, Window: l.window})
	h.pool = v // leads looks for the stars
	var lead Array
	if _, off := p.off[l.feed[0]]; p.query.Propagation == LBP && l.oneChannel && !off {
		lead = p.leads(k)
	}
	if radius != nil {
		v.radius = p.array(n)
	}
	p.launch(PoolLines{
		Lower: v.lower, Upper: v.upper, Err: v.err, V: v.v, Above: v.above, Star: v.star, MagOut: h.mag, RadiusOut: v.radius,
		Pre: y.pre, Mag: y.mag, Radius: radius, Members: l.members, Slot: v.slot, Lead: lead,
		Greatest: p.hooks == nil, P: items, N: l.in, U: l.out, Window: l.window, Charge: l.charge(p.dev.Precision()),
	})
	h.pool = v
	p.observe("pool.star", k, v.unit)
	if lead != nil {
		p.observe("pool.lead", k, lead)
	}
	p.release(lead)
	p.activate(k)
	if p.query.Propagation == LBP {
		p.relax(k)
	}
}

// throughPool takes rows over what the activation of pool l is of to its stars.
func (p *pass) throughPool(f *flight, l int, a Array) {
	lay, h := &p.layers[l], p.known(l)
	v := &h.pool
	f.over[l] = Interval{a, a}
	stars := p.relaxRows(f, l, RelaxRows{
		Z: v.v, Lo: v.lower, Hi: v.upper, Err: v.err, Mag: h.mag, N: lay.out,
		Round: p.dev.Precision().RowsRounding(lay.out, 1),
	})
	p.addRows(f, lay.feed[0], Interval{stars, stars}, sumRows{lists: lay.sums[0], n: lay.out, slots: lay.slots, selected: v.slot})
	p.release(stars)
}

// leads bounds from below, for each member of each window of pool k, by how much the star leads
// it: [Items x units x window].
func (p *pass) leads(k int) Array {
	l, items := &p.layers[k], p.query.Batch.Items
	if l.view != nil {
		return p.leadsByWindows(k, l.view)
	}
	n := l.out * l.window
	leads := p.array(items * n)
	for i := range l.leads {
		r := &l.leads[i]
		part := p.lead(p.differencesOf(k, r), r)
		p.launch(Gather{Out: leads, In: part, Index: r.local, P: items, N: r.n, T: r.n, At: r.at, Total: n, R: 1})
		p.release(part)
	}
	return leads
}

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

// lead bounds such differences, [Items x members].
func (p *pass) lead(d difference, r *run) Array {
	var best Array
	for _, f := range p.leadForms(d.layer) {
		rows := p.differenceRows(&d, f)
		if p.hooks != nil {
			p.hooks.differences(&d)
		}
		bound := p.backSubstitute(d.layer, rows)
		if p.hooks != nil {
			p.hooks.bound(d.layer, bound, r.n)
		}
		best = p.greaterOf(best, bound, r)
	}
	p.release(d.other, d.noise.mean, d.noise.variance)
	return best
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

// difference are rows of differences of two units of a layer, other minus unit: other is
// [Items x n].
type difference struct {
	layer       int
	unit, other Array
	n           int
	// noise is that of the layer itself, once somebody asked.
	noise noiseArrays
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
