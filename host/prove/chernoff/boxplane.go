package chernoff

import (
	"math"

	"psafe/host/arith"
	"psafe/host/prove/measure"
)

// unitCorner is what is known of a point of a cell, from above: the height of the unit's moment above the plane, and
// that of each of its pieces, were it everywhere.
type unitCorner struct {
	high float64
	open [4]float64
}

// unitCell is a part of a rect with its corners: by mean, by variance.
type unitCell struct {
	rect
	at [2][2]unitCorner
}

// most is the largest of a number of the corners.
func (c *unitCell) most(of func(*unitCorner) float64) float64 {
	return max(of(&c.at[0][0]), of(&c.at[0][1]), of(&c.at[1][0]), of(&c.at[1][1]))
}

// unitSurface is the moment of a unit and a plane; see surface.
type unitSurface struct {
	*unit
	by     slopes
	best   float64
	values int
}

// above is what rect.above is for (51): the maximum over the rect of the logarithm of the moment less a plane, by (51a),
// (51b), which hold for every function of t, and (51e).
func (u *unit) above(r rect, by slopes, tol float64) float64 {
	if !(r.varLo > 0 && r.varHi <= math.MaxFloat64 && r.meanLo <= r.meanHi && r.varLo <= r.varHi) {
		return arith.Inf
	}
	s := &unitSurface{unit: u, by: by, best: math.Inf(-1)}
	first := unitCell{rect: r}
	for i, mean := range []float64{r.meanLo, r.meanHi} {
		for j, v := range []float64{r.varLo, r.varHi} {
			first.at[i][j] = s.corner(mean, v)
		}
	}
	top, stack := math.Inf(-1), []unitCell{first}
	for len(stack) > 0 && s.best < arith.Inf {
		c := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		ofMean, ofVar := s.bends(&c)
		bound := arith.Up(c.most(func(at *unitCorner) float64 { return at.high }) + arith.Up(ofMean+ofVar))
		if bound > s.best+tol {
			bound = min(bound, s.openUp(&c))
		}
		if bound <= s.best+tol || s.values >= mostValues {
			top = max(top, bound)
			continue
		}
		stack = append(stack, s.halves(&c, ofVar > ofMean)...)
	}
	if s.best == arith.Inf {
		return arith.Inf
	}
	return top
}

// halves cuts a cell, across the variance if that is said and can be.
func (s *unitSurface) halves(c *unitCell, acrossVar bool) []unitCell {
	lower, upper := *c, *c
	if mid := math.Sqrt(c.varLo) * math.Sqrt(c.varHi); acrossVar && c.varLo < mid && mid < c.varHi {
		lower.varHi, upper.varLo = mid, mid
		for i, mean := range []float64{c.meanLo, c.meanHi} {
			at := s.corner(mean, mid)
			lower.at[i][1], upper.at[i][0] = at, at
		}
		return []unitCell{lower, upper}
	}
	mid := arith.Middle(c.meanLo, c.meanHi)
	lower.meanHi, upper.meanLo = mid, mid
	for i, v := range []float64{c.varLo, c.varHi} {
		at := s.corner(mid, v)
		lower.at[1][i], upper.at[0][i] = at, at
	}
	return []unitCell{lower, upper}
}

// corner looks at a point.
func (s *unitSurface) corner(mean, v float64) (c unitCorner) {
	s.values++
	down := arith.Up(arith.Up(-s.by.mean*mean) + arith.Up(-s.by.variance*v)) // the plane, negated
	if c.high = arith.Up(measure.PiecesMomentUp(s.pieces, mean, v) + down); !(c.high <= math.MaxFloat64) {
		c.high = arith.Inf // NaN, too
	}
	s.best = max(s.best, c.high)
	for i := range s.pieces {
		p := &s.pieces[i]
		if c.open[i] = arith.Inf; p.Bend >= 0 {
			c.open[i] = arith.Up(p.PieceMomentUp(mean, v) + down)
		}
	}
	return c
}

// openUp bounds the height within a cell by (51e): the moment of each piece is the one that it would have if it were
// everywhere, which is convex, times a share of what is normal.
func (s *unitSurface) openUp(c *unitCell) float64 {
	var open, share [4]float64
	top, from := math.Inf(-1), math.Inf(-1)
	for i := range s.pieces {
		open[i] = c.most(func(at *unitCorner) float64 { return at.open[i] })
		if !(open[i] < arith.Inf) {
			return arith.Inf
		}
		share[i] = s.shareUp(i, from, c.rect)
		top, from = max(top, open[i]), s.pieces[i].To
	}
	sum := 0.0
	for i := range s.pieces {
		sum = arith.Up(sum + arith.Up(share[i]*measure.ExpUp(arith.Up(open[i]-top))))
	}
	return arith.Up(top + measure.LogUp(sum))
}

// shareUp is at least Phi(y1) - Phi(y0) of piece i, from x on, anywhere within a rect.
func (s *unitSurface) shareUp(i int, x float64, r rect) float64 {
	p, one := &s.pieces[i], arith.Exactly(1)
	mean, v := arith.Of(r.meanLo, r.meanHi), arith.Of(r.varLo, r.varHi)
	d := one.Minus(arith.Exactly(p.Bend).Times(v))
	if !(d.Lo > 0) {
		return 1
	}
	spread, shift, share := v.Times(d).Sqrt(), mean.Plus(arith.Exactly(p.Slope).Times(v)), 1.0
	at := func(x float64) arith.Interval { return arith.Exactly(x).Times(d).Minus(shift).Over(spread) }
	if x > math.Inf(-1) {
		share = min(share, measure.TailUp(at(x).Lo))
	}
	if p.To < math.Inf(1) {
		share = min(share, measure.TailUp(-at(p.To).Hi))
	}
	return share
}

// bends is that of a surface.
func (s *unitSurface) bends(c *unitCell) (ofMean, ofVar float64) {
	width, slope := arith.SumUp(c.meanHi, -c.meanLo), s.by.variance
	if ofMean = arith.Up(arith.Up(width*width) / c.varLo / 8); s.convex {
		ofMean = 0
	}
	ratio := arith.Up(arith.Up(c.varHi/c.varLo) - 1)
	square := arith.Up(ratio * ratio)
	ofVar = square / 16
	if slope > 0 {
		ofVar = arith.Up(ofVar + arith.Up(arith.Up(slope*c.varHi)*square)/4)
	}
	return arith.Up(ofMean), arith.Up(ofVar)
}
