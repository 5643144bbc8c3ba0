package moments

import (
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
)

type bounds struct{ mean, variance arith.Interval }

// Plane has slopes by the mean and by the variance of a neuron.
type Plane struct{ Mean, Variance float64 }

// surface is the logarithm of a moment, over the mean and the variance of a neuron.
type surface interface {
	// valueUp is at least it at a point.
	valueUp(mean, v float64) float64
	// openUp is at least how far it is above a plane anywhere within r, by its parts; it is infinite where they say nothing.
	openUp(r bounds, by Plane) float64
	// bendsDown reports whether it may do so along means.
	bendsDown() bool
}

// down is the plane at a point, negated, from above.
func (p Plane) down(mean, v float64) float64 {
	return arith.Exactly(-p.Mean).Times(arith.Exactly(mean)).Minus(arith.Exactly(p.Variance).Times(arith.Exactly(v))).Hi
}

// climb looks for how far a surface is above a plane.
type climb struct {
	surface
	by Plane
	// best is the highest that was seen, tol how near to it the answer has to be, left how many more values
	// may be taken.
	best, tol float64
	left      int
}

// coarse is at how many means and variances a climb looks first, and mostValues how many values it takes.
const coarse, mostValues = 5, 1 << 16

// heightUp is at least surface(mean, v) - by.Mean mean - by.Variance v for all means and variances within the
// bounds, and not much more than the largest value.
func (r bounds) heightUp(of surface, by Plane, tol float64) float64 {
	if !(r.mean.Finite() && r.variance.Finite() && r.variance.Lo > 0) {
		return arith.Inf
	}
	c := &climb{surface: of, by: by, best: math.Inf(-1), tol: tol, left: mostValues}
	if tol < arith.Inf {
		for i := range coarse {
			for j := range coarse {
				share := func(k arith.Interval, at int) float64 {
					return min(max(k.Lo+(k.Hi-k.Lo)*float64(at)/(coarse-1), k.Lo), k.Hi)
				}
				c.at(share(r.mean, i), share(r.variance, j))
			}
		}
	}
	return c.over(piece{r, [4]float64{c.at(r.mean.Lo, r.variance.Lo), c.at(r.mean.Lo, r.variance.Hi), c.at(r.mean.Hi, r.variance.Lo), c.at(r.mean.Hi, r.variance.Hi)}})
}

// at is the height at a point.
func (c *climb) at(mean, v float64) float64 {
	c.left--
	h := arith.Up(c.valueUp(mean, v) + c.by.down(mean, v))
	if !(h < arith.Inf) {
		h = arith.Inf
	}
	c.best = max(c.best, h)
	return h
}

// piece is a part of what a climb looks at, with the heights of its corners: mean first.
type piece struct {
	bounds
	corners [4]float64
}

// over is at least the height anywhere within a piece. It is halved, and all halves where that may say more, until
// no more values may be taken: so the largest are cut first.
func (c *climb) over(all piece) float64 {
	top := math.Inf(-1)
	for open := []piece{all}; len(open) > 0; {
		var next []piece
		for _, p := range open {
			alongMean, alongVariance := c.bends(p.bounds)
			most := arith.Up(slices.Max(p.corners[:]) + arith.Up(alongMean+alongVariance))
			if most > arith.Up(c.best+c.tol) {
				most = min(most, c.openUp(p.bounds, c.by))
			}
			if most <= arith.Up(c.best+c.tol) || c.left <= 0 || c.best == arith.Inf {
				top = max(top, most)
				continue
			}
			low, high := c.halves(p, alongMean >= alongVariance)
			next = append(next, low, high)
		}
		open = next
	}
	return top
}

// halves cuts a piece across means, or across variances, as quotients of these bend.
func (c *climb) halves(p piece, acrossMeans bool) (low, high piece) {
	low, high = p, p
	if acrossMeans {
		mid := arith.Middle(p.mean.Lo, p.mean.Hi)
		low.mean.Hi, high.mean.Lo = mid, mid
		low.corners[2], low.corners[3] = c.at(mid, p.variance.Lo), c.at(mid, p.variance.Hi)
		high.corners[0], high.corners[1] = low.corners[2], low.corners[3]
		return low, high
	}
	mid := min(max(math.Sqrt(p.variance.Lo)*math.Sqrt(p.variance.Hi), p.variance.Lo), p.variance.Hi)
	low.variance.Hi, high.variance.Lo = mid, mid
	low.corners[1], low.corners[3] = c.at(p.mean.Lo, mid), c.at(p.mean.Hi, mid)
	high.corners[0], high.corners[2] = low.corners[1], low.corners[3]
	return low, high
}

// bends is by how much the surface within r may exceed the largest of the corners, along means (51a) and along
// variances (51b).
func (c *climb) bends(r bounds) (mean, variance float64) {
	if c.bendsDown() {
		mean = r.mean.Minus(arith.Exactly(r.mean.Lo)).Square().Over(arith.Exactly(r.variance.Lo)).Hi / 8
	}
	more := arith.Exactly(r.variance.Hi).Over(arith.Exactly(r.variance.Lo)).Minus(arith.Exactly(1)).Square()
	variance = more.Hi / 16
	if c.by.Variance > 0 {
		variance = arith.Up(variance + arith.Exactly(c.by.Variance).Times(arith.Exactly(r.variance.Hi)).Times(more).Hi/4)
	}
	return mean, variance
}

// everywhereUp is at least the height within r of log E e^(power - al t + b t^2/2), b v < 1: at its corners, as it is convex
// for b >= 0, and else more by (51f).
func everywhereUp(power, al, b float64, r bounds, by Plane) float64 {
	most := math.Inf(-1)
	for _, v := range []float64{r.variance.Lo, r.variance.Hi} {
		for _, mean := range []float64{r.mean.Lo, r.mean.Hi} {
			most = max(most, arith.Up(arith.Up(power+gauss.MomentUp(al, b, mean, v))+by.down(mean, v)))
		}
	}
	if b < 0 {
		wide := func(k arith.Interval) arith.Interval { return arith.Exactly(k.Hi).Minus(arith.Exactly(k.Lo)).Square() }
		slope := arith.Exactly(b).Times(r.mean).Minus(arith.Exactly(al)).Square()
		most = arith.Up(most + wide(r.mean).Plus(slope.Times(wide(r.variance))).Times(arith.Exactly(-b)).Hi/8)
	}
	return most
}

// relu is (51), Lam(al, b; ., .).
type relu struct{ al, b float64 }

func (s relu) valueUp(mean, v float64) float64 { return gauss.ReLUMomentUp(s.al, s.b, mean, v) }

func (s relu) bendsDown() bool { return s.al > 0 || s.b < 0 }

// openUp is by (51c): the part where W <= 0, which is most likely where mean/s is least, and the moment of W, which is
// convex, times the largest share that W > 0 has in it.
func (s relu) openUp(r bounds, by Plane) float64 {
	open, down := everywhereUp(0, s.al, s.b, r, by), math.Inf(-1)
	if !(open < arith.Inf) {
		return arith.Inf
	}
	for _, mean := range []float64{r.mean.Lo, r.mean.Hi} {
		down = max(down, by.down(mean, r.variance.Lo), by.down(mean, r.variance.Hi))
	}
	closed := gauss.TailUp(r.mean.Over(r.variance.Sqrt()).Lo)
	room := arith.Exactly(1).Minus(arith.Exactly(s.b).Times(r.variance))
	spread := r.variance.Times(room).Sqrt() // of all pairs, so it holds those that there are
	share := gauss.TailUp(r.mean.Minus(arith.Exactly(s.al).Times(r.variance)).Over(spread).Negated().Lo)
	top := max(open, down)
	return arith.Up(top + arith.LogUp(arith.Up(arith.Up(share*arith.ExpUp(arith.Up(open-top)))+arith.Up(closed*arith.ExpUp(arith.Up(down-top))))))
}
