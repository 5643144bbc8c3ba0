package chernoff

import (
	"math"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
)

// rect holds where the mean and the variance of a neuron's pre-activation lie, given the layers below.
type rect struct{ meanLo, meanHi, varLo, varHi float64 }

// slopes hold the slopes of a plane over the mean and the variance of a neuron.
type slopes struct{ mean, variance float64 }

// mostValues is the greatest number of values of (51) that prove a plane.
const mostValues = 1 << 15

// corner holds what is known of a point of a cell, from above: the height of a surface above the plane, and that of
// each of its pieces, were it everywhere; and the plane, negated.
type corner struct {
	high, down float64
	open       [4]float64
}

// cell is a part of a rect with its corners: by mean, by variance.
type cell struct {
	rect
	at [2][2]corner
}

// most is the largest of a number of the corners.
func (c *cell) most(of func(*corner) float64) float64 {
	return max(of(&c.at[0][0]), of(&c.at[0][1]), of(&c.at[1][0]), of(&c.at[1][1]))
}

// surface is the logarithm of a moment, over means and variances.
type surface interface {
	// corner looks at a point, where the plane is -down.
	corner(mean, v, down float64) corner
	// openUp bounds the height above the plane within a cell, by its pieces.
	openUp(c *cell) float64
	// alongMeans reports whether it is convex along means.
	alongMeans() bool
}

// climb looks for the greatest height of a surface above a plane.
type climb struct {
	surface
	by     slopes
	best   float64 // the greatest height that was seen
	values int     // of the surface that were taken
}

// above bounds the maximum over the rect of
//
//	surface(mean, v) - slopes.mean mean - slopes.variance v
//
// from above, to about tol of it if mostValues allow. On a cell it is at most its maximum at the four
// corners, and what (51a) and (51b) add, or openUp (docs/theory.md, section 7); a cell where that matters is cut.
func (r rect) above(of surface, by slopes, tol float64) float64 {
	if !(r.varLo > 0 && r.varHi <= math.MaxFloat64 && r.meanLo <= r.meanHi && r.varLo <= r.varHi) {
		return arith.Inf
	}
	s := &climb{surface: of, by: by, best: math.Inf(-1)}
	first := cell{rect: r}
	for i, mean := range []float64{r.meanLo, r.meanHi} {
		for j, v := range []float64{r.varLo, r.varHi} {
			first.at[i][j] = s.look(mean, v)
		}
	}
	top, stack := math.Inf(-1), []cell{first}
	for len(stack) > 0 && s.best < arith.Inf {
		c := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		ofMean, ofVar := s.bends(&c)
		bound := arith.Up(c.most(func(at *corner) float64 { return at.high }) + arith.Up(ofMean+ofVar))
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
func (s *climb) halves(c *cell, acrossVar bool) []cell {
	lower, upper := *c, *c
	if mid := math.Sqrt(c.varLo) * math.Sqrt(c.varHi); acrossVar && c.varLo < mid && mid < c.varHi {
		lower.varHi, upper.varLo = mid, mid
		for i, mean := range []float64{c.meanLo, c.meanHi} {
			at := s.look(mean, mid)
			lower.at[i][1], upper.at[i][0] = at, at
		}
		return []cell{lower, upper}
	}
	mid := arith.Middle(c.meanLo, c.meanHi)
	lower.meanHi, upper.meanLo = mid, mid
	for i, v := range []float64{c.varLo, c.varHi} {
		at := s.look(mid, v)
		lower.at[1][i], upper.at[0][i] = at, at
	}
	return []cell{lower, upper}
}

// look looks at a point.
func (s *climb) look(mean, v float64) corner {
	s.values++
	down := arith.Up(arith.Up(-s.by.mean*mean) + arith.Up(-s.by.variance*v))
	c := s.corner(mean, v, down)
	if !(c.high <= math.MaxFloat64) { // NaN, too
		c.high = arith.Inf
	}
	s.best = max(s.best, c.high)
	return c
}

// bends bounds by how much the height within the cell exceeds what its corners have: along the mean by
// (51a), along the variance by (51b).
func (s *climb) bends(c *cell) (ofMean, ofVar float64) {
	width, slope := arith.SumUp(c.meanHi, -c.meanLo), s.by.variance
	if ofMean = arith.Up(arith.Up(width*width) / c.varLo / 8); s.alongMeans() {
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

// relu is (51), Lam(al, b; ., .).
type relu struct{ al, b float64 }

func (s relu) alongMeans() bool { return s.al <= 0 && s.b >= 0 }

func (s relu) corner(mean, v, down float64) corner {
	c := corner{high: arith.Up(gauss.ReLUMomentUp(s.al, s.b, mean, v) + down), down: down}
	c.open[0] = arith.Up(gauss.MomentUp(s.al, s.b, mean, v) + down)
	return c
}

// openUp bounds the height within a cell by (51c): the moment is Q(mean/s), which is largest where the mean is least,
// and that of W, which is convex for b >= 0 and else bends by sagUp, times Phi(y).
func (s relu) openUp(c *cell) float64 {
	open, down := c.most(func(at *corner) float64 { return at.open[0] }), c.most(func(at *corner) float64 { return at.down })
	if open = arith.Up(open + s.sagUp(c)); !(open < arith.Inf) {
		return arith.Inf
	}
	v := c.varHi
	if c.meanLo < 0 {
		v = c.varLo
	}
	closed := gauss.TailUp(arith.Down(arith.Down(c.meanLo) / math.Sqrt(v) * (1 - math.Copysign(0x1p-51, c.meanLo))))
	// y = (mean - al v)/sqrt(v D), where v D is concave in v.
	v = c.varLo
	if s.al < 0 {
		v = c.varHi
	}
	num := arith.Up(c.meanHi - arith.Down(s.al*v))
	room := func(v float64) float64 { return v * (1 - float64(s.b*v)) }
	y := num / math.Sqrt(min(room(c.varLo), room(c.varHi))*(1-0x1p-40))
	if num < 0 {
		most := c.varLo // of 1 - b v
		if s.b < 0 {
			most = c.varHi
		}
		y = num / math.Sqrt(c.varHi*(1-float64(s.b*most))*(1+0x1p-40))
	}
	if s.b*c.varHi > 1-0x1p-10 { // the roundings above are of D
		y = arith.Inf
	}
	share := gauss.TailUp(-arith.Up(y))
	top := max(open, down)
	sum := arith.Up(arith.Up(share*arith.ExpUp(arith.Up(open-top))) + arith.Up(closed*arith.ExpUp(arith.Up(down-top))))
	return arith.Up(top + arith.LogUp(sum))
}

// sagUp bounds by how much the moment of W exceeds its corners within a cell (51f).
func (s relu) sagUp(c *cell) float64 {
	if s.b >= 0 {
		return 0
	}
	mean, v := arith.SumUp(c.meanHi, -c.meanLo), arith.SumUp(c.varHi, -c.varLo)
	slope := max(math.Abs(s.b*c.meanLo-s.al), math.Abs(s.b*c.meanHi-s.al)) * (1 + 0x1p-50)
	slope += (math.Abs(s.b)*max(-c.meanLo, c.meanHi) + math.Abs(s.al)) * 0x1p-50 // what cancels was rounded
	return arith.Up(arith.Up(-s.b*arith.Up(arith.Up(mean*mean)+arith.Up(arith.Up(slope*slope)*arith.Up(v*v)))) / 8)
}

// momentUp bounds (51) over a neuron of which the mean and the variance are known up to rounding.
func (r rect) momentUp(al, b float64) float64 {
	if r.varLo == 0 && r.varHi == 0 { // -al z + b z^2/2 at a certain z
		lo, hi := max(r.meanLo, 0), max(r.meanHi, 0)
		linear := max(arith.Up(-al*lo), arith.Up(-al*hi))
		return arith.Up(linear + max(arith.Up(arith.Up(b*arith.Up(hi*hi))/2), arith.Up(arith.Up(b*arith.Down(lo*lo))/2)))
	}
	return r.above(relu{al, b}, slopes{}, arith.Inf)
}
