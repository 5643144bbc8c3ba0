package moments

import (
	"math"

	"psafe/host/arith"
)

// bounds are those of the mean and the variance of a neuron.
type bounds struct{ mean, variance arith.Interval }

// Plane has slopes by the mean and by the variance of a neuron.
type Plane struct{ Mean, Variance float64 }

// surface is the logarithm of a moment, over the mean and the variance of a neuron.
type surface interface {
	// valueUp is at least it at a point.
	valueUp(mean, v float64) float64
	// openUp is at least how far it is above a plane anywhere within r, by its parts; it is infinite where they say nothing.
	openUp(r bounds, by Plane) float64
	// bendsDown says that it may do so along means.
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
	return c.over(r, [4]float64{c.at(r.mean.Lo, r.variance.Lo), c.at(r.mean.Lo, r.variance.Hi), c.at(r.mean.Hi, r.variance.Lo), c.at(r.mean.Hi, r.variance.Hi)})
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

// over is at least the height anywhere within r, of which the corners are known: mean first. Where halves would say
// more, the side is halved along which the surface may bend most.
func (c *climb) over(r bounds, corners [4]float64) float64 {
	alongMean, alongVariance := c.bends(r)
	enough := arith.Up(c.best + c.tol)
	top := arith.Up(max(corners[0], corners[1], corners[2], corners[3]) + arith.Up(alongMean+alongVariance))
	if top > enough {
		top = min(top, c.openUp(r, c.by))
	}
	if top <= enough || c.left <= 0 || c.best == arith.Inf {
		return top
	}
	low, high, lowAt, highAt := r, r, corners, corners
	if alongMean >= alongVariance {
		mid := arith.Middle(r.mean.Lo, r.mean.Hi)
		low.mean.Hi, high.mean.Lo = mid, mid
		lowAt[2], lowAt[3] = c.at(mid, r.variance.Lo), c.at(mid, r.variance.Hi)
		highAt[0], highAt[1] = lowAt[2], lowAt[3]
	} else {
		mid := arith.Middle(r.variance.Lo, r.variance.Hi)
		low.variance.Hi, high.variance.Lo = mid, mid
		lowAt[1], lowAt[3] = c.at(r.mean.Lo, mid), c.at(r.mean.Hi, mid)
		highAt[0], highAt[2] = lowAt[1], lowAt[3]
	}
	return max(c.over(low, lowAt), c.over(high, highAt))
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

// everywhereUp is at least the height at the corners of r, and so within r, of log E e^(power - al t + b t^2/2) with
// 0 <= b v < 1, which is convex: infinite where it is none.
func everywhereUp(power, al, b float64, r bounds, by Plane) float64 {
	most := math.Inf(-1)
	for _, v := range []float64{r.variance.Lo, r.variance.Hi} {
		room := arith.Exactly(1).Minus(arith.Exactly(b).Times(arith.Exactly(v)))
		if !(b >= 0 && room.Lo > 0) {
			return arith.Inf
		}
		root := 0.0 // of 1 - b v, the logarithm, negated
		if b > 0 {
			root = logUp(arith.Exactly(1).Over(room.Sqrt()).Hi)
		}
		for _, mean := range []float64{r.mean.Lo, r.mean.Hi} {
			most = max(most, arith.Up(arith.Up(power+powerUp(al, b, mean, v))+arith.Up(root+by.down(mean, v))))
		}
	}
	return most
}

// relu is (51), Lam(al, b; ., .).
type relu struct{ al, b float64 }

func (s relu) valueUp(mean, v float64) float64 { return valueUp(s.al, s.b, mean, v) }

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
	closed := tailOf(r.mean.Over(r.variance.Sqrt()).Lo)
	room := arith.Exactly(1).Minus(arith.Exactly(s.b).Times(r.variance))
	spread := r.variance.Times(room).Sqrt() // of all pairs, so it holds those that there are
	share := tailOf(r.mean.Minus(arith.Exactly(s.al).Times(r.variance)).Over(spread).Negated().Lo)
	top := max(open, down)
	return arith.Up(top + logUp(arith.Up(arith.Up(share*expUp(open-top))+arith.Up(closed*expUp(down-top)))))
}

// tailOf is at least Q(z), and at least e^-700.
func tailOf(z float64) float64 {
	if z >= centre {
		return arith.Up(min(1/z, 1) * expUp(-z*z/2*(1-0x1p-50))) // Q(z) < phi(z)/z
	}
	return tailUp(z)
}
