package bound

// Max pools (docs/theory.md (22) to (25)): v = max of the members y of its window. The
// star y_* of a window is the member whose interval has the largest middle, v >= y_*, and v is
// below a line in y_*, for which it helps to know by how much the star leads the others at least.

// poolLayer finds what is known of the windows of pool k, and bounds its units. radius, which may be nil, is that of
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
	v.lead = lead
	h.pool = v
	p.poolLines(k, radius)
	p.observe("pool.star", k, v.unit)
	if lead != nil {
		p.observe("pool.lead", k, lead)
	}
	if p.only != byOneWeight {
		p.release(lead)
	}
}

// poolLines bounds the units of pool k by how much their stars lead, and relaxes them.
func (p *pass) poolLines(k int, radius Array) {
	l, items, v := &p.layers[k], p.query.Batch.Items, &p.hidden[k].pool
	h, y := &p.hidden[k], &p.hidden[l.feed[0]]
	p.launch(PoolLines{
		Lower: v.lower, Upper: v.upper, Err: v.err, V: v.v, Above: v.above, Star: v.star, MagOut: h.mag, RadiusOut: v.radius,
		Pre: y.pre, Mag: y.mag, Radius: radius, Members: l.members, Slot: v.slot, Lead: v.lead,
		Greatest: p.hooks == nil, P: items, N: l.in, U: l.out, Window: l.window, Charge: l.charge(p.dev.Precision()),
	})
	p.activate(k)
	if p.query.Propagation == LBP {
		p.relax(k)
	}
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
