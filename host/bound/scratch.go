package bound

// scratch owns the arrays of a pass and remembers its first error: after one,
// nothing more is launched, no array is made, no number is read, and the pass returns it.
type scratch struct {
	owner  Device
	arrays map[Array]bool
	err    error
	// later are arrays that are read with the next one, and no array is read without them.
	later []reading
	// held are arrays that are not given back before they are let go; true: they have been released.
	held map[Array]bool
}

// reading is an array that is to be read, to where, and whether it has been released since.
type reading struct {
	a        Array
	to       *[]float64
	released bool
}

// launch runs an operation, unless something has failed: an array of it may be none only then.
func (s *scratch) launch(op Operation) {
	if s.err == nil && len(s.later)+len(s.held) > 0 {
		for _, o := range Outputs(op) {
			s.changing(o.Array)
		}
	}
	if s.err == nil {
		s.err = s.owner.Do(op)
	}
}

// changing reads what is awaited if one of it is about to get other numbers.
func (s *scratch) changing(a Array) {
	if _, held := s.held[a]; held {
		panic("bound: an array gets other numbers while it is held")
	}
	if s.err == nil && s.awaited(a) != nil {
		_, s.err = s.readEach()
	}
}

// write copies numbers to an array.
func (s *scratch) write(to Array, v []float64) {
	if s.changing(to); s.err == nil {
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
		if l := s.awaited(a); a != nil && l != nil {
			l.released = true
			continue
		}
		if _, held := s.held[a]; held {
			s.held[a] = true
			continue
		}
		if a != nil && s.arrays[a] {
			delete(s.arrays, a)
			s.owner.Release(a)
		}
	}
}

// hold keeps arrays until they are let go: nothing may write to them, and releasing waits.
func (s *scratch) hold(arrays ...Array) {
	if s.held == nil {
		s.held = map[Array]bool{}
	}
	for _, a := range arrays {
		if a != nil {
			s.held[a] = false
		}
	}
}

// letGo ends that arrays are held.
func (s *scratch) letGo(arrays ...Array) {
	for _, a := range arrays {
		released := s.held[a]
		if delete(s.held, a); released {
			s.release(a)
		}
	}
}

func (s *scratch) free() {
	for a := range s.arrays {
		s.owner.Release(a)
	}
	s.arrays, s.later, s.held = nil, nil, nil
}

// read returns the numbers of an array, or none and the first error of the pass: whoever wants
// numbers has to take the error too. What has no use for it may just return, as the pass ends with it.
func (s *scratch) read(a Array) (v []float64, err error) {
	all, err := s.readEach(a)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// readEach is read of several arrays.
func (s *scratch) readEach(arrays ...Array) (all [][]float64, err error) {
	if s.err != nil {
		return nil, s.err
	}
	later := s.later
	s.later = nil
	for _, l := range later {
		arrays = append(arrays, l.a)
	}
	if all, s.err = ReadEach(s.owner, arrays...); s.err != nil {
		return nil, s.err
	}
	own := len(all) - len(later)
	for i, l := range later {
		if *l.to = all[own+i]; l.released {
			s.release(l.a)
		}
	}
	return all[:own], nil
}

// readLater has an array read to where to points with the next that is read, and kept until then.
func (s *scratch) readLater(a Array, to *[]float64) {
	if s.err == nil {
		s.later = append(s.later, reading{a: a, to: to})
	}
}

// awaited is an array that is to be read, nil for others.
func (s *scratch) awaited(a Array) *reading {
	for i := range s.later {
		if s.later[i].a == a {
			return &s.later[i]
		}
	}
	return nil
}

// readEnds is read of both ends of coefficients: hi is nil where there is none, and lo where these are numbers.
func (s *scratch) readEnds(i Interval) (lo, hi []float64, err error) {
	if i.Hi != nil && i.Hi != i.Lo {
		return s.readPair(i.Lo, i.Hi)
	}
	if lo, err = s.read(i.Lo); err != nil || i.Hi == nil {
		return lo, nil, err
	}
	return lo, lo, nil
}

// readPair is read of two arrays.
func (s *scratch) readPair(a, b Array) (x, y []float64, err error) {
	all, err := s.readEach(a, b)
	if err != nil {
		return nil, nil, err
	}
	return all[0], all[1], nil
}
