package bound

// Ordinary numbers by which a search goes on: they bound nothing.

// ForwardApprox takes columns of inputs of layer l, [in x R], to its pre-activations, [out x R]:
// ordinary numbers that bound nothing, with the lower ends of the weights and of the biases, and as
// far off (Allow) as is least for a row with this coefficient of the pre-activation, [out x R]; nil if
// that does not matter. A max pool has the greatest of its inputs.
func (s *Splits) ForwardApprox(l int, z, over []float64, r int) ([]float64, error) {
	lay := &s.pass.layers[l]
	if lay.pool {
		return lay.greatestApprox(z, r), nil
	}
	f := &forwardAsked{layer: l, r: r, z: z}
	if s.turn == nil {
		if err := s.takeForward(f); err != nil {
			return nil, err
		}
	} else {
		a := &splitsAsked{of: s, forward: f}
		if s.turn.ask(a); a.err != nil {
			return nil, a.err
		}
	}
	pre := f.pre
	if !lay.weighted {
		return pre, nil
	}
	for at := range pre {
		pre[at] += f.bias[at/r%lay.channels]
		switch off := s.off[l]; {
		case off == nil || over == nil:
		case over[at] < 0:
			pre[at] += off[at/r]
		default:
			pre[at] -= off[at/r]
		}
	}
	return pre, nil
}

// takeForward has the weights of a layer make something of columns of its inputs.
func (s *Splits) takeForward(f *forwardAsked) (err error) {
	p, lay, l, r := s.pass, &s.pass.layers[f.layer], f.layer, f.r
	if err := s.turnWeights(l); err != nil {
		return err
	}
	a := p.holding(f.z)
	if !lay.dense {
		under := p.gathered(a, lay.tap, 1, lay.in, lay.positions*lay.taps, r)
		p.release(a)
		a = under
	}
	none := p.filled(0, lay.taps)
	cIn, c, out := p.filled(0, lay.positions*r), p.array(lay.positions*r), p.array(lay.out*r)
	p.launch(BackSubstitute{
		S: Interval{Lo: out}, C: c, A: a, CIn: cIn, W: Interval{s.turned[l], s.turned[l]}, B: Interval{none, none},
		PerBox: lay.positions, P: lay.positions, R: r, In: lay.channels, Out: lay.taps,
	})
	if f.pre, err = p.read(out); err != nil {
		return err
	}
	p.release(a, c, out)
	f.bias = s.bias[l]
	return nil
}

// turnWeights makes the transposed matrix of layer l, and reads the biases, once.
func (s *Splits) turnWeights(l int) error {
	p, lay := s.pass, &s.pass.layers[l]
	if s.turned[l] != nil {
		return nil
	}
	matrix, _, _ := p.matrix(l)
	w, err := p.read(matrix.Lo)
	if err != nil {
		return err
	}
	turned := make([]float64, len(w))
	for j := range w {
		turned[j%lay.channels*lay.taps+j/lay.channels] = w[j]
	}
	if lay.weighted {
		if s.bias[l], err = p.read(p.query.Boxes.b[l].Lo); err != nil {
			return err
		}
	}
	s.turned[l] = p.holding(turned)
	return nil
}

// greatestApprox is a max pool's forward step, of r columns.
func (l *layer) greatestApprox(z []float64, r int) []float64 {
	out := make([]float64, l.out*r)
	for v := range l.out {
		for e := v * l.window; e < (v+1)*l.window; e++ {
			j := int(l.member(e))
			for c := range r {
				if x := z[j*r+c]; e == v*l.window || x > out[v*r+c] {
					out[v*r+c] = x
				}
			}
		}
	}
	return out
}

// RowsApprox are the values of all property rows at r columns of what feeds the last layer, [rows x R]:
// ordinary numbers that bound nothing.
func (s *Splits) RowsApprox(z []float64, r int) ([]float64, error) {
	last := len(s.pass.layers) - 1
	if s.w[last].lo == nil {
		if err := s.turn.Do(func() error { _, _, err := s.rowsOf(last); return err }); err != nil {
			return nil, err
		}
	}
	w, b := s.w[last], s.b[last]
	n := len(b.lo)
	values := make([]float64, n*r)
	for i, constant := range b.lo {
		for c := range r {
			values[i*r+c] = s.lowered(constant, i)
		}
		for at, x := range z {
			values[i*r+at%r] += w.lo[at/r*n+i] * x
		}
	}
	return values, nil
}
