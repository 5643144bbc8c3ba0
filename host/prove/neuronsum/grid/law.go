package grid

import (
	"math"

	"psafe/host/arith"
	"psafe/host/prove/probability"
)

// pointNeuron stands in for the value of a hidden neuron at a point of a grid: it is the number in
// value if constant, else low is stochastically below and high above the real variables of the
// proof but for the probability lost.
type pointNeuron struct {
	constant  bool
	value     arith.Interval
	low, high probability.Split
	lost      float64
}

// atPoint gives the stand-ins of neuron i at a point v of a grid, for s(t) = max(t, slope t):
//
//	high = s(t(v)),   low = the least of what the cells around v take for it:
//	t(v) if t > 0 at the cell's point c_K, else slope t(v)
//
// With u = t(v), the points c_K are v + d; d has two values in each axis with cells on both sides and
// one in the others. Let L be the least and M the greatest of t over them: low = u if u > 0 and L >
// 0, or if u <= 0 and M > 0, else slope u. So the law of low is that of u and of the probabilities
// that L <= 0 and that M > 0 given u (chance). One number for each bin of u that is no less than
// these probabilities moves low down only: it is u then with a probability that does not depend on
// u, and moving u to either end of its bin with its mean kept does that to low and high as well. In
// the bin that 0 is in they are rounded.
func (n *sums) atPoint(p *point, i int, all *sumBins, coarse int) pointNeuron {
	mean, sd := n.Preactivation(i, p.x)
	switch {
	case !mean.Finite() || !sd.Finite():
		return pointNeuron{lost: 1}
	case sd.Hi == 0:
		return n.atPointConstant(p, i, mean)
	}
	b := all.of(mean, sd, coarse)
	u := b.at(mean, sd)
	down, up := n.shares(p, i, u)
	h := pointNeuron{lost: b.beyond}
	var small probability.Split // the part of low that is slope u
	add := func(s *probability.Split, x, mass, square float64) {
		if mass < leastAtom {
			h.lost = arith.Up(h.lost + mass)
			return
		}
		s.Add(x, x, mass, square)
	}
	for k := range b.mass {
		square, flat := squareUp(u[k], u[k+1]), 0.0 // of u and of slope u
		if n.Slope != 0 {
			flat = arith.Up(arith.Up(n.Slope*n.Slope) * square)
		}
		whole := max(square, flat) // of high
		switch {
		case u[k+1].Hi <= 0 && n.Slope == 0:
			whole = 0
		case u[k].Lo < 0 && u[k+1].Hi > 0:
			below, over := b.around(k, mean, sd)
			least, most := n.slopeDown(u[k].Lo), n.slopeDown(u[k+1].Hi)
			add(&small, min(u[k].Lo, least, most, 0), arith.Up(below+over), 0)
			add(&h.high, max(0, n.Act.ValueUp(u[k].Lo), n.Act.ValueUp(u[k+1].Hi)), arith.Up(below+over), square)
			continue
		}
		for _, end := range []struct {
			u    arith.Interval
			mass float64
		}{{u[k], b.lower[k]}, {u[k+1], b.upper[k]}} {
			add(&h.low, end.u.Lo, arith.Up(end.mass*up[k]), square)
			add(&small, min(n.slopeDown(end.u.Lo), n.slopeDown(end.u.Hi)), arith.Up(end.mass*down[k]), flat)
			add(&h.high, max(n.Act.ValueUp(end.u.Lo), n.Act.ValueUp(end.u.Hi)), end.mass, whole)
		}
	}
	h.low.Append(&small)
	return h
}

// leastAtom is the mass of the lightest atoms that are carried along.
const leastAtom = 0x1p-66

// shares bounds, for each bin of u that 0 is not in, the probabilities that low is slope u and that
// it is u.
func (n *sums) shares(p *point, i int, u []arith.Interval) (down, up []float64) {
	last := len(u) - 1
	down, up = make([]float64, last), make([]float64, last)
	if n.Slope == 1 {
		for k := range up {
			up[k] = 1
		}
		return down, up
	}
	c := n.chance(p, i, false)
	for k := range down {
		if u[k].Lo >= 0 {
			down[k] = c.above(u[k].Lo)
			up[k] = min(1, arith.Up(1-down[k]))
		}
	}
	c = n.chance(p, i, true)
	for k := last - 1; k >= 0; k-- {
		if u[k+1].Hi <= 0 {
			up[k] = c.above(-u[k+1].Hi)
			down[k] = min(1, arith.Up(1-up[k]))
		}
	}
	return down, up
}

func (n *sums) slopeDown(x float64) float64 {
	if n.Slope == 0 {
		return 0
	}
	return arith.Down(n.Slope * x)
}

// atPointConstant is atPoint for a t(v) that is the same number in every draw, as all weights are
// that v looks at. If no weight is random, the signs at the points c_K are known; else the lower of t
// and slope t will do.
func (n *sums) atPointConstant(p *point, i int, mean arith.Interval) pointNeuron {
	value := arith.Of(n.Act.ValueDown(mean.Lo), n.Act.ValueUp(mean.Hi))
	least, most, random := mean, mean, false
	for j, at := range n.Hidden.Dense().Into(i) {
		w := arith.Exactly(n.Hidden.Weight.Mean[at])
		random = random || n.Hidden.Weight.SdHi[at] > 0
		x, y := w.Times(p.before[j]), w.Times(p.after[j])
		least = least.Plus(w.Times(p.beside[j])).Plus(arith.Of(min(x.Lo, y.Lo), min(x.Hi, y.Hi)))
		most = most.Plus(w.Times(p.beside[j])).Plus(arith.Of(max(x.Lo, y.Lo), max(x.Hi, y.Hi)))
	}
	if n.Slope == 1 || !random && (mean.Lo > 0 && least.Lo > 0 || mean.Hi <= 0 && most.Hi <= 0) {
		return pointNeuron{constant: true, value: value} // low is s(t(v)) as well
	}
	low := min(mean.Lo, n.slopeDown(mean.Lo))
	if !(low >= -math.MaxFloat64 && value.Hi <= math.MaxFloat64) {
		return pointNeuron{lost: 1}
	}
	var h pointNeuron
	h.low.Add(low, low, 1, 0)
	h.high.Add(value.Hi, value.Hi, 1, 0)
	return h
}
