package selfcheck

import (
	"math"

	"psafe/host/bound"
	"psafe/host/model/network"
)

// images calls what images need of a device on a small convolution with padding, whose
// lists have holes, with more rows than a vector and sums of more than a block.
func images(dev bound.Device, seed uint32) error {
	s := arrays{dev: dev, numbers: &numbers{seed: seed}}
	window := network.Window{Size: [2]int{3, 3}, Stride: [2]int{1, 2}, Dilation: [2]int{1, 1}, Before: [2]int{1, 1}, After: [2]int{1, 1}}
	conv := network.Conv{In: network.Image{Height: 7, Width: 10, Channels: 2}, Window: window, Filters: 3, Groups: 1}
	m := mapArrays{arrays: &s, Lowered: conv.Lowered(), inputs: conv.Inputs()}
	for _, call := range []func(){m.gathers, m.sums, m.rows} {
		call()
		s.release() // some devices have little memory
	}
	return s.err
}

// around is an interval around numbers whose sums are rounded.
func (s *arrays) around(n int) bound.Interval {
	lo, hi, p := make([]float64, n), make([]float64, n), s.dev.Precision()
	for i := range lo {
		lo[i] = p.Nearest(s.number() / 3)
		hi[i] = p.Nearest(lo[i] + math.Abs(s.number())/5)
	}
	return bound.Interval{Lo: s.in(lo), Hi: s.in(hi)}
}

// random is an array of such numbers.
func (s *arrays) random(n int) bound.Array { return s.around(n).Lo }

// mapArrays is a linear map and the arrays of a query with it.
type mapArrays struct {
	*arrays
	*network.Lowered
	inputs int
}

// taps returns the taps of all positions, and for each input the entries of that list that name it.
func (m *mapArrays) taps() (taps, start, entry []float64) {
	for _, j := range m.Tap {
		taps = append(taps, float64(j))
	}
	for j := range m.inputs {
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
func (m *mapArrays) gathers() {
	const items = 3
	taps, _, _ := m.taps()
	index := m.in(taps)
	for _, rows := range []int{1, 19} {
		n := len(taps)
		in, out := m.random(items*m.inputs*rows), m.out(items*(n+2)*rows)
		two, twoIndex := m.random(items*5*rows), m.in([]float64{4, 1})
		m.do(bound.Gather{Out: out, In: two, Index: twoIndex, P: items, N: 5, T: 2, Total: n + 2, R: rows})
		m.do(bound.Gather{Out: out, In: in, Index: index, P: items, N: m.inputs, T: n, At: 2, Total: n + 2, R: rows})
	}
}

// sums are col2im, the same of entries that are selected, and one list of all entries.
func (m *mapArrays) sums() {
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
	out := m.out(items * m.inputs * rows)
	a := bound.GatherSum{Out: out, In: m.random(items * n * rows), Start: m.in(start), Entry: m.in(entry),
		P: items, N: n, J: m.inputs, E: len(entry), R: rows}
	chosen := a
	chosen.Slot, chosen.Select, chosen.Add = m.in(slot), m.in(selected), true
	one := a
	one.Out, one.J, one.E, one.Start, one.Entry = m.random(items*rows), 1, n, m.in([]float64{0, float64(n)}), m.in(all)
	added := one
	added.Add = true
	for _, a := range []bound.GatherSum{a, chosen, one, added} {
		m.do(a)
	}
	t := bound.ConvTranspose{
		Out: out, A: m.random(items * m.Positions * m.Channels * rows), W: m.around(m.Taps * m.Channels), Start: a.Start, Entry: a.Entry,
		PerBox: items, P: items, R: rows, J: m.inputs, E: len(entry), Positions: m.Positions, K: m.Taps, Channels: m.Channels,
	}
	more := t
	needed := make([]float64, items*m.inputs)
	for i := range needed {
		needed[i] = float64(i % 3)
	}
	more.W.Hi, more.Add, more.Needed = t.W.Lo, true, m.in(needed)
	for _, t := range []bound.ConvTranspose{t, more} {
		m.do(t)
	}
}

// rows are rows of single pre-activations, of differences and of variances.
func (m *mapArrays) rows() {
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
	a := bound.PlaceRows{W: m.around(2 * m.Taps * m.Channels), B: m.around(2 * m.Channels), Taps: m.in(taps), Unit: m.in(unit),
		P: items, PerBox: perBox, R: rows, In: m.inputs, Positions: m.Positions, K: m.Taps, Channels: m.Channels}
	a.S.Lo, a.C.Lo = m.out(items*m.inputs*rows), m.out(items*rows)
	both := a
	both.Other, both.S.Hi, both.C.Hi = m.in(other), m.out(items*m.inputs*rows), m.out(items*rows)
	squares := a
	squares.Other, squares.Squares = both.Other, true
	each := a
	each.Each, each.Unit = true, both.Other
	for _, a := range []bound.PlaceRows{a, both, squares, each} {
		m.do(a)
	}
}
