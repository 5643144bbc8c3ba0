package lower

import (
	"fmt"
	"math/big"
	"slices"

	"psafe/host/model/network"
	"psafe/host/read/format/graph"
	"psafe/internal/infile"
)

// Arithmetic of graphs of layers, beside convolutions and pools (window.go).

// summed is a + sign b, not both of which are constants.
func (l *lowering) summed(a, b *value, sign float64, at *pairs) (*value, error) {
	if a.isConst() {
		v, err := l.spread(b, at.shape, at.b)
		if err == nil && sign < 0 {
			v, err = l.negated(v)
		}
		if err != nil {
			return nil, err
		}
		return l.shifted(v, a, 1, at.a)
	}
	v, err := l.spread(a, at.shape, at.a)
	if err != nil {
		return nil, err
	}
	if b.isConst() {
		return l.shifted(v, b, sign, at.b)
	}
	w, err := l.spread(b, at.shape, at.b)
	if err == nil && sign < 0 {
		w, err = l.negated(w)
	}
	if err != nil {
		return nil, err
	}
	layer := Layer{Layer: graph.Layer{Kind: graph.Add}}
	n, order, image := len(v.at), upTo(len(v.at)), network.Image{}
	if l.given[v.from].n == n && l.given[w.from].n == n && slices.Equal(v.at, w.at) {
		if order = v.at; l.given[v.from].image == l.given[w.from].image {
			image = l.given[v.from].image
		}
	}
	for _, of := range []*value{v, w} {
		name := l.given[of.from].name
		if image.Len() == 0 {
			if name, err = l.ordered(of, order); err != nil {
				return nil, err
			}
		}
		layer.From = append(layer.From, name)
	}
	k, err := l.state(layer, n, image)
	return l.viewed(at.shape, k, order), err
}

// negated is -v.
func (l *lowering) negated(v *value) (*value, error) {
	return l.gained(v, func(int) (float64, int32) { return -1, 0 }, nothing)
}

// nothing is a shift of 0.
func nothing(int) (float64, int32) { return 0, 0 }

// multiplied is v times the constants b, which are certain.
func (l *lowering) multiplied(v, b *value, at *pairs) (*value, error) {
	v, err := l.spread(v, at.shape, at.a)
	if err != nil {
		return nil, err
	}
	return l.gained(v, func(i int) (float64, int32) { return b.c[at.b(i)], 0 }, nothing)
}

// scaled applies a to a view: the factors and shifts are rounded to the nearest float64.
func (l *lowering) scaled(v *value, a affine) (*value, error) {
	factors, worst, err := roundAll(a.factor, 53)
	if err != nil {
		return nil, err
	}
	exact := worst == 0
	shifts := make([]float64, len(factors))
	for g := range a.shift {
		nearest, accuracy := a.shift[g].Float64()
		shifts[g], exact = nearest, exact && accuracy == big.Exact
	}
	if !exact {
		l.roundedBy(worst)
	}
	return l.gained(v, func(i int) (float64, int32) { return factors[a.group(i)], 0 }, func(i int) (float64, int32) { return shifts[a.group(i)], 0 })
}

// multipliedRight is the product of a view with one constant matrix: a dense layer of a row, and
// of several rows a convolution that takes each as the channels of a place.
func (l *lowering) multipliedRight(a, b *value) (*value, error) {
	axes := len(b.shape)
	inner, columns := b.shape[axes-2], b.shape[axes-1]
	if product(b.shape[:axes-2]) != 1 {
		return nil, fmt.Errorf("it multiplies by several matrices (shape %v), for which there is no layer: only products with one are read", b.shape)
	}
	rows := len(a.at) / inner
	// Where the matrix has more axes, all of length 1, so has the product.
	shape := slices.Repeat([]int{1}, max(0, axes-len(a.shape)))
	shape = append(append(shape, a.shape[:len(a.shape)-1]...), columns)
	if rows > 1 {
		layer := weighted(b, len(b.c), func(i int) int { return i }, nil, columns)
		layer.Layer = graph.Layer{Kind: graph.Conv2D, Kernel: []int{1, 1}, Filters: columns}
		if err := l.feed(&layer.Layer, a, network.Image{Height: 1, Width: rows, Channels: inner}, upTo(len(a.at))); err != nil {
			return nil, err
		}
		k, err := l.state(layer, rows*columns, network.Image{Height: 1, Width: rows, Channels: columns})
		return l.viewed(shape, k, upTo(rows*columns)), err
	}
	a, err := l.whole(a)
	if err != nil {
		return nil, err
	}
	row := make([]int, inner) // of the matrix, for each number of the layer
	for i, number := range a.at {
		row[number] = i
	}
	name, err := l.list(a.from)
	if err != nil {
		return nil, err
	}
	layer := weighted(b, len(b.c), func(i int) int { return row[i/columns]*columns + i%columns }, nil, columns)
	layer.Layer = graph.Layer{Kind: graph.Dense, From: []string{name}, Filters: columns}
	k, err := l.state(layer, columns, network.Image{})
	return l.viewed(shape, k, upTo(columns)), err
}

// multipliedLeft is the product of a constant matrix with a view, as that of the transposed ones.
func (l *lowering) multipliedLeft(a, b *value) (*value, error) {
	swapped := func(v *value) (*value, error) {
		order := make([]int, len(v.shape))
		for i := range order {
			order[i] = i
		}
		n := len(order)
		order[n-1], order[n-2] = n-2, n-1
		return l.permuted(v, order)
	}
	at, err := swapped(a)
	if err != nil {
		return nil, err
	}
	bt, err := swapped(b)
	if err != nil {
		return nil, err
	}
	out, err := l.multipliedRight(bt, at)
	if err != nil {
		return nil, err
	}
	return swapped(out)
}

// activated is an activation of all numbers that v shows.
func (l *lowering) activated(v *value, a network.Activation) (*value, error) {
	if a.Kind == network.Identity {
		return v, nil
	}
	v, err := l.whole(v)
	if err != nil {
		return nil, err
	}
	g := l.given[v.from]
	k, err := l.state(Layer{Layer: graph.Layer{Kind: graph.Activation, From: []string{g.name}, Activation: a}}, g.n, g.image)
	return l.viewed(v.shape, k, v.at), err
}

// stacked puts tensors behind each other along an axis of (outer, axis, inner); parts are the
// sizes of outer elements of each.
func (l *lowering) stacked(in []*value, shape []int, outer int) (*value, error) {
	layer := Layer{Layer: graph.Layer{Kind: graph.Concat}}
	n, channels, same := 0, 0, outer == 1 && len(shape) > 2 && shape[0] == 1
	image := l.given[in[0].from].image
	begins := map[int]int32{} // of the numbers of each layer
	var order []int
	for _, v := range in {
		if v.isConst() {
			return nil, fmt.Errorf("it puts a constant beside numbers that depend on the input, for which there is no layer")
		}
		g := &l.given[v.from]
		if _, there := begins[v.from]; there {
			same = false
		} else {
			begins[v.from], order = int32(n), append(order, v.from)
			n += g.n
		}
		im := g.image
		same = same && im.Len() > 0 && im.Height == image.Height && im.Width == image.Width && len(v.shape) > 2 && im.Channels == v.shape[1] && len(v.at) == g.n && slices.Equal(v.at, lastOf(g.n, im.Channels, im.Height*im.Width))
		channels += im.Channels
	}
	if same {
		for _, v := range in {
			layer.From = append(layer.From, l.given[v.from].name)
		}
		image.Channels = channels
		k, err := l.state(layer, n, image)
		return l.viewed(shape, k, lastOf(n, channels, image.Height*image.Width)), err
	}
	at := make([]int32, 0, product(shape))
	if err := l.spend(int64(cap(at))); err != nil {
		return nil, err
	}
	for o := range outer {
		for _, v := range in {
			piece := len(v.at) / outer
			for _, number := range v.at[o*piece : (o+1)*piece] {
				at = append(at, begins[v.from]+number)
			}
		}
	}
	if len(order) == 1 {
		return l.viewed(shape, order[0], at), nil
	}
	for _, from := range order {
		name, err := l.list(from)
		if err != nil {
			return nil, err
		}
		layer.From = append(layer.From, name)
	}
	k, err := l.state(layer, n, network.Image{})
	return l.viewed(shape, k, at), err
}

// reduced is the sum, or the mean, of the last axis of a view (outer, n).
func (l *lowering) reduced(v *value, shape []int, mean bool) (*value, error) {
	outer := product(shape)
	n := len(v.at) / outer
	layer := Layer{Layer: graph.Layer{Kind: graph.AvgPool, Kernel: []int{1, n}, Strides: []int{1, 1}}}
	im := network.Image{Height: outer, Width: n, Channels: 1}
	if !mean {
		layer.Kind, layer.Filters = graph.Conv2D, 1
		layer.Weight, layer.Bias = slices.Repeat([]float64{1}, n), make([]float64, 1)
	}
	if err := l.feed(&layer.Layer, v, im, upTo(len(v.at))); err != nil {
		return nil, err
	}
	k, err := l.state(layer, outer, network.Image{Height: outer, Width: 1, Channels: 1})
	return l.viewed(shape, k, upTo(outer)), err
}

// ending makes a dense layer the last, which gives the elements of v in their order.
func (l *lowering) ending(v *value) error {
	k, n := len(l.result.Layers), len(v.at)
	if k > 0 && k == v.from && l.result.Layers[k-1].Kind == graph.Dense && slices.Equal(v.at, upTo(l.given[k].n)) {
		return nil
	}
	if n > mostGains {
		return fmt.Errorf("it has %d numbers: at most %d can be logits", n, mostGains)
	}
	name, err := l.list(v.from)
	if err != nil {
		return err
	}
	inputs := int64(l.given[v.from].n)
	if err := infile.Afford(8 * inputs * int64(n)); err != nil {
		return err
	}
	layer := Layer{Layer: graph.Layer{Kind: graph.Dense, From: []string{name}, Filters: n}, Weight: make([]float64, inputs*int64(n)), Bias: make([]float64, n)}
	for i, number := range v.at {
		layer.Weight[int(number)*n+i] = 1
	}
	_, err = l.state(layer, n, network.Image{})
	return err
}
