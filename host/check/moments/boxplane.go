package moments

import (
	"math"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/check/law"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

func (f *response) bendsDown() bool { return !f.convex }

// openUp is by (51e): for each stretch the largest height of the moment that it would have everywhere, and the largest
// share that it has of it.
func (f *response) openUp(r bounds, by Plane) float64 {
	top, sum := math.Inf(-1), 0.0
	heights, shares := make([]float64, len(f.parts)), make([]float64, len(f.parts))
	for i := range f.parts {
		s := &f.parts[i]
		y0, y1, _ := s.ends(r)
		if math.IsNaN(y0) || math.IsNaN(y1) {
			return arith.Inf
		}
		heights[i], shares[i] = everywhereUp(s.power, -s.slope, s.bend, r, by), min(gauss.TailUp(y0), gauss.TailUp(-y1))
		if !(heights[i] < arith.Inf) {
			return arith.Inf
		}
		top = max(top, heights[i])
	}
	for i := range heights {
		sum = arith.Up(sum + arith.Up(shares[i]*arith.ExpUp(arith.Up(heights[i]-top))))
	}
	return arith.Up(top + arith.LogUp(sum))
}

// momentUp bounds the logarithm of a response's moment for a neuron whose mean and variance are known up to rounding.
func (f *response) momentUp(n bounds) float64 {
	if n.variance.Hi > 0 {
		return n.heightUp(f, Plane{}, arith.Inf)
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
	of, square := m.lastLayer(row), arith.Exactly(h).Square()
	a, s := make([]float64, len(of.mean)), make([]float64, len(of.mean))
	for j := range a {
		a[j], s[j] = of.mean[j].Lo, of.variance[j].Hi
	}
	d := m.difference(a, s, by)
	var power arith.Sum
	power.Add(-h, of.constant)
	power.Plus(square.Times(of.own).Times(arith.Exactly(0.5)).Hi)
	power.Add(h, arith.SumUp(d.loss, arith.Up(law.NoiseQuantileUp(by.Budget, hidden)*rootOf(d.variance))))
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
		power.Plus(m.neurons[1][j].heightUp(&f, p, fine/float64(len(by.Planes))))
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
