package ontop

import (
	"math"

	"psafe/host/arith"
	"psafe/host/bound"
	"psafe/host/prove/covary"
	"psafe/host/read/property"
)

// Cell holds what is known of the inputs z of the last layer for every x of a box, centre +- radius: each
// is between two affine functions of x, and in [lo, hi].
type Cell struct {
	radius []float64
	// centre is there for a cell of the input itself.
	centre       []float64
	lower, upper []line
	lo, hi       []float64
}

// line is at + slope (x - centre): at is rounded to the side on which the line is.
type line struct {
	at    float64
	slope []float64
}

// UnitRows are the rows that a Cell is made of: +z_j for each of n features, and then -z_j.
func UnitRows(n int) []property.Row {
	rows := make([]property.Row, 2*n)
	for r := range rows {
		c := make([]float64, n)
		if c[r%n] = 1; r >= n {
			c[r%n] = -1
		}
		rows[r] = property.Row{CLo: c, CHi: c}
	}
	return rows
}

// NewCell takes what a device says of UnitRows(n) on a box, of item i; p is the device's precision, to
// which it has rounded the box outward.
func NewCell(l *bound.InputLines, i, n int, box property.Box, p bound.Precision) *Cell {
	c := &Cell{radius: make([]float64, l.In), lo: make([]float64, n), hi: make([]float64, n)}
	centre := make([]float64, l.In)
	for k := range centre {
		centre[k] = property.Middle(box.Lo[k], box.Hi[k])
		if box.Lo[k] != box.Hi[k] {
			c.radius[k] = max(arith.SumUp(box.Hi[k], -centre[k]), arith.SumUp(centre[k], -box.Lo[k]))
		}
	}
	for r := range 2 * n {
		t := lineBelow(l, i, r, centre, box, p)
		if r < n {
			c.lower, c.lo[r] = append(c.lower, t), l.Lo[i*l.Rows+r]
			continue
		}
		for k, a := range t.slope {
			t.slope[k] = 0 - a
		}
		t.at = -t.at
		c.upper, c.hi[r-n] = append(c.upper, t), -l.Lo[i*l.Rows+r]
	}
	return c
}

// lineBelow is a function of x below row r of item i, for all x of the box.
func lineBelow(l *bound.InputLines, i, r int, centre []float64, box property.Box, p bound.Precision) line {
	t := line{slope: make([]float64, l.In)}
	// The row is at least Lo - min A x' + A x, for all x' of the device's box.
	var at arith.Sum
	at.Plus(l.Lo[i*l.Rows+r])
	for k := range centre {
		e := (i*l.In+k)*l.Rows + r
		a, hi := l.ALo[e], l.AHi[e]
		devLo, devHi := p.RoundLo(box.Lo[k]), p.RoundHi(box.Hi[k])
		if l.Loose != 0 {
			at.Add(-arith.Up(l.Loose*max(math.Abs(a), math.Abs(hi))), max(-devLo, devHi))
		}
		if devLo < 0 && hi != a {
			mid := arith.Middle(a, hi)
			at.Add(-max(arith.SumUp(mid, -a), arith.SumUp(hi, -mid)), max(-devLo, devHi))
			a = mid
		}
		if t.slope[k] = a; a == 0 {
			continue
		}
		at.Add(a, centre[k])
		if a > 0 {
			at.Add(-a, devLo)
		} else {
			at.Add(-a, devHi)
		}
	}
	t.at = at.Lo()
	return t
}

// InputCell is a Cell of the network's input itself, which has no lines.
func InputCell(box property.Box) *Cell {
	c := &Cell{centre: make([]float64, len(box.Lo)), radius: make([]float64, len(box.Lo)), lo: box.Lo, hi: box.Hi}
	for k := range c.centre {
		c.centre[k] = property.Middle(box.Lo[k], box.Hi[k])
		if box.Lo[k] != box.Hi[k] {
			c.radius[k] = max(arith.SumUp(box.Hi[k], -c.centre[k]), arith.SumUp(c.centre[k], -box.Lo[k]))
		}
	}
	return c
}

// whole reports whether the cell is one of the input itself.
func (c *Cell) whole() bool { return c.lower == nil }

// moves bounds how far each feature is from what it is at the centre, at any point of the cell.
func (c *Cell) moves() []float64 {
	if c.whole() {
		return c.radius
	}
	moves := make([]float64, len(c.lower))
	point := true
	for _, radius := range c.radius {
		point = point && radius == 0
	}
	if point {
		return moves
	}
	for j := range moves {
		var rise, fall arith.Sum // of the upper line, and of the lower one
		for k, radius := range c.radius {
			if radius != 0 {
				rise.Add(math.Abs(c.upper[j].slope[k]), radius)
				fall.Add(math.Abs(c.lower[j].slope[k]), radius)
			}
		}
		for _, s := range []*arith.Sum{&rise, &fall} {
			s.Plus(c.upper[j].at)
			s.Plus(-c.lower[j].at)
		}
		moves[j] = max(0, min(max(rise.Hi(), fall.Hi()), arith.SumUp(c.hi[j], -c.lo[j])))
	}
	return moves
}

// Numbers are all that a device has said of a cell.
func (c *Cell) Numbers() []float64 {
	var all []float64
	for _, lines := range [][]line{c.lower, c.upper} {
		for _, t := range lines {
			all = append(append(all, t.at), t.slope...)
		}
	}
	return append(append(all, c.lo...), c.hi...)
}

// form is a cell as a row sees it: z_j(x) is in at_j + slope_j (x - centre) +- half_j for all x of the
// cell, along the lower line where the mean of the row's coefficient is not negative, else the upper.
type form struct {
	*Cell
	at, half []float64
	slope    [][]float64
	// reach_j >= |z_j(x) - at_j|.
	reach []float64
}

// form chooses the lines; nil where nothing is known of one of them. Of what the row does not meet there is none.
func (r *Row) form(c *Cell) *form {
	f := &form{Cell: c, at: make([]float64, r.n), half: make([]float64, r.n), slope: make([][]float64, r.n), reach: make([]float64, r.n)}
	for j := range r.n {
		if r.idle != nil && r.idle[j] {
			continue
		}
		if !f.take(j, r.mean[j].Middle() >= 0) {
			return nil
		}
	}
	return f
}

// take returns what the lower line says of z_j, or the upper; false where nothing is known of it.
func (f *form) take(j int, below bool) bool {
	c, g := f.Cell, covary.Grow(len(f.radius))
	lower, upper := &c.lower[j], &c.upper[j]
	tilt, rise, fall, lost := 0.0, 0.0, 0.0, 0.0 // how far the lines are apart, and each varies
	for k, radius := range c.radius {
		if radius != 0 {
			a, b := lower.slope[k], upper.slope[k]
			tilt += float64(arith.Up(math.Abs(b-a)) * radius)
			rise += float64(math.Abs(a) * radius)
			fall += float64(math.Abs(b) * radius)
			lost = covary.Tiny
		}
	}
	tilt, rise, fall = tilt*g+lost, rise*g+lost, fall*g+lost
	gap := arith.SumUp(arith.SumUp(upper.at, -lower.at), tilt)
	var low, high, varies float64
	if below {
		gap = max(0, min(gap, arith.SumUp(arith.SumUp(c.hi[j], -lower.at), rise)))
		low, high, f.slope[j], varies = lower.at, arith.SumUp(lower.at, gap), lower.slope, rise
	} else {
		gap = max(0, min(gap, arith.SumUp(arith.SumUp(upper.at, -c.lo[j]), fall)))
		low, high, f.slope[j], varies = arith.SumDown(upper.at, -gap), upper.at, upper.slope, fall
	}
	f.at[j] = arith.Middle(low, high)
	f.half[j] = max(arith.SumUp(high, -f.at[j]), arith.SumUp(f.at[j], -low))
	f.reach[j] = max(0, min(arith.Up(varies+f.half[j]), max(arith.SumUp(c.hi[j], -f.at[j]), arith.SumUp(f.at[j], -c.lo[j]))))
	return f.half[j] <= covary.Most && math.Abs(f.at[j]) <= covary.Most && f.reach[j] <= covary.Most && varies <= covary.Most
}

// narrow takes of each z_j the line that leaves it the least room, the lower one where both leave about as much,
// and says of which it took the upper one; nil where nothing is known of one.
func (c *Cell) narrow() (f *form, above []int) {
	n := len(c.lower)
	f = &form{Cell: c, at: make([]float64, n), half: make([]float64, n), slope: make([][]float64, n), reach: make([]float64, n)}
	for j := range n {
		by := f.take(j, true)
		half := f.half[j]
		if !f.take(j, false) || !by {
			return nil, nil
		}
		if !(f.half[j] < half*(1-0x1p-20)) {
			f.take(j, true)
			continue
		}
		above = append(above, j)
	}
	return f, above
}
