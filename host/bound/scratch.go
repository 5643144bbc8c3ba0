package bound

// scratch owns the arrays of a pass and remembers its first error: after one,
// nothing more is launched, no array is made, no number is read, and the pass returns it.
type scratch struct {
	owner  Device
	arrays map[Array]bool
	err    error
}

// launch runs an operation, unless something has failed: an array of it may be none only then.
func (s *scratch) launch(op Operation) {
	if s.err == nil {
		s.err = s.owner.Do(op)
	}
}

// write copies numbers to an array.
func (s *scratch) write(to Array, v []float64) {
	if s.err == nil {
		s.err = s.owner.Write(to, v)
	}
}

// holding is an array of these numbers.
func (s *scratch) holding(v []float64) Array {
	a := s.array(len(v))
	s.write(a, v)
	return a
}

func (s *scratch) array(n int) Array {
	if s.err != nil {
		return nil
	}
	a, err := s.owner.NewArray(n)
	if s.err = err; err != nil {
		return nil
	}
	s.own(a)
	return a
}

// gathered is what a Gather takes by a list of t places from an array [items x n x r].
func (s *scratch) gathered(a, index Array, items, n, t, r int) Array {
	out := s.array(items * t * r)
	s.launch(Gather{Out: out, In: a, Index: index, P: items, N: n, T: t, Total: t, R: r})
	return out
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
	if s.err == nil {
		v, s.err = ReadAll(s.owner, a)
	}
	return v, s.err
}

// readEnds is read of both ends of coefficients: hi is nil where there is none, and lo where these are numbers.
func (s *scratch) readEnds(i Interval) (lo, hi []float64, err error) {
	if lo, err = s.read(i.Lo); err != nil || i.Hi == nil {
		return lo, nil, err
	}
	if i.Hi == i.Lo {
		return lo, lo, nil
	}
	hi, err = s.read(i.Hi)
	return lo, hi, err
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
