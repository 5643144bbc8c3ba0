package moments

import (
	"math"

	"psafe/host/arith"
)

// bounds are those of the mean and the variance of a neuron.
type bounds struct{ mean, variance arith.Interval }

// Plane has slopes by the mean and by the variance of a neuron.
type Plane struct{ Mean, Variance float64 }

// climb looks for how far a surface is above a plane.
type climb struct {
	al, b float64
	by    Plane
	// best is the highest that was seen, tol how near to it the answer has to be, left how many more values
	// may be taken.
	best, tol float64
	left      int
}

// coarse is at how many means and variances a climb looks first, and mostValues how many values it takes.
const coarse, mostValues = 5, 1 << 16

// heightUp is at least Lam(al, b; mean, v) - by.Mean mean - by.Variance v for all means and variances within the
// bounds, and not much more than the largest value.
func (r bounds) heightUp(al, b float64, by Plane, tol float64) float64 {
	if !(r.mean.Finite() && r.variance.Finite() && r.variance.Lo > 0) {
		return arith.Inf
	}
	c := &climb{al: al, b: b, by: by, best: math.Inf(-1), tol: tol, left: mostValues}
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
	return c.over(r, [4]corner{c.at(r.mean.Lo, r.variance.Lo), c.at(r.mean.Lo, r.variance.Hi), c.at(r.mean.Hi, r.variance.Lo), c.at(r.mean.Hi, r.variance.Hi)})
}

// corner is a point: how high the surface is above the plane, how high it would be if W stood for max(W, 0), and the
// plane negated, all from above.
type corner struct{ high, open, plane float64 }

// highest is the largest of a number of the corners.
func highest(corners [4]corner, of func(corner) float64) float64 {
	most := math.Inf(-1)
	for _, k := range corners {
		most = max(most, of(k))
	}
	return most
}

// at looks at a point.
func (c *climb) at(mean, v float64) corner {
	c.left--
	plane := arith.Exactly(-c.by.Mean).Times(arith.Exactly(mean)).Minus(arith.Exactly(c.by.Variance).Times(arith.Exactly(v))).Hi
	k := corner{high: arith.Up(valueUp(c.al, c.b, mean, v) + plane), open: arith.Inf, plane: plane}
	if !(k.high < arith.Inf) {
		k.high = arith.Inf
	}
	c.best = max(c.best, k.high)
	if room := arith.Exactly(1).Minus(arith.Exactly(c.b).Times(arith.Exactly(v))); c.b >= 0 && room.Lo > 0 {
		k.open = arith.Up(arith.Up(powerUp(c.al, c.b, mean, v)+plane) + logUp(arith.Exactly(1).Over(room.Sqrt()).Hi))
	}
	return k
}

// over is at least the height anywhere within r, of which the corners are known: mean first. Where halves would say
// more, the side is halved along which the surface may bend most.
func (c *climb) over(r bounds, corners [4]corner) float64 {
	alongMean, alongVariance := c.bends(r)
	enough := arith.Up(c.best + c.tol)
	top := arith.Up(highest(corners, func(k corner) float64 { return k.high }) + arith.Up(alongMean+alongVariance))
	if top > enough {
		top = min(top, c.openUp(r, corners))
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

// openUp is at least the height within r by (51c): of the part where W <= 0, which is most likely where mean/s is least,
// and of the moment of W, which is convex, times the largest share that W > 0 has in it.
func (c *climb) openUp(r bounds, corners [4]corner) float64 {
	open, down := highest(corners, func(k corner) float64 { return k.open }), highest(corners, func(k corner) float64 { return k.plane })
	room := arith.Exactly(1).Minus(arith.Exactly(c.b).Times(r.variance))
	if !(open < arith.Inf) || !(room.Lo > 0) {
		return arith.Inf
	}
	closed := tailOf(r.mean.Over(r.variance.Sqrt()).Lo)
	spread := r.variance.Times(room).Sqrt() // of all pairs, so it holds those that there are
	share := tailOf(r.mean.Minus(arith.Exactly(c.al).Times(r.variance)).Over(spread).Negated().Lo)
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

// bends is by how much the surface within r may exceed the largest of the corners, along means (51a) and along
// variances (51b).
func (c *climb) bends(r bounds) (mean, variance float64) {
	if c.al > 0 || c.b < 0 { // else the surface is convex along means
		mean = r.mean.Minus(arith.Exactly(r.mean.Lo)).Square().Over(arith.Exactly(r.variance.Lo)).Hi / 8
	}
	more := arith.Exactly(r.variance.Hi).Over(arith.Exactly(r.variance.Lo)).Minus(arith.Exactly(1)).Square()
	variance = more.Hi / 16
	if c.by.Variance > 0 {
		variance = arith.Up(variance + arith.Exactly(c.by.Variance).Times(arith.Exactly(r.variance.Hi)).Times(more).Hi/4)
	}
	return mean, variance
}

// certainUp is at least Lam(al, b; mean, 0) = -al z + b z^2/2, z = max(mean, 0).
func (r bounds) certainUp(al, b float64) float64 {
	z := arith.Of(max(0, r.mean.Lo), max(0, r.mean.Hi))
	return arith.Exactly(-al).Times(z).Plus(arith.Exactly(b / 2).Times(z.Square())).Hi
}
