package bound

// Where flights start: at the units of a layer, or at the property.

// descend takes a flight of rows of layer k down in a form and bounds them.
func (p *pass) descend(k int, f *flight, u *endRows, by form) Array {
	f.form = by
	if p.hooks != nil {
		p.hooks.start(k, u)
	}
	rows := f.rows()
	bound := p.backSubstitute(k, f)
	if p.hooks != nil {
		p.hooks.bound(k, bound, rows)
	}
	return bound
}

// denseRows are the rows of all units of layer k of a chain, and the same negated: its weight
// box is the coefficients of what feeds it.
func (p *pass) denseRows(k int) *flight {
	w, b := p.query.Boxes.w[k], p.query.Boxes.b[k]
	return &flight{
		over: map[int]Interval{k - 1: w}, c: b, perBox: p.query.Batch.PerBox, cols: p.layers[k].out, mirrored: true,
		kept: []Array{w.Lo, w.Hi, b.Lo, b.Hi},
	}
}

// unitRows are the rows of some units of layer k, of each item its own, over what feeds it.
func (p *pass) unitRows(k int, u *endRows) *flight {
	l, items := &p.layers[k], p.query.Batch.Items
	w, b, perBox := p.matrix(k)
	if u.ends == upperEnds {
		w, _, _ = p.negatedMatrix(k)
		b = p.negatedBiases(k)
	}
	n := items * u.n
	s, c := Interval{Lo: p.array(n * l.in)}, Interval{Lo: p.array(n)}
	if u.ends == bothEnds {
		c.Hi = p.array(n)
	}
	if w.Lo != w.Hi || l.meets {
		s.Hi = p.array(n * l.in)
	}
	placed, unit := s, p.listed(n, func(i int) int { return u.unit[i] })
	if s.Hi == nil { // coefficients are numbers
		s.Hi = s.Lo
	}
	p.launch(PlaceRows{
		S: placed, C: c, W: w, B: b, Taps: l.tap, Unit: unit, Each: true, P: items, PerBox: perBox,
		R: u.n, In: l.in, Positions: l.positions, K: l.taps, Channels: l.channels,
	})
	p.release(unit)
	// An interval of a coefficient becomes a number, the chord, before rows part for the sources.
	z, nonNeg, _ := p.input(k)
	n = items * l.in
	line := Line{p.filled(1, n), p.filled(0, n)}
	f := &flight{over: map[int]Interval{k: s}, c: c, perBox: 1, cols: u.n, mirrored: u.ends == bothEnds}
	a := p.relaxRows(f, k, RelaxRows{
		NonNeg: nonNeg, Z: z, Lo: line, Hi: line, Err: p.filled(0, n), Mag: p.filled(0, n), N: l.in,
		Round: p.dev.Precision().RowsRounding(l.in, 1),
	})
	p.part(f, k, Interval{a, a})
	return f
}

// part gives every source of layer k its part of the coefficients of its inputs. It takes s over.
func (p *pass) part(f *flight, k int, s Interval) {
	l, items, r := &p.layers[k], p.query.Batch.Items, f.rows()
	if len(l.feed) == 1 {
		f.over[l.feed[0]] = s
		return
	}
	for i, source := range l.feed {
		n := l.parts[i].n
		copies := func(a Array) Array { return p.gathered(a, l.parts[i].at, items, l.in, n, r) }
		lo := copies(s.Lo)
		switch {
		case p.nonNeg(source): // Hi is never read, and addRows would leave it behind
			f.over[source] = Interval{Lo: lo}
		case s.Hi == s.Lo && p.getsNumbers(source):
			f.over[source] = Interval{lo, lo}
		default:
			f.over[source] = Interval{lo, copies(s.Hi)}
		}
	}
	p.drop(f, s.Lo, s.Hi)
}

// merged are the rows of the property over what feeds the last layer, k.
func (p *pass) merged(k int, m mergedLayer, by form) *flight {
	f := &flight{
		over: map[int]Interval{}, c: m.b, perBox: 1, cols: p.query.Rows.rows, form: by,
		kept: []Array{m.w.Lo, m.w.Hi, m.b.Lo, m.b.Hi},
	}
	p.part(f, k, m.w)
	return f
}

// featureRows are rows of the numbers that feed layer k, and then the same negated.
func (p *pass) featureRows(k int) *flight {
	n, items := p.layers[k].in, p.query.Batch.Items
	signs := make([]float64, items*n*2*n)
	for at := range items * n {
		signs[at*2*n+at%n], signs[at*2*n+n+at%n] = 1, -1
	}
	s, c := p.holding(signs), p.filled(0, items*2*n)
	f := &flight{over: map[int]Interval{}, c: Interval{Lo: c}, perBox: 1, cols: 2 * n, kept: []Array{c}}
	p.part(f, k, Interval{s, s})
	return f
}

// mergeRows merges the property into the last layer, k.
func (p *pass) mergeRows(k int) mergedLayer {
	l, items, rows := &p.layers[k], p.query.Batch.Items, p.query.Rows
	r := rows.rows
	m := mergedLayer{w: p.interval(items * l.in * r), b: p.interval(items * r)}
	p.launch(MergeRows{
		W: m.w, B: m.b, Weight: p.query.Boxes.w[k], Bias: p.query.Boxes.b[k], C: rows.c, D: rows.d,
		Round: rows.round, Abs: p.dev.Precision().MergeRounding(l.out, l.out).Abs,
		Batch: p.query.Batch, In: l.in, Out: l.out, Rows: r,
	})
	return m
}

// marginsByIntervals is the Affine of the last layer with the property merged in.
func (p *pass) marginsByIntervals(k int, m mergedLayer) Array {
	l, r := &p.layers[k], p.query.Rows.rows
	n := p.query.Batch.Items * r
	h := hidden{pre: p.interval(n), mag: p.array(n)}
	z, nonNeg, batch := p.input(k)
	batch.PerBox = 1
	p.launch(p.affine(h, m.w, m.b, z, nonNeg, batch, l.in, r))
	return h.pre.Lo
}
