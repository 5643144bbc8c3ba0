package bound

// Ordinary numbers by which a search goes on: they bound nothing.

// ForwardApprox takes columns of inputs of layer l, [in x R], to its pre-activations, [out x R]:
// ordinary numbers that bound nothing, with the lower ends of the weights and of the biases or,
// where a row's coefficient of the pre-activation, [out x R], is negative, the upper end of the
// bias. No coefficients are as many of 0.
func (s *Splits) ForwardApprox(l int, z, over []float64, r int) ([]float64, error) {
	p, lay := s.pass, &s.pass.layers[l]
	if s.turned[l] == nil {
		w, err := p.read(p.query.Boxes.w[l].Lo)
		if err != nil {
			return nil, err
		}
		turned := make([]float64, len(w))
		for j := range w {
			turned[j%lay.out*lay.in+j/lay.out] = w[j]
		}
		s.turned[l], s.none[l] = s.write(turned), s.write(make([]float64, lay.in))
	}
	a, cIn, c, out := s.write(z), s.write(make([]float64, r)), p.array(r), p.array(lay.out*r)
	p.do(func() error {
		return p.dev.BackSubstitute(BackSubstitute{
			S: Interval{Lo: out}, C: c, A: a, CIn: cIn, W: Interval{s.turned[l], s.turned[l]}, B: Interval{s.none[l], s.none[l]},
			PerBox: 1, P: 1, R: r, In: lay.out, Out: lay.in,
		})
	})
	pre, err := p.read(out)
	if err != nil {
		return nil, err
	}
	p.release(a, cIn, c, out)
	lo, hi, err := p.readPair(p.query.Boxes.b[l].Lo, p.query.Boxes.b[l].Hi)
	if err != nil {
		return nil, err
	}
	for at := range pre {
		if over != nil && over[at] < 0 {
			pre[at] += hi[at/r]
		} else {
			pre[at] += lo[at/r]
		}
	}
	return pre, nil
}

// ValuesApprox are the values of the rows of a query at columns of what feeds its layer, [in x R],
// one for each row: ordinary numbers that bound nothing.
func (s *Splits) ValuesApprox(q *SplitQuery, z []float64) ([]float64, error) {
	coefficients, values, err := s.start(q)
	if err != nil {
		return nil, err
	}
	r := len(q.Rows)
	for at, c := range coefficients {
		values[at%r] += c * z[at]
	}
	return values, nil
}
