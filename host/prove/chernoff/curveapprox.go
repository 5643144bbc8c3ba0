package chernoff

import (
	"math"
	"slices"

	"psafe/host/arith"
)

// The search with activations other than ReLU. No bound rests on anything here.

const (
	// nodes are how many places quadrature looks at, from -nodesTo deviations from a middle on to nodesTo; the middle
	// is the mean, and moves mostMoved times where most is further out.
	nodes, nodesTo, mostMoved = 31, 9.0, 20
	// widely are how many deviations are between places where a mode is looked for.
	widely = 2.5
)

// tiltApprox is about one neuron of the layer, by quadrature where it has no ReLU.
func (l *layer) tiltApprox(al, b, mean, v float64) tilt {
	if l.relu {
		return tiltApprox(al, b, mean, v)
	}
	if v <= 0 {
		z := l.act.Approx(mean)
		return tilt{log: -al*z + b*z*z/2, first: z, second: z * z}
	}
	if below, kinked := l.act.Kinked(); kinked {
		t := kinkedCurve(below, arith.Exactly(al), b).tiltApprox(mean, v)
		first := mean + v*t.byMean // of the pre-activation, and of its square
		second := v*(2*v*t.byVar+1) + mean*(2*first-mean)
		t.first, t.second = t.first+below*(first-t.first), t.second+below*below*(second-t.second)
		return t
	}
	if b*v >= 1 && math.IsInf(l.act.SizeUp(math.Inf(1)), 1) {
		return tilt{log: math.Inf(1)}
	}
	var powers, values, places [nodes]float64
	s, most, middle, moved := math.Sqrt(v), math.Inf(-1), 0.0, 0
	for i := range powers { // there may be two modes
		x := widely * (float64(i) - (nodes-1)/2)
		z := l.act.Approx(mean + s*x)
		if power := -al*z + b*z*z/2 - x*x/2; power > most {
			most, middle = power, x
		}
	}
	for ; ; moved++ {
		most = math.Inf(-1)
		for i := range powers {
			x := middle + nodesTo*(2*float64(i)/(nodes-1)-1)
			z := l.act.Approx(mean + s*x)
			powers[i], values[i], places[i] = -al*z+b*z*z/2-x*x/2, z, x
			most = max(most, powers[i])
		}
		if math.IsNaN(most) || moved > mostMoved {
			return tilt{log: math.Inf(1)} // it is infinite, or next to that
		}
		at := places[slices.Index(powers[:], most)]
		if math.Abs(at-middle) <= nodesTo/3 {
			break
		}
		middle = at
	}
	var t tilt
	sum, first, second := 0.0, 0.0, 0.0
	for i, power := range powers {
		x, w := places[i], math.Exp(power-most)
		sum, first, second = sum+w, first+w*x, second+w*x*x
		t.first, t.second = t.first+w*values[i], t.second+w*values[i]*values[i]
	}
	const step = 2 * nodesTo / (nodes - 1)
	t.log, t.first, t.second = most+math.Log(sum*step/math.Sqrt(2*math.Pi)), t.first/sum, t.second/sum
	t.byMean = first / sum / s
	t.byVar = (second/sum - 1) / (2 * v)
	return t
}

// mostApprox is about the largest output of a neuron whose pre-activation has its mean in r.
func (l *layer) mostApprox(r rect) float64 {
	if l.relu {
		return max(0, r.meanHi)
	}
	return max(math.Abs(l.act.Approx(r.meanLo)), math.Abs(l.act.Approx(r.meanHi)))
}

// timesApprox is about h times numbers.
func timesApprox(h float64, list []float64) []float64 {
	list = slices.Clone(list)
	for i := range list {
		list[i] *= h
	}
	return list
}
