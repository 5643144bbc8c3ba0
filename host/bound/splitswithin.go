package bound

// Within begins with a part of the input box of s, for the same weights and rows. What s has proved of hidden
// layers holds there, so that Next takes rows down only of units that may be on both sides of their kink
// still. The part must be in the box of s, and s without a turn, noise and assumptions; it may be released
// before.
func (s *Splits) Within(part *Inputs) *Splits {
	p := s.pass
	if s.turn != nil || p.off != nil || s.held != nil {
		panic("bound: Splits.Within: of Splits with a turn, noise or assumptions")
	}
	n := len(p.layers)
	t := &Splits{pass: &pass{Model: p.Model, layers: p.layers, scratch: scratch{owner: p.dev}, query: p.query},
		off: make([][]float64, n), w: s.w, b: s.b, turned: make([]Array, n), bias: make([][]float64, n)}
	t.pass.query.Inputs = part
	for k := range s.lo {
		t.pass.outer = append(t.pass.outer, hostInterval{s.lo[k], s.hi[k]})
	}
	return t
}

// within intersects the pre-activations of layer k with what is known of them on a box around this one.
func (p *pass) within(k int) {
	if k >= len(p.outer) {
		return
	}
	of := p.outer[k]
	ends := append(make([]float64, 0, 2*len(of.lo)), of.lo...)
	for _, v := range of.hi {
		ends = append(ends, -v)
	}
	bound := p.holding(ends)
	p.launch(Intersect{Pre: p.hidden[k].pre, Bound: bound, P: 1, N: len(of.lo)})
	p.release(bound)
}
