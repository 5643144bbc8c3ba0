package bound

// Passes that see the network by windows (windows.go).

// seen holds what a pass knows of the windows that it sees: arrays of whole maps, gathered.
type seen struct {
	*view
	*sight
	images int
	inputs Interval
	copies map[Array]Array
	hidden map[int]*hidden
	joined map[int]Interval
}

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

// look returns what the windows have of an array over the outputs of layer s, or over the network's
// input: [Items x window], 0 outside of the image.
func (p *pass) look(s int, a Array) Array {
	if a == nil {
		return nil
	}
	w := p.seen
	if c, known := w.copies[a]; known {
		return c
	}
	if s < 0 {
		s = len(w.Maps)
	}
	image, at := w.Layouts[s], w.sight.seen[s]
	n, r := image.Height*image.Width, image.Channels
	if image.ChannelsFirst {
		n, r = n*r, 1
	}
	w.copies[a] = p.gathered(a, at.at, w.images, n, at.n, r)
	return w.copies[a]
}

func (p *pass) lookAt(s int, i Interval) Interval { return Interval{p.look(s, i.Lo), p.look(s, i.Hi)} }

func (p *pass) lookAlong(s int, l Line) Line { return Line{p.look(s, l.A), p.look(s, l.B)} }

// known returns what is known of hidden layer l, of whole maps or of the windows that the pass sees.
func (p *pass) known(l int) *hidden {
	h := &p.hidden[l]
	if p.seen == nil {
		return h
	}
	if w := p.seen.hidden[l]; w != nil {
		return w
	}
	w := &hidden{
		z: p.lookAt(l, h.z), mag: p.look(l, h.mag), lo: p.lookAlong(l, h.lo), hi: p.lookAlong(l, h.hi), err: p.look(l, h.err),
	}
	if p.layers[l].pool {
		w.pool = poolValues{
			slot: p.look(l, h.pool.slot), lower: p.lookAlong(l, h.pool.lower), upper: p.lookAlong(l, h.pool.upper),
			err: p.look(l, h.pool.err), v: p.lookAt(l, h.pool.v),
		}
	}
	p.seen.hidden[l] = w
	return w
}

// width returns how many inputs of the network rows are over.
func (p *pass) width() int {
	if p.seen != nil {
		return p.seen.width
	}
	return p.layers[0].in
}

// boundByWindows is boundUnits in each of some forms, by the windows of layer k's positions.
func (p *pass) boundByWindows(k int, v *view, forms []form) []Array {
	parts := make([][]Array, len(v.sights))
	for i := range v.sights {
		parts[i] = p.through(v, &v.sights[i], func() (bounds []Array) {
			u := p.rowsOfStart()
			for _, f := range forms {
				bounds = append(bounds, p.descend(k, p.unitRows(k, u), u, f))
			}
			return bounds
		})
	}
	l, items := &p.layers[k], p.query.Batch.Items
	bounds := make([]Array, len(forms))
	for f := range forms {
		bounds[f] = p.array(items * 2 * l.out)
		for half := range 2 {
			for i := range v.sights {
				s := &v.sights[i]
				index, n := []Array{s.lower, s.upper}[half], s.n*s.rows
				p.launch(Gather{Out: bounds[f], In: parts[i][f], Index: index, P: items, N: 2 * n, T: n, At: half*l.out + s.first, Total: 2 * l.out, R: 1})
			}
		}
	}
	for _, part := range parts {
		p.release(part...)
	}
	return bounds
}

// rowsOfStart is a run of the rows of a start.
func (p *pass) rowsOfStart() *run {
	s := p.seen.sight
	return &run{n: s.rows, unit: p.span(s.row, s.rows), local: p.span(0, s.rows)}
}

// span lists at, at+1, ..., at+n-1.
func (p *pass) span(at, n int) Array {
	return p.listed(n, func(i int) int { return at + i })
}

func (p *pass) listed(n int, f func(i int) int) Array {
	all := make([]float64, n)
	for i := range all {
		all[i] = float64(f(i))
	}
	return p.holding(all)
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
