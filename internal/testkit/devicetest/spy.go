package devicetest

import (
	"psafe/host/bound"
)

// spy is a device that does what the one in it does, and compares the rows of
// coefficients with the samples after every stage of back-substitution.
type spy struct {
	bound.Device
	w *witness
	// layers counts the Activates seen; relaxed is the layer of the last
	// RelaxRows, of which a descent starts at the topmost.
	layers, relaxed int
	descending      bool
	top             int  // the layer whose neurons the rows bound, if mirrored
	mirrored        bool // the rows bound neurons; otherwise margins
}

// Do looks at what the stages of back-substitution wrote.
func (s *spy) Do(op bound.Operation) error {
	if err := s.Device.Do(op); err != nil {
		return err
	}
	switch a := op.(type) {
	case bound.Activate:
		s.layers++
	case bound.RelaxRows:
		return s.passed(a)
	case bound.BackSubstitute:
		return s.substituted(a)
	case bound.Concretize:
		return s.concretized(a)
	}
	return nil
}

// value returns what row r of item p bounds, for a sample.
func (s *spy) value(m *sample, r int) (ball, bool) {
	if !s.mirrored {
		if r >= len(m.rows) {
			return ball{}, false // a row that fills up a shorter set
		}
		return m.rows[r], true
	}
	neurons := m.zeta[s.top]
	if r < len(neurons) {
		return neurons[r], true
	}
	return neurons[r-len(neurons)].neg(), true
}

// passed looks at RelaxRows: all that is owed is charged, so the row holds as it stands.
func (s *spy) passed(a bound.RelaxRows) error {
	if !s.descending {
		s.descending, s.top, s.mirrored, s.relaxed = true, s.layers, a.Mirrored, s.layers
	}
	s.relaxed--
	rows := a.Rows()
	coefficients, c, err := s.read(a.A, a.C)
	if err != nil {
		return err
	}
	s.each(a.P, rows, func(p, r int, m *sample, value ball) {
		at := func(j int) float64 { return coefficients[(p*a.N+j)*rows+r] }
		s.w.holds("RelaxRows", p, r, at, at, m.zeta[s.relaxed], c[p*rows+r], point(0), value)
	})
	return nil
}

// substituted looks at BackSubstitute: products that underflowed are charged by the next operation,
// half an eta for each of the Out terms of a coefficient.
func (s *spy) substituted(a bound.BackSubstitute) error {
	lo, c, err := s.read(a.S.Lo, a.C)
	if err != nil {
		return err
	}
	hi := lo
	if a.S.Hi != nil {
		if hi, _, err = s.read(a.S.Hi, a.C); err != nil {
			return err
		}
	}
	eta := point(s.Precision().Eta()).mul(point(float64(a.Out) / 2))
	s.each(a.P, a.R, func(p, r int, m *sample, value ball) {
		allowed := point(0)
		for _, z := range m.z[s.relaxed] {
			if z.lo.Sign() < 0 {
				z = z.neg()
			}
			allowed = allowed.add(eta.mul(z))
		}
		entry := func(v []float64) func(int) float64 {
			return func(j int) float64 { return v[(p*a.In+j)*a.R+r] }
		}
		s.w.holds("BackSubstitute", p, r, entry(lo), entry(hi), m.z[s.relaxed], c[p*a.R+r], allowed, value)
	})
	return nil
}

// concretized looks at Concretize, which ends a descent.
func (s *spy) concretized(a bound.Concretize) error {
	bounds, _, err := s.read(a.Bound, a.C)
	if err != nil {
		return err
	}
	s.each(a.P, a.R, func(p, r int, m *sample, value ball) {
		s.w.below("Concretize", p*a.R+r, bounds[p*a.R+r], value)
	})
	s.descending = false
	return nil
}

// each calls f for every row that bounds something and every sample.
func (s *spy) each(items, rows int, f func(p, r int, m *sample, value ball)) {
	for p := range items {
		for i := range s.w.samples[p] {
			m := &s.w.samples[p][i]
			for r := range rows {
				if value, ok := s.value(m, r); ok {
					f(p, r, m, value)
				}
			}
		}
	}
}

func (s *spy) read(x, y bound.Array) (a, b []float64, err error) {
	if a, err = bound.ReadAll(s.Device, x); err == nil {
		b, err = bound.ReadAll(s.Device, y)
	}
	return a, b, err
}
