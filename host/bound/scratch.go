package bound

// scratch owns the arrays of a pass and remembers its first error: after one,
// nothing more is launched, no array is made, no number is read, and the pass returns it.
type scratch struct {
	owner  Device
	arrays map[Array]bool
	err    error
	// within says that do is at work.
	within bool
}

// going reports whether nothing has failed. What do calls may not ask, nor make or read arrays: if
// that failed, the operation would be launched on arrays that are none.
func (s *scratch) going() bool {
	if s.within {
		panic("bound: an array is made or read while an operation is launched: do that before")
	}
	return s.err == nil
}

// do calls what launches an operation, or writes, unless something has failed.
func (s *scratch) do(f func() error) {
	if s.going() {
		s.within = true
		s.err = f()
		s.within = false
	}
}

func (s *scratch) array(n int) Array {
	if !s.going() {
		return nil
	}
	a, err := s.owner.NewArray(n)
	if err != nil {
		s.err = err
		return nil
	}
	s.own(a)
	return a
}

// own takes over an array; nil is allowed.
func (s *scratch) own(a Array) {
	if a == nil {
		return
	}
	if s.arrays == nil {
		s.arrays = map[Array]bool{}
	}
	s.arrays[a] = true
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

// read returns the numbers of an array, or none and the first error of the pass: whoever wants
// numbers has to take the error too. What has no use for it may just return, as the pass ends with it.
func (s *scratch) read(a Array) (v []float64, err error) {
	if s.going() {
		v, s.err = ReadAll(s.owner, a)
	}
	return v, s.err
}

// readPair is read of two arrays.
func (s *scratch) readPair(a, b Array) (x, y []float64, err error) {
	if x, err = s.read(a); err != nil {
		return nil, nil, err
	}
	if y, err = s.read(b); err != nil {
		return nil, nil, err
	}
	return x, y, nil
}

func (p *pass) observe(what string, layer int, a Array) {
	if p.query.Observe != nil {
		p.do(func() error { return p.query.Observe(what, layer, a) })
	}
}
