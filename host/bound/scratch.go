package bound

// scratch owns the arrays of a pass and remembers its first error: after one,
// nothing more is launched, and the pass returns it.
type scratch struct {
	owner  Device
	arrays map[Array]bool
	err    error
}

func (s *scratch) do(f func() error) {
	if s.err == nil {
		s.err = f()
	}
}

func (s *scratch) array(n int) Array {
	if s.err != nil {
		return nil
	}
	a, err := s.owner.NewArray(n)
	if err != nil {
		s.err = err
		return nil
	}
	if s.arrays == nil {
		s.arrays = map[Array]bool{}
	}
	s.arrays[a] = true
	return a
}

func (s *scratch) interval(n int) Interval { return Interval{s.array(n), s.array(n)} }

// release gives arrays back early; nil and arrays of others are left alone.
func (s *scratch) release(arrays ...Array) {
	for _, a := range arrays {
		if a != nil && s.arrays[a] {
			delete(s.arrays, a)
			s.owner.Release(a)
		}
	}
}

func (s *scratch) free() {
	for a := range s.arrays {
		s.owner.Release(a)
	}
	s.arrays = nil
}

func (s *scratch) read(a Array) []float64 {
	if s.err != nil {
		return nil
	}
	v := make([]float64, a.Len())
	s.err = s.owner.Read(v, a)
	return v
}

func (p *pass) observe(what string, layer int, a Array) {
	if p.job.Observe != nil {
		p.do(func() error { return p.job.Observe(what, layer, a) })
	}
}
