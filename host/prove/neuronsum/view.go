package neuronsum

import (
	"math"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/prove/neuronsum/law"
	"psafe/host/prove/probability"
	"psafe/host/read/property"
)

// vertex has, for every hidden neuron, what stands in for its value.
type vertex []hidden

// hidden stands in for the value s(t) of one hidden neuron: with probability at
// most lost nothing is known, else low is stochastically below and high above
// the real variables of the proof. constant: in every draw and everywhere in the cell
// the value is within `within` of the one number that value holds.
type hidden struct {
	constant  bool
	value     arith.Interval
	within    float64
	low, high probability.Atoms
	lost      float64
}

// maxVertices bounds the vertices of a cell that are looked at one by one.
const maxVertices = 64

// shape is a cell with what is made of its axes.
type shape struct {
	cell   property.Box
	centre []float64
	// narrow axes cost no vertices: how far they move t is bounded by a radius.
	narrow []bool
	// vertices of the face of the cell where narrow coordinates are the centre's; nil
	// where they are not to be used, or are one.
	vertices [][]float64
}

// view lists vertices such that a row that fails somewhere in the cell fails for
// the stand-ins of one of them at least; nil if there is no way.
//
// For a piecewise linear activation they are the vertices of the cell, of which narrow
// axes make none. For others, and where these are too many, there is one, standing for
// the whole cell: every t lies within a radius of its value at the centre.
func (n *Sum) view(cell property.Box) []vertex {
	c := n.shape(cell)
	if c == nil {
		return nil
	}
	z, rests := quantileGrid(n.q.nodes), quantileGrid(n.q.rests)
	view := make([]vertex, max(1, len(c.vertices)))
	for k := range view {
		view[k] = make(vertex, n.net.Hidden.Outputs())
		law.OnCores(n.net.Hidden.Outputs(), func(i int) {
			if n.over() {
				return // and there is no view
			}
			if c.vertices == nil {
				view[k][i] = n.whole(c, c.cell, c.centre, i, z)
			} else {
				view[k][i] = n.atVertex(c, c.vertices[k], i, z, rests)
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

// shape is nil if the cell does not fit the network or is empty or not finite.
func (n *Sum) shape(cell property.Box) *shape {
	if len(cell.Lo) != n.net.Hidden.Inputs() || len(cell.Hi) != n.net.Hidden.Inputs() {
		return nil
	}
	c := &shape{cell: cell}
	for j, lo := range cell.Lo {
		hi := cell.Hi[j]
		if !(lo <= hi && lo >= -math.MaxFloat64 && hi <= math.MaxFloat64) {
			return nil
		}
		c.centre = append(c.centre, min(max(lo/2+hi/2, lo), hi))
	}
	c.narrow = n.narrow(cell, c.centre)
	vertices := [][]float64{{}}
	for j, x := range c.centre {
		ends := []float64{x}
		if cell.Lo[j] < cell.Hi[j] && !c.narrow[j] {
			ends = []float64{cell.Lo[j], cell.Hi[j]}
		}
		if !n.net.Convex || len(vertices)*len(ends) > maxVertices {
			return c
		}
		var more [][]float64
		for _, v := range vertices {
			for _, x := range ends {
				more = append(more, append(v[:len(v):len(v)], x))
			}
		}
		vertices = more
	}
	if len(vertices) > 1 {
		c.vertices = vertices
	}
	return c
}

// narrow returns which axes of positive length move no t by more than q.narrow = 2^-20 of its
// standard deviation or, where that is nearly nothing, by more than 2^-44 of its size. Any choice
// is sound; a coordinate one or two ulps wide, as of a number written in decimals, is narrow: it
// moves t by at most
//
//	2^-52 |x_j| (|mu_ji| + narrowReach sd_ji) <= 2^-52 size_i + 2^-48 sd_i
func (n *Sum) narrow(cell property.Box, centre []float64) []bool {
	w, b := &n.net.Hidden.Weight, &n.net.Hidden.Bias
	most := make([]float64, n.net.Hidden.Outputs())
	for i := range most {
		size, variance := math.Abs(b.Mean[i]), b.SdLo[i]*b.SdLo[i]
		for j, at := range n.net.Hidden.Dense().Into(i) {
			x := centre[j]
			size += math.Abs(x * w.Mean[at])
			variance += x * x * w.SdLo[at] * w.SdLo[at]
		}
		most[i] = n.q.narrow * max(math.Sqrt(variance), 0x1p-24*size)
	}
	narrow := make([]bool, len(centre))
	for j := range narrow {
		r := max(cell.Hi[j]-centre[j], centre[j]-cell.Lo[j])
		narrow[j] = r > 0
		for i, at := range n.net.Hidden.Dense().From(j) {
			if !(r*(math.Abs(w.Mean[at])+narrowReach*w.SdHi[at]) <= most[i]) {
				narrow[j] = false
				break
			}
		}
	}
	return narrow
}

// narrowReach is the number of standard deviations of a weight that the radius of a narrow axis
// reaches; what is beyond, 3.6e-33 a weight, counts as failure. It costs nothing to go far where
// the axis is narrow.
const narrowReach = 12

// radius bounds |t_i(x) - t_i(centre)| for all x of the cell at once, but with
// probability lost: it is at most sum_j r_j |w_ji|, and |w_ji| <= |mu_ji| + reach sd_ji.
// wide says that an axis which is not narrow adds to it.
func (n *Sum) radius(narrow []bool, cell property.Box, centre []float64, i int) (radius, lost float64, wide bool) {
	w := &n.net.Hidden.Weight
	for j, at := range n.net.Hidden.Dense().Into(i) {
		c := centre[j]
		if !(cell.Lo[j] < cell.Hi[j]) {
			continue
		}
		sds := float64(narrowReach)
		if !narrow[j] {
			sds, wide = law.Reach, true
		}
		r := max(arith.Up(cell.Hi[j]-c), arith.Up(c-cell.Lo[j]))
		most := arith.Up(math.Abs(w.Mean[at]) + arith.Up(sds*w.SdHi[at]))
		radius = arith.Up(radius + arith.Up(r*most))
		if w.SdHi[at] > 0 {
			lost = arith.Up(lost + arith.Up(2*gauss.TailUp(sds)))
		}
	}
	return radius, lost, wide
}

// whole gives stand-ins for all of the cell: |t(x) - t(centre)| <= radius unless a
// weight is beyond reach, s is monotone.
func (n *Sum) whole(c *shape, cell property.Box, centre []float64, i int, z []float64) hidden {
	radius, lost, wide := n.radius(c.narrow, cell, centre, i)
	mean, sd := n.net.Preactivation(i, centre)
	if !mean.Finite() || !sd.Finite() || !(radius <= math.MaxFloat64) {
		return hidden{}
	}
	if sd.Hi == 0 {
		return n.wholeConstant(mean, radius, lost, wide)
	}
	nodes, normal := nodesOf(mean, sd, z, true), law.Normal(mean, sd)
	p, last := normal.BinsUp(nodes), len(nodes)-1
	var h hidden
	for k, m := range p {
		lo, hi := nodes[k], nodes[k+1]
		if radius > 0 {
			lo, hi = arith.Down(lo-radius), arith.Up(hi+radius)
		}
		h.low = put(h.low, n.net.Act.ValueDown(lo), m)
		h.high = put(h.high, n.net.Act.ValueUp(hi), m)
	}
	h.lost = arith.Up(lost + beyond(normal, nodes[0], nodes[last]))
	return h
}

// wholeConstant is whole for a t(centre) that is the same number in every draw.
func (n *Sum) wholeConstant(mean arith.Interval, radius, lost float64, wide bool) hidden {
	if radius == 0 {
		return hidden{constant: true, value: arith.Of(n.net.Act.ValueDown(mean.Lo), n.net.Act.ValueUp(mean.Hi))}
	}
	lo, hi := n.net.Act.ValueDown(arith.Down(mean.Lo-radius)), n.net.Act.ValueUp(arith.Up(mean.Hi+radius))
	if !(lo >= -math.MaxFloat64 && hi <= math.MaxFloat64) {
		return hidden{}
	}
	if middle := lo/2 + hi/2; !wide {
		within := max(arith.Up(hi-middle), arith.Up(middle-lo))
		if lo == hi {
			middle, within = lo, 0
		}
		return hidden{constant: true, value: arith.Exactly(middle), within: within, lost: lost}
	}
	one := []float64{1}
	return hidden{low: probability.Atoms{X: []float64{lo}, P: one}, high: probability.Atoms{X: []float64{hi}, P: one}, lost: lost}
}

// put adds an atom not below the last one, or adds to it.
func put(a probability.Atoms, x, p float64) probability.Atoms {
	if k := len(a.X) - 1; k >= 0 && a.X[k] == x {
		a.P[k] = arith.Up(a.P[k] + p)
		return a
	}
	return probability.Atoms{X: append(a.X, x), P: append(a.P, p)}
}
