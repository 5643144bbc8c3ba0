package bound

// What a pass that sees the network by windows (windows.go) sees of arrays over the whole of it.

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
