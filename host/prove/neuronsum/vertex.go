package neuronsum

import (
	"math"
	"slices"

	"psafe/host/prove/measure"
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
	mean, _ := n.preactivation(i, v)
	meanC, sdC := n.preactivation(i, centre)
	switch {
	case len(h.low.X) == 0 && !h.constant || !meanC.finite() || !sdC.finite():
		return hidden{}
	case n.slope == 1 || h.constant && sdC.hi == 0 && (meanC.lo > 0 && below(mean.lo-radius) >= 0 || meanC.hi <= 0 && above(mean.hi+radius) <= 0):
		return h // low is s(t(v)) as well
	}
	low, lost := n.lowAtVertex(n.pair(centre, v, i), radius, rests)
	if low.X == nil {
		return hidden{}
	}
	if h.constant {
		h = hidden{high: measure.Atoms{X: []float64{above(h.value.hi + h.within)}, P: []float64{1}}, lost: h.lost}
	}
	h.low, h.lost = low, above(h.lost+lost)
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

// pair describes t(v) given t(centre) = c: normal with mean
// mean + slope (c - meanC) and the standard deviation rest.
type pair struct {
	mean, sd, meanC, sdC, slope, rest ival
}

// pair uses Lagrange's identity for the rest's variance, so that nothing
// cancels: with the weights' variances s_p^2 and a last coordinate 1 for the bias,
//
//	Var t(v) - Cov^2/Var t(c) = sum_(p<q) s_p^2 s_q^2 (c_p v_q - c_q v_p)^2 / Var t(c)
func (n *Sum) pair(centre, v []float64, i int) pair {
	var p pair
	p.mean, p.sd = n.preactivation(i, v)
	p.meanC, p.sdC = n.preactivation(i, centre)
	if p.sdC.hi == 0 {
		p.rest = p.sd // t(centre) is a constant
		return p
	}
	variance := make([]ival, len(v)+1)
	c, x := append(centre[:len(v):len(v)], 1), append(v[:len(v):len(v)], 1)
	for j, at := range n.hidden.Dense().Into(i) {
		variance[j] = ival{n.hidden.Weight.SdLo[at], n.hidden.Weight.SdHi[at]}.square()
	}
	variance[len(v)] = ival{n.hidden.Bias.SdLo[i], n.hidden.Bias.SdHi[i]}.square()
	var cov, rest ival
	for j, s := range variance {
		cov = cov.plus(s.times(exactly(c[j]).times(exactly(x[j]))))
		for k := range j {
			minor := exactly(c[j]).times(exactly(x[k])).minus(exactly(c[k]).times(exactly(x[j])))
			rest = rest.plus(s.times(variance[k]).times(minor.square()))
		}
	}
	square := p.sdC.square()
	p.slope, p.rest = cov.over(square), rest.over(square).sqrt()
	return p
}

// lowNodes are the values that low at a vertex is rounded down to; any will do. Low is
// t(v) or slope t(v), so that both of every edge of a bin are among them, a little lower:
// roundings downwards (of the rest, the root of one) leave less than an edge, and must
// not cost the whole step to the next.
func (n *Sum) lowNodes(p pair, radius float64) []float64 {
	edges := []float64{p.mean.lo}
	if p.sd.hi > 0 {
		edges = nodesOf(p.mean, p.sd, quantileGrid(2*n.q.nodes), true)
	}
	slack := radius + 0x1p-42*max(math.Abs(edges[0]), math.Abs(edges[len(edges)-1])) + 1e-140
	nodes := []float64{0}
	for _, x := range edges {
		nodes = append(nodes, x-slack)
		if n.slope > 0 && n.slope < 1 {
			nodes = append(nodes, n.slope*(x-slack))
		}
	}
	return sorted(nodes)
}

// lowAtVertex is the distribution of low at a vertex, where t(v) is lowered by the radius,
// each value rounded down to one of the nodes: t(centre) is cut into bins, and in each
// the rest is rounded down too. Empty if something is not finite.
func (n *Sum) lowAtVertex(p pair, radius float64, rests []float64) (low measure.Atoms, lost float64) {
	if !p.slope.finite() || !p.rest.finite() {
		return low, 1
	}
	e, lost := restAtoms(p.rest, rests)
	nodes := n.lowNodes(p, radius)
	acc := placer{nodes: nodes, p: make([]float64, len(nodes))}
	if p.sdC.hi == 0 {
		slope := n.slope
		if p.meanC.lo > 0 {
			slope = 1
		}
		acc.add(slope, p.mean.minus(exactly(radius)).lo, 1, e)
	} else {
		centre := asNormal(p.meanC, p.sdC)
		bins := nodesOf(p.meanC, p.sdC, quantileGrid(2*n.q.nodes), true)
		for k, m := range centre.BinsUp(bins) {
			slope := n.slope
			if bins[k] >= 0 {
				slope = 1
			}
			mean := ival{bins[k], bins[k+1]}.minus(p.meanC).times(p.slope).plus(p.mean).minus(exactly(radius)).lo
			acc.add(slope, mean, m, e)
		}
		lost = above(lost + beyond(centre, bins[0], bins[len(bins)-1]))
	}
	atoms, more := acc.atoms()
	return atoms, above(lost + more)
}

// restAtoms rounds a normal variable of mean 0 down to one of a few values.
func restAtoms(sd ival, z []float64) (e measure.Atoms, lost float64) {
	switch {
	case sd.hi == 0:
		return measure.Atoms{X: []float64{0}, P: []float64{1}}, 0
	case sd.lo == 0:
		return measure.Atoms{X: []float64{below(-reach * sd.hi)}, P: []float64{1}}, measure.TailUp(reach)
	}
	normal, nodes := asNormal(ival{}, sd), nodesOf(ival{}, sd, z, false)
	e = measure.Atoms{X: nodes[:len(nodes)-1], P: normal.BinsUp(nodes)}
	return e, above(normal.BelowUp(nodes[0]) + normal.AboveUp(nodes[len(nodes)-1]))
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
func (a *placer) add(slope, mean, m float64, e measure.Atoms) {
	a.terms += len(e.X)
	if slope == 0 {
		e = measure.Atoms{X: []float64{0}, P: []float64{1}}
	}
	for k, x := range e.X {
		q := 0.0
		if slope > 0 {
			q = below(mean + x)
			if slope != 1 {
				q = below(slope * q)
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
func (a *placer) atoms() (measure.Atoms, float64) {
	grow := 1 + float64(a.terms+4)*0x1p-51
	var out measure.Atoms
	for k, p := range a.p {
		if p < 0x1p-60 {
			a.lost += p
			continue
		}
		out.X, out.P = append(out.X, a.nodes[k]), append(out.P, float64(p*grow))
	}
	return out, float64(a.lost*grow*(1+0x1p-30)) + 0x1p-1000
}
