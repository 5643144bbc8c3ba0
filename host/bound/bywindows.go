package bound

// Passes that see the network by windows (windows.go).

// through has f work on the windows of a sight. Of the arrays that f makes there only those that it
// returns are left.
func (p *pass) through(v *view, s *sight, f func() []Array) []Array {
	batch, layers, arrays, cache := p.query.Batch, p.layers, p.scratch.arrays, p.cache
	inputs := p.inputs()
	p.seen = &seen{view: v, sight: s, images: batch.Items, inputs: inputs, copies: map[Array]Array{}, hidden: map[int]*hidden{}, joined: map[int]Interval{}}
	p.layers, p.scratch.arrays, p.cache = v.layers, nil, passCache{}
	p.query.Batch = Batch{Items: batch.Items * s.n, PerBox: batch.PerBox * s.n, Inputs: batch.Items * s.n}
	kept := f()
	for _, a := range kept {
		delete(p.scratch.arrays, a)
	}
	p.free()
	p.seen, p.query.Batch, p.layers, p.scratch.arrays, p.cache = nil, batch, layers, arrays, cache
	for _, a := range kept {
		p.own(a)
	}
	return kept
}

// rowsOfStart is a run of the rows of a start.
func (p *pass) rowsOfStart() *run {
	s := p.seen.sight
	return &run{n: s.rows, unit: p.span(s.row, s.rows), local: p.span(0, s.rows)}
}

// leadsByWindows is leads of pool k by windows.
func (p *pass) leadsByWindows(k int, v *view) Array {
	l, items := &p.layers[k], p.query.Batch.Items
	leads, stars := p.array(items*l.out*l.window), p.starsInWindows(k)
	for i := range v.sights {
		s := &v.sights[i]
		n := s.n * s.rows
		part := p.through(v, s, func() []Array {
			r := p.rowsOfStart()
			d := difference{layer: l.feed[0], unit: p.membersOfStart(l), other: p.gathered(stars, s.units, items, l.out*l.window, n, 1), n: s.rows}
			return []Array{p.lead(d, r)}
		})
		local := p.span(0, n)
		p.launch(Gather{Out: leads, In: part[0], Index: local, P: items, N: n, T: n, At: s.first, Total: l.out * l.window, R: 1})
		p.release(part[0], local)
	}
	p.release(stars)
	return leads
}

// membersOfStart lists what each row of a start of pool l is about: of a channel, each member of its
// window.
func (p *pass) membersOfStart(l *layer) Array {
	s, channels := p.seen.sight, p.seen.perStart/l.window
	return p.listed(s.rows, func(i int) int { return (s.row+i)%l.window*channels + (s.row+i)/l.window })
}

// starsInWindows is, for each member of each window of pool k, the star among the units of that
// window. It goes by the host, which is told little.
func (p *pass) starsInWindows(k int) Array {
	l := &p.layers[k]
	slots, err := p.read(p.hidden[k].pool.slot)
	if err != nil {
		return nil
	}
	channels := l.view.perStart / l.window
	stars := make([]float64, 0, len(slots)*l.window)
	for i, slot := range slots {
		for range l.window {
			stars = append(stars, slot*float64(channels)+float64(i%channels))
		}
	}
	return p.holding(stars)
}
