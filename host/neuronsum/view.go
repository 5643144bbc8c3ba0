package neuronsum

import (
	"math"

	"psafe/host/measure"
	"psafe/host/property"
)

// vertex has, for every hidden neuron, what stands in for its value.
type vertex []hidden

// hidden stands in for the value s(t) of one hidden neuron: with probability at
// most lost nothing is known, else low is stochastically below and high above
// the real variables of the proof. constant: the value itself is the same number,
// in value, in every draw.
type hidden struct {
	constant  bool
	value     ival
	low, high measure.Atoms
	lost      float64
}

// maxVertices bounds the vertices of a cell that are looked at one by one.
const maxVertices = 64

// view lists vertices such that a row that fails somewhere in the cell fails for
// the stand-ins of one of them at least; nil if there is no way.
//
// For a piecewise linear activation they are the vertices of the cell. For
// others, and where these are too many, there is one, standing for the whole
// cell: every t lies within a radius of its value at the centre.
func (n *Sum) view(cell property.Box) []vertex {
	centre, vertices := n.vertices(cell)
	if centre == nil {
		return nil
	}
	z, rests := quantileGrid(n.q.nodes), quantileGrid(n.q.rests)
	view := make([]vertex, max(1, len(vertices)))
	for k := range view {
		view[k] = make(vertex, n.hidden.Out)
		parallel(n.hidden.Out, func(i int) {
			if vertices == nil {
				view[k][i] = n.whole(cell, centre, i, z)
			} else {
				view[k][i] = n.atVertex(centre, vertices[k], i, z, rests)
			}
		})
		for i := range view[k] {
			if h := &view[k][i]; !h.constant && (len(h.low.X) == 0 || len(h.high.X) == 0) {
				return nil
			}
		}
	}
	return view
}

// vertices returns a point inside the cell, nil if the cell does not fit the network
// or is empty or not finite; and the vertices, nil where they are not to be used.
func (n *Sum) vertices(cell property.Box) (centre []float64, vertices [][]float64) {
	if len(cell.Lo) != n.hidden.In || len(cell.Hi) != n.hidden.In {
		return nil, nil
	}
	vertices = [][]float64{{}}
	point := true
	for j, lo := range cell.Lo {
		hi := cell.Hi[j]
		if !(lo <= hi && lo >= -math.MaxFloat64 && hi <= math.MaxFloat64) {
			return nil, nil
		}
		centre = append(centre, min(max(lo/2+hi/2, lo), hi))
		ends := []float64{lo, hi}
		if lo == hi {
			ends = ends[:1]
		} else {
			point = false
		}
		if len(vertices)*len(ends) > maxVertices {
			vertices = nil
			break
		}
		var more [][]float64
		for _, v := range vertices {
			for _, x := range ends {
				more = append(more, append(v[:len(v):len(v)], x))
			}
		}
		vertices = more
	}
	if vertices == nil {
		for j := len(centre); j < len(cell.Lo); j++ {
			lo, hi := cell.Lo[j], cell.Hi[j]
			if !(lo <= hi && lo >= -math.MaxFloat64 && hi <= math.MaxFloat64) {
				return nil, nil
			}
			centre = append(centre, min(max(lo/2+hi/2, lo), hi))
		}
	}
	if point || !n.act.convex {
		vertices = nil
	}
	return centre, vertices
}

// preactivation is the distribution of t_i(x) for exact numbers x.
func (n *Sum) preactivation(i int, x []float64) (mean, sd ival) {
	w, b := &n.hidden.Weight, &n.hidden.Bias
	mean, sd = exactly(b.Mean[i]), ival{b.SdLo[i], b.SdHi[i]}
	variance := sd.square()
	for j, v := range x {
		at := weight(n.hidden, j, i)
		mean = mean.plus(exactly(v).times(exactly(w.Mean[at])))
		variance = variance.plus(exactly(v).times(ival{w.SdLo[at], w.SdHi[at]}).square())
	}
	return mean, variance.sqrt()
}

// whole gives stand-ins for all of the cell: |t(x) - t(centre)| <= radius unless a
// weight is beyond reach, s is monotone.
func (n *Sum) whole(cell property.Box, centre []float64, i int, z []float64) hidden {
	w := &n.hidden.Weight
	var radius, lost float64
	for j, c := range centre {
		at := weight(n.hidden, j, i)
		if r := max(above(cell.Hi[j]-c), above(c-cell.Lo[j])); cell.Lo[j] < cell.Hi[j] {
			most := above(math.Abs(w.Mean[at]) + above(reach*w.SdHi[at]))
			radius = above(radius + above(r*most))
			if w.SdHi[at] > 0 {
				lost = above(lost + above(2*measure.TailUp(reach)))
			}
		}
	}
	mean, sd := n.preactivation(i, centre)
	if !mean.finite() || !sd.finite() || !(radius <= math.MaxFloat64) {
		return hidden{}
	}
	if sd.hi == 0 {
		lo, hi := below(mean.lo-radius), above(mean.hi+radius)
		if radius == 0 {
			return hidden{constant: true, value: ival{n.act.down(mean.lo), n.act.up(mean.hi)}}
		}
		one := []float64{1}
		return hidden{low: measure.Atoms{X: []float64{n.act.down(lo)}, P: one}, high: measure.Atoms{X: []float64{n.act.up(hi)}, P: one}, lost: lost}
	}
	nodes, normal := nodesOf(mean, sd, z, true), asNormal(mean, sd)
	p, last := normal.BinsUp(nodes), len(nodes)-1
	var h hidden
	for k, m := range p {
		lo, hi := nodes[k], nodes[k+1]
		if radius > 0 {
			lo, hi = below(lo-radius), above(hi+radius)
		}
		h.low = put(h.low, n.act.down(lo), m)
		h.high = put(h.high, n.act.up(hi), m)
	}
	h.lost = above(lost + above(normal.BelowUp(nodes[0])+normal.AboveUp(nodes[last])))
	return h
}

// put adds an atom not below the last one, or adds to it.
func put(a measure.Atoms, x, p float64) measure.Atoms {
	if k := len(a.X) - 1; k >= 0 && a.X[k] == x {
		a.P[k] = above(a.P[k] + p)
		return a
	}
	return measure.Atoms{X: append(a.X, x), P: append(a.P, p)}
}
