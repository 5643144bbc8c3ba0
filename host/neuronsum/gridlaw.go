package neuronsum

import (
	"math"

	"psafe/host/measure"
	"psafe/host/property"
)

// atPoint gives the stand-ins of neuron i at a point v of a grid, for s(t) = max(t, slope t):
//
//	high = s(t(v)),   low = the least of what the cells around v take for it:
//	t(v) if t > 0 at the cell's middle, else slope t(v)
//
// With u = t(v), the middles are v + d; d has two values in each axis with cells on both sides and
// one in the others. Let L be the least and M the greatest of t over them: low = u if u > 0 and L > 0,
// or if u <= 0 and M > 0, else slope u. So the law of low is that of u and of the probabilities that
// L <= 0 and that M > 0 given u (chance), of which upper bounds move low down only: bins of u are cut as
// for whole, all of a bin is put at its lower end, and the share that the bound of the probability says
// at slope times the lower end (u > 0), or the rest of it (u <= 0).
func (n *Sum) atPoint(p *gridPoint, i int, z []float64) hidden {
	cell := property.Box{Lo: p.x, Hi: p.x}
	h := n.whole(&shape{cell: cell, centre: p.x, narrow: make([]bool, len(p.x))}, cell, p.x, i, z)
	mean, sd := n.preactivation(i, p.x)
	switch {
	case len(h.low.X) == 0 && !h.constant || n.slope == 1:
		return h
	case h.constant:
		return n.atPointConstant(p, i, h, mean)
	}
	nodes, normal := nodesOf(mean, sd, z, true), asNormal(mean, sd)
	masses, last := normal.BinsUp(nodes), len(nodes)-1
	down, up := make([]float64, last), make([]float64, last) // the shares of slope t and of t
	c := n.chance(p, i, false)
	for k := range masses {
		if nodes[k] >= 0 {
			down[k] = c.above(nodes[k])
			up[k] = min(1, above(1-down[k]))
		}
	}
	c = n.chance(p, i, true)
	for k := last - 1; k >= 0; k-- {
		if nodes[k] < 0 {
			up[k] = c.above(-nodes[k+1])
			down[k] = min(1, above(1-up[k]))
		}
	}
	low, lost := n.placeLow(nodes, masses, up, down)
	h.low, h.lost = low, above(h.lost+lost)
	return h
}

// placeLow puts, of each bin's mass, the share up at the bin's lower end and the share down at slope
// times that.
func (n *Sum) placeLow(nodes, masses, up, down []float64) (measure.Atoms, float64) {
	values := []float64{0}
	for _, x := range nodes {
		values = append(values, x, n.slopeDown(x))
	}
	a := placer{nodes: sorted(values)}
	a.p = make([]float64, len(a.nodes))
	for k, m := range masses {
		a.put(nodes[k], m*up[k])
		a.put(n.slopeDown(nodes[k]), m*down[k])
	}
	return a.atoms()
}

func (n *Sum) slopeDown(x float64) float64 {
	if n.slope == 0 {
		return 0
	}
	return below(n.slope * x)
}

// put adds the mass m at the node q or the next below.
func (a *placer) put(q, m float64) {
	a.terms++
	for a.at+1 < len(a.nodes) && a.nodes[a.at+1] <= q {
		a.at++
	}
	for a.at > 0 && a.nodes[a.at] > q {
		a.at--
	}
	if a.nodes[a.at] > q {
		a.lost += m
		return
	}
	a.p[a.at] += float64(m)
}

// atPointConstant is atPoint for a t(v) that is the same number in every draw, as all weights
// are that v looks at. If no weight is random, the signs at the middles are known; else the lower of t
// and slope t will do.
func (n *Sum) atPointConstant(p *gridPoint, i int, h hidden, mean ival) hidden {
	least, most, random := mean, mean, false
	for j, at := range n.hidden.Dense().Into(i) {
		w := exactly(n.hidden.Weight.Mean[at])
		random = random || n.hidden.Weight.SdHi[at] > 0
		x, y := w.times(p.before[j]), w.times(p.after[j])
		least = least.plus(w.times(p.beside[j])).plus(ival{min(x.lo, y.lo), min(x.hi, y.hi)})
		most = most.plus(w.times(p.beside[j])).plus(ival{max(x.lo, y.lo), max(x.hi, y.hi)})
	}
	if !random && (mean.lo > 0 && least.lo > 0 || mean.hi <= 0 && most.hi <= 0) {
		return h // low is s(t(v)) as well
	}
	one := []float64{1}
	low := min(mean.lo, n.slopeDown(mean.lo))
	if !(low >= -math.MaxFloat64) {
		return hidden{}
	}
	return hidden{low: measure.Atoms{X: []float64{low}, P: one}, high: measure.Atoms{X: []float64{h.value.hi}, P: one}, lost: h.lost}
}
