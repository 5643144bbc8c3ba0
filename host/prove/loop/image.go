// Package loop bounds how likely closed loops stay safe. They may have to reach a goal too. It takes
// bounds of a network's outputs on cells of a grid (docs/theory.md, section 3.9), as psafe certify proves
// them, and computes nothing of the network.
//
// Images of cells are rounded outward; what is closed is decided by numbers of cells. Which boxes of outputs
// are asked for (plan.go) is a choice, and falsifies nothing.
package loop

import (
	"math"

	"psafe/host/arith"
	"psafe/host/read/plant"
)

// Loop is a plant with what its sets are as cells.
type Loop struct {
	*plant.Plant
	// safe are the cells within the safe set, reached those that are also within the goal, start
	// the cells that have a point of the start set.
	safe, reached []bool
	start         []int
	noise         []arith.Interval
}

// New finds the cells of a plant's sets.
func New(p *plant.Plant) *Loop {
	l := &Loop{Plant: p, safe: make([]bool, p.Cells()), reached: make([]bool, p.Cells())}
	for _, ends := range p.Between {
		l.noise = append(l.noise, arith.Of(ends[0].Lo, ends[1].Hi))
	}
	var box []arith.Interval
	for c := range l.safe {
		box = l.box(c, box)
		l.safe[c] = within(p.Safe, box)
		l.reached[c] = p.Goal != nil && l.safe[c] && within(p.Goal, box)
		if meets(p.Start, box) {
			l.start = append(l.start, c)
		}
	}
	return l
}

// Starts are the cells that have a point of the start set, if the whole set is within the grid: then
// every point of it is in one of them.
func (l *Loop) Starts() []int { return l.start }

// StartOutside reports whether a point of the start set may be outside of the grid.
func (l *Loop) StartOutside() bool {
	// Beyond each face lies a half-space. The start set, cut to that, is shown to be empty where a
	// form with one variable keeps to the near side of the face.
	for i, c := range l.State {
		lo, hi := bounds(l.Start, i)
		if !(lo >= c.Edges[0] && hi <= c.Edges[len(c.Edges)-1]) {
			return true
		}
	}
	return false
}

// bounds encloses coordinate i of a set by those of its forms that speak of it alone.
func bounds(set plant.Set, i int) (lo, hi float64) {
	lo, hi = math.Inf(-1), math.Inf(1)
	for _, f := range set {
		if of, alone := alone(f); !alone || of != i {
			continue
		}
		by, c := arith.Of(f.Terms[0].By.Lo, f.Terms[0].By.Hi), arith.Of(f.Constant.Lo, f.Constant.Hi)
		switch { // by x + c >= 0
		case by.Lo > 0:
			lo = max(lo, quotient(c.Negated(), by).Lo)
		case by.Hi < 0:
			hi = min(hi, quotient(c, by.Negated()).Hi)
		}
	}
	return lo, hi
}

// alone reports whether a form speaks of one variable by itself, and of which.
func alone(f *plant.Form) (variable int, is bool) {
	if len(f.Terms) != 1 || f.Terms[0].Of.Of != nil {
		return 0, false
	}
	return f.Terms[0].Of.Variable, true
}

// quotient is a over b, exact if b is 1.
func quotient(a, b arith.Interval) arith.Interval {
	if b == arith.Exactly(1) {
		return a
	}
	return a.Over(b)
}

// box sets and returns the intervals of a cell.
func (l *Loop) box(cell int, box []arith.Interval) []arith.Interval {
	at := make([]int, len(l.State))
	l.Cell(cell, at)
	box = box[:0]
	for i, c := range l.State {
		box = append(box, arith.Of(c.Edges[at[i]], c.Edges[at[i]+1]))
	}
	return box
}

// within reports whether a box is surely within a set.
func within(set plant.Set, box []arith.Interval) bool {
	for _, f := range set {
		if !(valueOf(f, box).Lo >= 0) {
			return false
		}
	}
	return true
}

// meets reports whether a box may have a point of a set.
func meets(set plant.Set, box []arith.Interval) bool {
	for _, f := range set {
		if valueOf(f, box).Hi < 0 {
			return false
		}
	}
	return true
}

// valueOf holds all values of a form for variables in intervals: each sum and product is rounded outward
// where it is not exact. NaN and overflow give ends that are within nothing.
func valueOf(f *plant.Form, in []arith.Interval) arith.Interval {
	sum := arith.Of(f.Constant.Lo, f.Constant.Hi)
	for i := range f.Terms {
		t := &f.Terms[i]
		v := atomValue(&t.Of, in)
		a, b := arith.LeastProduct(t.By.Lo, t.By.Hi, v.Lo, v.Hi)
		c, d := arith.MostProduct(t.By.Lo, t.By.Hi, v.Lo, v.Hi)
		sum = arith.Of(arith.SumDown(sum.Lo, arith.ProductDown(a, b)), arith.SumUp(sum.Hi, arith.ProductUp(c, d)))
	}
	return sum
}

// atomValue holds all values of an atom. A clip is monotone in what is clipped and in both of its ends.
func atomValue(a *plant.Atom, in []arith.Interval) arith.Interval {
	if a.Of == nil {
		return in[a.Variable]
	}
	v := valueOf(a.Of, in)
	if a.Sine {
		return sine(v)
	}
	return arith.Of(min(max(v.Lo, a.Lo.Lo), a.Hi.Lo), min(max(v.Hi, a.Lo.Hi), a.Hi.Hi))
}

// sine holds the sines of all numbers of v: between those of its ends where it is monotone, and else no farther
// from that of the middle than the numbers are.
func sine(v arith.Interval) arith.Interval {
	const quarter = 1.5707963 // below pi/2
	all := arith.Of(-1, 1)
	var s arith.Interval
	switch m := v.Middle(); {
	case !v.Finite():
		return all
	case -quarter <= v.Lo && v.Hi <= quarter:
		s = arith.Of(sineAt(v.Lo).Lo, sineAt(v.Hi).Hi)
	default:
		r := max(arith.Up(v.Hi-m), arith.Up(m-v.Lo))
		s = sineAt(m).Plus(arith.Of(-r, r))
	}
	return arith.Of(max(s.Lo, all.Lo), min(s.Hi, all.Hi))
}

// sineAt encloses sin x by Taylor's series of x - x^3/3! + ... + x^61/61!, and the next term, which bounds the rest.
// Beyond 8 it says nothing.
func sineAt(x float64) arith.Interval {
	if !(math.Abs(x) <= 8) {
		return arith.Of(-1, 1)
	}
	term, sum := arith.Exactly(x), arith.Exactly(x)
	square := arith.Exactly(x).Square()
	for k := 3; k <= 63; k += 2 {
		term = term.Times(square).Over(arith.Exactly(float64(k * (k - 1)))).Negated()
		if k < 63 {
			sum = sum.Plus(term)
		}
	}
	rest := term.Size()
	return sum.Plus(arith.Of(-rest, rest))
}

// Image is a box of cells: from First to Last along each coordinate. One without coordinates says that states may be
// outside of the grid.
type Image struct{ First, Last []int }

// Inside reports whether all states are within the grid.
func (m Image) Inside() bool { return m.First != nil }

// Image covers the next states of all states of a cell where outputs are within out, whatever the noise.
func (l *Loop) Image(cell int, out []arith.Interval) Image {
	in := append(append(l.box(cell, nil), out...), l.noise...)
	m := Image{make([]int, len(l.State)), make([]int, len(l.State))}
	for i, f := range l.Next {
		var ok bool
		if m.First[i], m.Last[i], ok = cover(l.State[i].Edges, valueOf(f, in)); !ok {
			return Image{}
		}
	}
	return m
}

// cover is a stretch of closed cells that hold all of v, as few as there are; ok is false where v is not within all of them.
func cover(edges []float64, v arith.Interval) (first, last int, ok bool) {
	n := len(edges) - 1
	if !(v.Lo >= edges[0] && v.Lo <= v.Hi && v.Hi <= edges[n]) {
		return 0, 0, false
	}
	above := func(x float64) int { // the first edge above x
		lo, hi := 0, n+1
		for lo < hi {
			if m := (lo + hi) / 2; edges[m] > x {
				hi = m
			} else {
				lo = m + 1
			}
		}
		return lo
	}
	first = min(above(v.Lo)-1, n-1)
	last = above(v.Hi) - 1
	if last == n || edges[last] == v.Hi && last > first {
		last--
	}
	return first, last, true
}

// each calls f for the cells of an image until one is not what it should be. Along the last coordinate numbers are neighbours.
func (l *Loop) each(m Image, f func(cell int) bool) bool {
	at := append(make([]int, 0, 8), m.First...) // short ones on the stack: planning walks through millions of images
	row := len(at) - 1
	length := m.Last[row] - m.First[row]
	for {
		first := l.Number(at)
		for c := first; c <= first+length; c++ {
			if !f(c) {
				return false
			}
		}
		i := row - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] <= m.Last[i] {
				break
			}
			at[i] = m.First[i]
		}
		if i < 0 {
			return true
		}
	}
}
