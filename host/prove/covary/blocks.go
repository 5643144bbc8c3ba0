package covary

import (
	"fmt"
	"math"

	"psafe/host/arith"
	"psafe/host/bound"
	"psafe/host/model/posterior"
)

// Blocks is the covariance of all weights of a chain of dense layers: blocks that are independent of each
// other, one for each layer, or one of all of them.
type Blocks struct {
	layers []posterior.Layer
	// of are the layers with a covariance of their own, nil elsewhere; joint is that of all layers, if there
	// is one. Without either weights are independent, or certain.
	of          []*Layer
	joint       *Shared
	independent bool
}

// NewBlocks is of a posterior of KindGaussian, KindCorrelated or KindJoint, of dense layers. It is an error if
// numbers are so large that products could overflow, or that of ended.
func NewBlocks(post *posterior.Posterior, ended Ended) (b *Blocks, err error) {
	b = &Blocks{layers: post.Layers, of: make([]*Layer, len(post.Layers)), independent: post.Independent()}
	if post.Joint() != nil {
		b.joint, err = NewShared(post)
		return b, err
	}
	for k := range post.Layers {
		l := &post.Layers[k]
		if all := post.Covariances(); all != nil && all[k] != nil {
			b.of[k], err = newLayer(l, all[k], 0, ended)
		}
		if err == nil && b.independent && !(InRange(l.Weight.SdHi) && InRange(l.Bias.SdHi)) {
			err = bound.Unfitf("a standard deviation is above %v", Most)
		}
		if err != nil {
			return nil, fmt.Errorf("layer %d: %w", k, err)
		}
	}
	return b, nil
}

// Lines holds what feeds each layer on a cell, centre +- Radius: number j of what feeds layer k is within
// Half[k][j] of At[k][j] + Slope[k][j] (x - centre), and within Reach[k][j] of At[k][j]. Slope[0] is nil: the
// inputs are themselves, and Half[0] is 0.
type Lines struct {
	Radius          []float64
	At, Half, Reach [][]float64
	Slope           [][][]float64
}

// Noise is the noise sum_k a^k D^k z~^k of a row on a cell, for all z^k that its Lines allow.
type Noise struct {
	// Sd are upper bounds of the deviations of (a^k D^k)_j, and Along of the coefficients that the lines give
	// each input: the root of sum of the blocks' S'K S, of column k of the slopes of all layers.
	Sd    [][]float64
	Along []float64
	// Centre bounds the variance at the middle of the lines, Variance that at all points of the cell.
	Centre, Variance float64
}

// adding is a Noise on its way: sums over blocks.
type adding struct {
	*Noise
	lines *Lines
	// first order: by the box, by gaps between lines, along each input and what that may be off by.
	box, gaps           float64
	along, off, squares []float64
	second              float64
	terms               int
}

// Noise returns the noise of a row whose coefficients of the outputs of layer k are numbers in [lo[k], hi[k]],
// the same for all x; nil of layers that do not count. It is nil where numbers are out of range.
func (b *Blocks) Noise(lo, hi [][]float64, l *Lines) *Noise {
	in := len(l.Radius)
	n := &adding{Noise: &Noise{Along: make([]float64, in)}, lines: l,
		along: make([]float64, in), off: make([]float64, in), squares: make([]float64, in)}
	for k := range b.layers {
		n.Sd = append(n.Sd, make([]float64, b.layers[k].Inputs()))
		if !InRange(lo[k]) || !InRange(hi[k]) || !InRange(l.At[k]) || !InRange(l.Reach[k]) || !InRange(l.Half[k]) {
			return nil
		}
	}
	if b.joint != nil {
		f, layers := b.joint.stacked(lo, hi)
		n.add(f, layers)
		return n.sum()
	}
	for k := range b.layers {
		switch {
		case lo[k] == nil:
		case b.of[k] != nil:
			f := b.of[k].factor(lo[k], hi[k])
			f.marginal = f.marginals()
			n.add(f, []int{k})
		case b.independent:
			n.add(b.diagonal(k, lo[k], hi[k]), []int{k})
		}
	}
	return n.sum()
}

// diagonal is the form of a row of independent weights: nothing but a diagonal.
func (b *Blocks) diagonal(k int, lo, hi []float64) *factored {
	l, n := &b.layers[k], b.layers[k].Inputs()+1
	f, out := &factored{n: n, delta: make([]float64, n)}, len(lo)
	for j := range n {
		sum, random := 0.0, false
		for o := range lo {
			c, sd := max(math.Abs(lo[o]), math.Abs(hi[o])), l.Bias.SdHi[o]
			if j < n-1 {
				sd = l.Weight.SdHi[j*out+o]
			}
			x := float64(c * sd)
			sum, random = sum+float64(x*x), random || c != 0 && sd != 0
		}
		if random {
			f.delta[j] = float64(sum*Grow(out)) + Tiny
		}
	}
	f.marginal = f.marginals()
	return f
}

// stacked is the form of a row over the inputs of all layers that count, and a 1 for each layer's bias.
func (s *Shared) stacked(lo, hi [][]float64) (*factored, []int) {
	f, m := &factored{m: s.rank, w: make([]float64, s.rank), norm: math.Inf(1)}, s.rank
	var layers []int
	var e []float64
	most := 0
	for k := range s.layers {
		if lo[k] == nil {
			continue
		}
		l := &s.layers[k]
		n, at := l.in+1, len(f.b)
		layers, most = append(layers, k), max(most, l.out)
		f.n += n
		f.b, e = append(f.b, make([]float64, n*m)...), append(e, make([]float64, n*m)...)
		for o := range l.out {
			of := arith.Of(lo[k][o], hi[k][o])
			c := of.Middle()
			if of.Lo == 0 && of.Hi == 0 {
				continue
			}
			off := arith.Up(of.Radius() + float64(Unit(l.out)*of.Size()))
			for i, v := range l.p[o*n*m : (o+1)*n*m] {
				f.b[at+i] += float64(c * v)
				e[at+i] += float64(off*math.Abs(v)) + Tiny
			}
		}
	}
	for t := range f.w {
		f.w[t] = 1
	}
	f.delta = make([]float64, f.n)
	f.charge(e, Grow(most))
	f.marginal = f.marginals()
	return f, layers
}

// add adds a block, whose coordinates are the inputs of these layers and a 1 for each of their biases.
func (n *adding) add(f *factored, layers []int) {
	var c, h []float64
	for _, k := range layers {
		c, h = append(append(c, n.lines.At[k]...), 1), append(append(h, n.lines.Reach[k]...), 0)
	}
	t := f.turnAll(c, h)
	centre, kc, off := f.atCentre(t)
	n.Centre = arith.Up(n.Centre + centre)
	n.second = arith.Up(n.second + f.overBoxUp(t))
	n.terms += f.n + f.m
	at := 0
	for _, k := range layers {
		for j, half := range n.lines.Half[k] {
			n.Sd[k][j] = f.marginal[at+j]
			most := math.Abs(kc[at+j]) + off[at+j]
			n.box += float64(most * n.lines.Reach[k][j])
			n.gaps += float64(most * half)
			n.alongLine(k, j, kc[at+j], off[at+j])
		}
		at += len(n.lines.Half[k]) + 1
	}
	n.slopes(f, layers)
}

// alongLine adds what the first order changes by along the line of input j of layer k, for each input of the
// network.
func (n *adding) alongLine(k, j int, kc, off float64) {
	if k == 0 {
		n.along[j] += kc
		n.off[j] += off + float64(n.unit()*math.Abs(kc))
		return
	}
	for i, s := range n.lines.Slope[k][j] {
		x := float64(kc * s)
		n.along[i] += x
		n.off[i] += float64(off*math.Abs(s)) + float64(n.unit()*math.Abs(x)) + Tiny
	}
}

// unit is at least the relative error of sums over all coordinates.
func (n *adding) unit() float64 {
	total := 0
	for _, list := range n.lines.At {
		total += len(list) + 1
	}
	return Unit(total)
}

// slopes adds the variance of the coefficient of each input: with S the slopes of the block's coordinates,
// sum_t w_t ((B'S)_ti)^2 + sum_j delta_j S_ji^2.
func (n *adding) slopes(f *factored, layers []int) {
	in := len(n.lines.Radius)
	if len(layers) == 1 && layers[0] == 0 { // S is 1
		for i := range in {
			n.squares[i] = arith.Up(n.squares[i] + arith.Up(f.marginal[i]*f.marginal[i]))
		}
		return
	}
	turned, size, square := make([]float64, f.m*in), make([]float64, f.m*in), make([]float64, in)
	at := 0
	for _, k := range layers {
		for j := range n.lines.At[k] {
			row := f.b[(at+j)*f.m : (at+j+1)*f.m]
			if k == 0 {
				for t, v := range row {
					turned[t*in+j] += v
					size[t*in+j] += math.Abs(v)
				}
				square[j] += f.delta[at+j]
				continue
			}
			s := n.lines.Slope[k][j]
			for t, v := range row {
				AddBoth(turned[t*in:(t+1)*in], size[t*in:(t+1)*in], v, s)
			}
			for i, v := range s {
				square[i] += float64(float64(f.delta[at+j]*v) * v)
			}
		}
		at += len(n.lines.At[k]) + 1
	}
	u := Unit(f.n)
	for t, w := range f.w {
		for i := range in {
			x := math.Abs(turned[t*in+i]) + float64(u*size[t*in+i]) + Tiny
			square[i] += float64(float64(x*x) * w)
		}
	}
	g := Grow(f.n + f.m)
	for i := range in {
		n.squares[i] = arith.Up(n.squares[i] + float64(square[i]*g) + Tiny)
	}
}

// AddBoth adds a times each of x to to, and the magnitudes to size.
func AddBoth(to, size []float64, a float64, x []float64) {
	if a == 0 {
		return
	}
	b := math.Abs(a)
	to, size = to[:len(x)], size[:len(x)]
	for i, v := range x {
		to[i] += float64(a * v)
		size[i] += float64(b * math.Abs(v))
	}
}

// sum ends the sums: of the first order the lesser counts of what the box allows and what lines do.
func (n *adding) sum() *Noise {
	g := Grow(2*n.terms + len(n.along))
	lines := n.gaps
	for i, radius := range n.lines.Radius {
		lines += float64((math.Abs(n.along[i]) + float64(n.off[i]*g)) * radius)
		n.Along[i] = arith.Up(math.Sqrt(n.squares[i]))
	}
	first := float64(min(n.box, lines)*g) + Tiny
	n.Variance = LargestUp(n.Centre, first, n.second)
	if n.terms == 0 {
		n.Centre, n.Variance = 0, 0
	}
	return n.Noise
}
