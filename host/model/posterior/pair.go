package posterior

import (
	"fmt"
	"slices"

	"psafe/host/model/network"
)

// WithPair is the posterior of (x, u) -> (f^w(x), f^w(x')) for the same w, where x' is x with u_k in the place of
// input at[k], or, if it adds, with u_k added to that. at has one input or more, none twice. Each dense layer is a
// convolution of kernel 1 over two positions, x and x', so that both meet the same weights, and behind them is a
// layer that copies. p is a chain of dense layers, of independent normal weights or a finite set of networks.
func (p *Posterior) WithPair(at []int, adds bool) (*Posterior, error) {
	switch {
	case p.Kind != KindGaussian && p.Kind != KindFinite:
		return nil, fmt.Errorf("this posterior is %s: relations are for independent normal weights, and for sets of networks", p.Describe())
	case !p.Network().Chain():
		return nil, fmt.Errorf("this posterior is of a graph or of convolutions: relations are for chains of dense layers")
	}
	q := *p
	q.Layers, q.Input, q.Reference = pairFront(p.Inputs(), at, adds), Input{FeaturesOf: p.Input.FeaturesOf}, nil // shapes and logits are those of one input
	front := len(q.Layers)
	for _, l := range p.Layers {
		d := l.Dense()
		l.Map, l.Sources = network.Conv{In: network.Image{Height: 1, Width: 2, Channels: d.In}, Window: network.Window{Size: [2]int{1, 1}, Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}}, Filters: d.Out, Groups: 1}, nil
		q.Layers = append(q.Layers, l)
	}
	n := 2 * p.Outputs()
	unit, none := make([]float64, n*n), make([]float64, n)
	for i := range n {
		unit[i*n+i] = 1
	}
	last := Layer{Layer: network.DenseLayer(n, n, network.Activation{Kind: network.Identity}), Weight: Params{Mean: unit}, Bias: Params{Mean: none}, NoBias: true}
	if p.Kind == KindGaussian {
		last.Weight, last.Bias = NewParams(unit, make([]float64, n*n), ScaleSD), NewParams(none, none, ScaleSD)
	}
	q.Layers = append(q.Layers, last)
	if s := p.finite; s != nil {
		stack := slices.Concat(make([][]float64, 2*front), s.Stack, [][]float64{slices.Repeat(unit, s.N()), slices.Repeat(none, s.N())})
		q.finite = &Finite{Counts: s.Counts, Stack: stack, DrawsOf: s.DrawsOf}
	}
	return &q, q.Validate()
}

// pairFront are layers without weights from (x, u) to (x, x'), for n inputs.
func pairFront(n int, at []int, adds bool) []Layer {
	both := make([]int32, 0, 2*n)
	for j := range 2 * n {
		both = append(both, int32(j%n))
	}
	for k, j := range at {
		both[n+j] = int32(n + k) // u, or behind it the sums
	}
	reorder := func(in int, order []int32, sources ...int) Layer {
		return Layer{Layer: network.Layer{Map: network.Reorder{In: in, Order: order}, Sources: sources}}
	}
	k := len(at)
	if !adds {
		return []Layer{reorder(n+k, both)}
	}
	var terms []int32
	for _, j := range at {
		terms = append(terms, int32(j))
	}
	for i := range at {
		terms, both[n+at[i]] = append(terms, int32(n+i)), int32(n+k+i)
	}
	sum := Layer{Layer: network.Layer{Map: network.Add{N: k, Terms: 2}}}
	return []Layer{reorder(n+k, terms), sum, reorder(n+k+k, both, -1, 1)}
}
