package moments

import (
	"math"

	"psafe/host/arith"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// ascent looks for how far the logarithm of a response's moment is above a plane, as climb does for (51).
type ascent struct {
	*response
	by        Plane
	best, tol float64
	left      int
}

// heightUp is at least the height for all means and variances within the bounds, and not much more than the largest.
func (f *response) heightUp(r bounds, by Plane, tol float64) float64 {
	if !(r.mean.Finite() && r.variance.Finite() && r.variance.Lo > 0) {
		return arith.Inf
	}
	c := &ascent{response: f, by: by, best: math.Inf(-1), tol: tol, left: mostValues}
	if tol < arith.Inf {
		for i := range coarse {
			for j := range coarse {
				mean, v := r.mean.Lo+(r.mean.Hi-r.mean.Lo)*float64(i)/(coarse-1), r.variance.Lo+(r.variance.Hi-r.variance.Lo)*float64(j)/(coarse-1)
				c.at(min(max(mean, r.mean.Lo), r.mean.Hi), min(max(v, r.variance.Lo), r.variance.Hi))
			}
		}
	}
	return c.over(r, [4]float64{c.at(r.mean.Lo, r.variance.Lo), c.at(r.mean.Lo, r.variance.Hi), c.at(r.mean.Hi, r.variance.Lo), c.at(r.mean.Hi, r.variance.Hi)})
}

// plane is the plane at a point, negated, from above.
func (c *ascent) plane(mean, v float64) float64 {
	return arith.Exactly(-c.by.Mean).Times(arith.Exactly(mean)).Minus(arith.Exactly(c.by.Variance).Times(arith.Exactly(v))).Hi
}

// at is the height at a point.
func (c *ascent) at(mean, v float64) float64 {
	c.left--
	h := arith.Up(c.valueUp(mean, v) + c.plane(mean, v))
	if !(h < arith.Inf) {
		h = arith.Inf
	}
	c.best = max(c.best, h)
	return h
}

// over is at least the height anywhere within r, of which the corners are known: mean first.
func (c *ascent) over(r bounds, corners [4]float64) float64 {
	alongMean, alongVariance := c.bends(r)
	enough := arith.Up(c.best + c.tol)
	top := arith.Up(max(corners[0], corners[1], corners[2], corners[3]) + arith.Up(alongMean+alongVariance))
	if top > enough {
		top = min(top, c.openUp(r))
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

// openUp is at least the height within r by (51e): for each stretch the largest height of the moment that it would have
// everywhere, which is at a corner, and the largest share that it has of it.
func (c *ascent) openUp(r bounds) float64 {
	top, sum := math.Inf(-1), 0.0
	heights, shares := make([]float64, len(c.parts)), make([]float64, len(c.parts))
	for i := range c.parts {
		s := &c.parts[i]
		y0, y1, _ := s.ends(r)
		if s.bend < 0 || math.IsNaN(y0) || math.IsNaN(y1) {
			return arith.Inf
		}
		heights[i] = math.Inf(-1)
		for _, v := range []float64{r.variance.Lo, r.variance.Hi} {
			root := 0.0 // of 1 - b v, the logarithm, negated
			if s.bend > 0 {
				root = logUp(arith.Exactly(1).Over(arith.Exactly(1).Minus(arith.Exactly(s.bend).Times(arith.Exactly(v))).Sqrt()).Hi)
			}
			for _, mean := range []float64{r.mean.Lo, r.mean.Hi} {
				heights[i] = max(heights[i], arith.Up(arith.Up(s.power+powerUp(-s.slope, s.bend, mean, v))+arith.Up(root+c.plane(mean, v))))
			}
		}
		shares[i] = min(tailOf(y0), tailOf(-y1))
		if !(heights[i] < arith.Inf) {
			return arith.Inf
		}
		top = max(top, heights[i])
	}
	for i := range heights {
		sum = arith.Up(sum + arith.Up(shares[i]*expUp(heights[i]-top)))
	}
	return arith.Up(top + logUp(sum))
}

// bends is that of climb; a response whose logarithm is convex does not bend down along means.
func (c *ascent) bends(r bounds) (mean, variance float64) {
	like := climb{al: 1, by: c.by}
	if mean, variance = like.bends(r); c.convex {
		mean = 0
	}
	return mean, variance
}

// momentUp bounds the logarithm of a response's moment for a neuron whose mean and variance are known up to rounding.
func (f *response) momentUp(n bounds) float64 {
	if n.variance.Hi > 0 {
		return f.heightUp(n, Plane{}, arith.Inf)
	}
	return f.certainUp(n.mean)
}

// share is the part of a difference that goes through neuron i of hidden layer k.
func (m *moving) share(by Row, k, i int) float64 {
	if k > 0 {
		i += m.layers[0].Outputs()
	}
	return float64(by.Shares[i]) / shareUnits
}

// boxTailLogUp bounds the logarithm of the probability that the row is <= 0 somewhere in the box, while all that is
// stated holds and the row's difference is no less than its budget allows (53).
func (m *moving) boxTailLogUp(row *property.Row, by Row) float64 {
	h, hidden := by.Rate, len(m.layers)-1
	a, s, beside := lastLayer(&m.layers[hidden], row, h)
	d := m.difference(a, s, by)
	var power arith.Sum
	power.Plus(beside)
	power.Add(h, arith.SumUp(d.loss, arith.Up(quantile(by.Budget, hidden)*rootOf(d.variance))))
	square := arith.Exactly(h).Square()
	respond := func(j int) response {
		return responseOf(h, a[j], m.share(by, hidden-1, j), m.reach[hidden-1][j], nil, square.Times(arith.Exactly(s[j])))
	}
	if hidden == 1 {
		for j, n := range m.neurons[0] {
			f := respond(j)
			power.Plus(f.momentUp(n))
		}
		return power.Hi()
	}
	l := &m.layers[1]
	for j, p := range by.Planes {
		f := respond(j)
		power.Plus(f.heightUp(m.neurons[1][j], p, fine/float64(len(by.Planes))))
		power.Add(p.Mean, l.Bias.Mean[j])
		power.Plus(arith.Exactly(p.Variance).Times(variance(&l.Bias, j)).Hi)
	}
	for i, n := range m.neurons[0] {
		base := baseOf(l, i, by.Planes)
		f := responseOf(h, d.carried[i], m.share(by, 0, i), m.reach[0][i], &base, arith.Interval{})
		power.Plus(f.momentUp(n))
	}
	return power.Hi()
}

// baseOf is the exponent of output i of the first layer that planes over the second leave.
func baseOf(l *posterior.Layer, i int, planes []Plane) stretch {
	var mean, v arith.Sum
	for j, p := range planes {
		at := i*len(planes) + j
		mean.Add(p.Mean, l.Weight.Mean[at])
		v.Add(p.Variance, weightEnd(l, at, p.Variance))
	}
	return stretch{slope: mean.Hi(), bend: 2 * v.Hi()}
}
