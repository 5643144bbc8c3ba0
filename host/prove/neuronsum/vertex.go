package neuronsum

import (
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/prove/neuronsum/law"
	"psafe/host/prove/probability"
	"psafe/host/read/property"
)

// atVertex gives the stand-ins of neuron i at vertex v, for s(t) = max(t, slope t):
//
//	high = s(t(v)),   low = t(v) if t(centre) > 0, else slope t(v)
//
// a high for a < 0 because a s(t(x)) is then concave along every axis, hence at
// least the multilinear interpolation of its values at the vertices; a low for
// a >= 0 because low is, for each draw, an affine function of the vertex that
// stays below s.
//
// Narrow axes move t by at most the radius, which t(v) is lowered by where a >= 0 and
// raised by where a < 0: v and the centre have the same narrow coordinates, and the
// proof goes through with t - radius and t + radius for t.
func (n *Sum) atVertex(c *shape, v []float64, i int, z, rests []float64) hidden {
	centre, around := c.centre, c.around(v)
	h := n.whole(c, around, v, i, z)
	radius, _, _ := n.radius(c.narrow, around, v, i)
	mean, _ := n.net.Preactivation(i, v)
	meanC, sdC := n.net.Preactivation(i, centre)
	switch {
	case len(h.low.X) == 0 && !h.constant || !meanC.Finite() || !sdC.Finite():
		return hidden{}
	case n.net.Slope == 1 || h.constant && sdC.Hi == 0 && (meanC.Lo > 0 && arith.Down(mean.Lo-radius) >= 0 || meanC.Hi <= 0 && arith.Up(mean.Hi+radius) <= 0):
		return h // low is s(t(v)) as well
	}
	low, lost := n.lowAtVertex(n.net.Pair(centre, v, i), radius, rests)
	if low.X == nil {
		return hidden{}
	}
	if h.constant {
		h = hidden{high: probability.Atoms{X: []float64{arith.Up(h.value.Hi + h.within)}, P: []float64{1}}, lost: h.lost}
	}
	h.low, h.lost = low, arith.Up(h.lost+lost)
	return h
}

// around is the part of the cell where all but the narrow coordinates are those of v.
func (c *shape) around(v []float64) property.Box {
	b := property.Box{Lo: slices.Clone(v), Hi: slices.Clone(v)}
	for j, narrow := range c.narrow {
		if narrow {
			b.Lo[j], b.Hi[j] = c.cell.Lo[j], c.cell.Hi[j]
		}
	}
	return b
}

// lowNodes are the values that low at a vertex is rounded down to; any will do. Low is
// t(v) or slope t(v), so that both of every edge of a bin are among them, a little lower:
// roundings downwards (of the rest, the root of one) leave less than an edge, and must
// not cost the whole step to the next.
func (n *Sum) lowNodes(p law.Pair, radius float64) []float64 {
	edges := []float64{p.Mean.Lo}
	if p.Sd.Hi > 0 {
		edges = nodesOf(p.Mean, p.Sd, quantileGrid(2*n.q.nodes), true)
	}
	slack := radius + 0x1p-42*max(math.Abs(edges[0]), math.Abs(edges[len(edges)-1])) + 1e-140
	nodes := []float64{0}
	for _, x := range edges {
		nodes = append(nodes, x-slack)
		if n.net.Slope > 0 && n.net.Slope < 1 {
			nodes = append(nodes, n.net.Slope*(x-slack))
		}
	}
	return sorted(nodes)
}

// lowAtVertex is the distribution of low at a vertex, where t(v) is lowered by the radius,
// each value rounded down to one of the nodes: t(centre) is cut into bins, and in each
// the rest is rounded down too. Empty if something is not finite.
func (n *Sum) lowAtVertex(p law.Pair, radius float64, rests []float64) (low probability.Atoms, lost float64) {
	if !p.Slope.Finite() || !p.Rest.Finite() {
		return low, 1
	}
	e, lost := restAtoms(p.Rest, rests)
	nodes := n.lowNodes(p, radius)
	acc := placer{nodes: nodes, p: make([]float64, len(nodes))}
	if p.SdC.Hi == 0 {
		slope := n.net.Slope
		if p.MeanC.Lo > 0 {
			slope = 1
		}
		acc.add(slope, p.Mean.Minus(arith.Exactly(radius)).Lo, 1, e)
	} else {
		centre := law.Normal(p.MeanC, p.SdC)
		bins := nodesOf(p.MeanC, p.SdC, quantileGrid(2*n.q.nodes), true)
		for k, m := range centre.BinsUp(bins) {
			slope := n.net.Slope
			if bins[k] >= 0 {
				slope = 1
			}
			mean := arith.Of(bins[k], bins[k+1]).Minus(p.MeanC).Times(p.Slope).Plus(p.Mean).Minus(arith.Exactly(radius)).Lo
			acc.add(slope, mean, m, e)
		}
		lost = arith.Up(lost + beyond(centre, bins[0], bins[len(bins)-1]))
	}
	atoms, more := acc.atoms()
	return atoms, arith.Up(lost + more)
}

// restAtoms rounds a normal variable of mean 0 down to one of a few values.
func restAtoms(sd arith.Interval, z []float64) (e probability.Atoms, lost float64) {
	switch {
	case sd.Hi == 0:
		return probability.Atoms{X: []float64{0}, P: []float64{1}}, 0
	case sd.Lo == 0:
		return probability.Atoms{X: []float64{arith.Down(-law.Reach * sd.Hi)}, P: []float64{1}}, gauss.TailUp(law.Reach)
	}
	normal, nodes := law.Normal(arith.Interval{}, sd), nodesOf(arith.Interval{}, sd, z, false)
	e = probability.Atoms{X: nodes[:len(nodes)-1], P: normal.BinsUp(nodes)}
	return e, arith.Up(normal.BelowUp(nodes[0]) + normal.AboveUp(nodes[len(nodes)-1]))
}

// placer adds masses at the nodes below given values.
type placer struct {
	nodes, p []float64
	lost     float64
	terms    int
	at       int
}

// add places slope (mean + e) with the mass m of the bin times that of e, e
// ascending and slope >= 0.
func (a *placer) add(slope, mean, m float64, e probability.Atoms) {
	a.terms += len(e.X)
	if slope == 0 {
		e = probability.Atoms{X: []float64{0}, P: []float64{1}}
	}
	for k, x := range e.X {
		q := 0.0
		if slope > 0 {
			q = arith.Down(mean + x)
			if slope != 1 {
				q = arith.Down(slope * q)
			}
		}
		if !(q >= a.nodes[0]) {
			a.lost += m * e.P[k]
			continue
		}
		for a.at+1 < len(a.nodes) && a.nodes[a.at+1] <= q {
			a.at++
		}
		for a.nodes[a.at] > q {
			a.at--
		}
		a.p[a.at] += float64(m * e.P[k])
	}
}

// atoms returns what was placed; the roundings of at most terms additions and
// one product each are made good. Atoms of no weight are lost.
func (a *placer) atoms() (probability.Atoms, float64) {
	grow := 1 + float64(a.terms+4)*0x1p-51
	var out probability.Atoms
	for k, p := range a.p {
		if p < 0x1p-60 {
			a.lost += p
			continue
		}
		out.X, out.P = append(out.X, a.nodes[k]), append(out.P, float64(p*grow))
	}
	return out, float64(a.lost*grow*(1+0x1p-30)) + 0x1p-1000
}
