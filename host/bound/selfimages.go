package bound

import (
	"errors"
	"math"

	"psafe/host/model/network"
)

// selfImages calls what images need of a device on a small convolution with padding, whose
// lists have holes, with more rows than a vector and sums of more than a block.
func selfImages(dev Device, seed uint32) error {
	s := imageArrays{dev: dev, numbers: selfNumbers{seed: seed}}
	window := network.Window{Size: [2]int{3, 3}, Stride: [2]int{1, 2}, Dilation: [2]int{1, 1}, Before: [2]int{1, 1}, After: [2]int{1, 1}}
	conv := network.Conv{In: network.Image{Height: 7, Width: 10, Channels: 2}, Window: window, Filters: 3, Groups: 1}
	m := selfMap{imageArrays: &s, Lowered: conv.Lowered(), in: conv.Inputs()}
	for _, call := range []func() error{m.gathers, m.sums, m.rows} {
		err := call()
		s.release() // some devices have little memory
		if err != nil || s.err != nil {
			return errors.Join(err, s.err)
		}
	}
	return nil
}

// imageArrays are the arrays of a query, and the first error of making them.
type imageArrays struct {
	dev     Device
	numbers selfNumbers
	list    []Array
	err     error
}

func (s *imageArrays) release() {
	for _, a := range s.list {
		s.dev.Release(a)
	}
	s.list = nil
}

// empty is an array to be written.
func (s *imageArrays) empty(n int) Array {
	a, err := s.dev.NewArray(n)
	if err != nil {
		s.err = err
		return nil
	}
	s.list = append(s.list, a)
	return a
}

// holding is an array of numbers.
func (s *imageArrays) holding(v []float64) Array {
	a := s.empty(len(v))
	if s.err == nil {
		s.err = s.dev.Write(a, v)
	}
	return a
}

// random is an array of numbers whose sums are rounded.
func (s *imageArrays) random(n int) Array { return s.interval(n).Lo }

// interval is an interval around such numbers.
func (s *imageArrays) interval(n int) Interval {
	lo, hi, p := make([]float64, n), make([]float64, n), s.dev.Precision()
	for i := range lo {
		lo[i] = p.Nearest(s.numbers.number() / 3)
		hi[i] = p.Nearest(lo[i] + math.Abs(s.numbers.number())/5)
	}
	return Interval{s.holding(lo), s.holding(hi)}
}

// selfMap is a linear map and the arrays of a query with it.
type selfMap struct {
	*imageArrays
	*network.Lowered
	in int
}

// taps returns the taps of all positions, and for each input the entries of that list that name it.
func (m *selfMap) taps() (taps, start, entry []float64) {
	for _, j := range m.Tap {
		taps = append(taps, float64(j))
	}
	for j := range m.in {
		start = append(start, float64(len(entry)))
		for e, tap := range m.Tap {
			if int(tap) == j {
				entry = append(entry, float64(e))
			}
		}
	}
	return taps, append(start, float64(len(entry))), entry
}

// gathers are im2col of one row and of several, and an array filled by two calls.
func (m *selfMap) gathers() error {
	const items = 3
	taps, _, _ := m.taps()
	index := m.holding(taps)
	for _, rows := range []int{1, 19} {
		n := len(taps)
		in, out := m.random(items*m.in*rows), m.empty(items*(n+2)*rows)
		two, twoIndex := m.random(items*5*rows), m.holding([]float64{4, 1})
		if m.err != nil {
			return m.err
		}
		a := Gather{Out: out, In: two, Index: twoIndex, P: items, N: 5, T: 2, Total: n + 2, R: rows}
		if err := m.dev.Do(a); err != nil {
			return err
		}
		a = Gather{Out: out, In: in, Index: index, P: items, N: m.in, T: n, At: 2, Total: n + 2, R: rows}
		if err := m.dev.Do(a); err != nil {
			return err
		}
	}
	return nil
}

// sums are col2im, the same of entries that are selected, and one list of all entries.
func (m *selfMap) sums() error {
	const items, rows = 2, 21
	_, start, entry := m.taps()
	n := len(m.Tap)
	var slot, selected, all []float64
	for e := range entry {
		slot = append(slot, float64(e%3))
	}
	for i := range items * n {
		selected = append(selected, float64(i%11%3))
	}
	for e := range n {
		all = append(all, float64(n-1-e))
	}
	out := m.empty(items * m.in * rows)
	a := GatherSum{Out: out, In: m.random(items * n * rows), Start: m.holding(start), Entry: m.holding(entry),
		P: items, N: n, J: m.in, E: len(entry), R: rows}
	chosen := a
	chosen.Slot, chosen.Select, chosen.Add = m.holding(slot), m.holding(selected), true
	one := a
	one.Out, one.J, one.E, one.Start, one.Entry = m.random(items*rows), 1, n, m.holding([]float64{0, float64(n)}), m.holding(all)
	added := one
	added.Add = true
	if m.err != nil {
		return m.err
	}
	for _, a := range []GatherSum{a, chosen, one, added} {
		if err := m.dev.Do(a); err != nil {
			return err
		}
	}
	return nil
}

// rows are rows of single pre-activations, of differences and of variances.
func (m *selfMap) rows() error {
	const items, perBox, rows = 3, 2, 37
	taps, _, _ := m.taps()
	units := m.Positions * m.Channels
	var unit, other []float64
	for r := range rows {
		unit = append(unit, float64(r*7%units))
	}
	for i := range items * rows {
		// The same channel, the same unit, any.
		other = append(other, float64([]int{i%rows*7 + m.Channels, i % rows * 7, i * 5}[i%3]%units))
	}
	a := PlaceRows{W: m.interval(2 * m.Taps * m.Channels), B: m.interval(2 * m.Channels), Taps: m.holding(taps), Unit: m.holding(unit),
		P: items, PerBox: perBox, R: rows, In: m.in, Positions: m.Positions, K: m.Taps, Channels: m.Channels}
	a.S.Lo, a.C.Lo = m.empty(items*m.in*rows), m.empty(items*rows)
	both := a
	both.Other, both.S.Hi, both.C.Hi = m.holding(other), m.empty(items*m.in*rows), m.empty(items*rows)
	squares := a
	squares.Other, squares.Squares = both.Other, true
	if m.err != nil {
		return m.err
	}
	for _, a := range []PlaceRows{a, both, squares} {
		if err := m.dev.Do(a); err != nil {
			return err
		}
	}
	return nil
}
