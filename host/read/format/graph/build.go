package graph

import (
	"fmt"
	"slices"

	"psafe/host/model/network"
)

// inputNode stands for the network's input among nodes, as among network.Layer's Sources.
const inputNode = -1

// node is a map, or an activation (map nil).
type node struct {
	m    network.Map
	act  network.Activation
	in   []int // nodes
	of   int
	rows []int32
	n    int // outputs
	// normalise is Planned's.
	normalise bool
}

// value holds what a layer of the file gives.
type value struct {
	// nodes give it, one after the other; more than one only on the way into a layer.
	nodes []int
	n     int // 0 for an input of unknown length
	// image is its shape where it is known to be one, channels last.
	image *network.Image
	// shape holds the shape of an input in the order of the file; the layer that it feeds knows it.
	shape []int
	// perm is the order of a list that was flattened channels first: its number i is number
	// perm[i] of the node's.
	perm []int32
	used bool
}

type builder struct {
	nodes      []node
	input      value
	values     map[string]*value
	at         map[string]int
	last       *value
	parameters []Parameters
	units      int
}

// layer adds layer k of the file.
func (b *builder) layer(k int, l *Layer) error {
	name := nameOf(k, l)
	if name == InputName {
		return fmt.Errorf("the name %q is that of the network's input: choose another", InputName)
	}
	if first, twice := b.at[name]; twice {
		return fmt.Errorf("layer %d has that name too: names must differ", first)
	}
	if err := known(l.Kind); err != nil {
		return err
	}
	from, err := b.feeds(l)
	if err != nil {
		return err
	}
	v, err := b.apply(k, l, from)
	if err != nil {
		return err
	}
	if l.Activation.Kind != network.Identity {
		if v, err = b.activate(v, l.Activation); err != nil {
			return err
		}
	}
	v.used = false
	b.values[name], b.at[name], b.last = v, k, v
	return nil
}

// feeds finds the values that a layer takes.
func (b *builder) feeds(l *Layer) ([]*value, error) {
	if l.From == nil {
		b.last.used = true
		return []*value{b.last}, nil
	}
	if len(l.From) == 0 {
		return nil, fmt.Errorf("\"from\" is empty: name what feeds the layer, or leave it out")
	}
	var from []*value
	for _, name := range l.From {
		v := b.values[name]
		if name == InputName {
			v = &b.input
		}
		if v == nil {
			return nil, fmt.Errorf("it is fed by %.40q, and no layer before it has that name: write layers in the order in which they are computed", name)
		}
		v.used = true
		from = append(from, v)
	}
	return from, nil
}

// apply adds the nodes of a layer without its activation.
func (b *builder) apply(k int, l *Layer, from []*value) (*value, error) {
	switch l.Kind {
	case Add:
		return b.sum(l, from)
	case Concat:
		return b.concat(l, from)
	}
	v, err := b.join(from)
	if err != nil {
		return nil, err
	}
	if v.n == 0 && l.Inputs > 0 {
		if _, err := product([]int{l.Inputs}); err != nil {
			return nil, fmt.Errorf("\"in\" %d %w", l.Inputs, err)
		}
		v.n = l.Inputs // v is the input
	}
	if v.n == 0 && l.Shape != nil {
		if v.n, err = product(l.Shape); err != nil {
			return nil, fmt.Errorf("input_shape %v %w", l.Shape, err)
		}
	}
	switch {
	case v.n == 0:
		return nil, fmt.Errorf("the shape of the network's input is not known: say it with \"input_shape\"")
	case v.n > 0 && l.Inputs > 0 && v.n != l.Inputs:
		return nil, fmt.Errorf("it takes %d inputs, but what feeds it gives %d", l.Inputs, v.n)
	}
	switch l.Kind {
	case Dense:
		return b.dense(k, l, v)
	case Conv2D, Conv1D, DepthwiseConv2D, BatchNorm:
		return b.conv(k, l, v)
	case MaxPool, AvgPool, GlobalMaxPool, GlobalAvgPool:
		return b.pool(l, v)
	case Flatten:
		return b.flatten(l, v)
	case Activation:
		c := *v
		return &c, nil
	}
	return b.reorder(l, v)
}

// join is one value of several, one after the other: a list.
func (b *builder) join(from []*value) (*value, error) {
	if len(from) == 1 {
		return from[0], nil
	}
	all := &value{}
	permuted := false
	for _, v := range from {
		permuted = permuted || v.perm != nil
		if err := b.spend(v.n); err != nil {
			return nil, err
		}
	}
	for _, v := range from {
		if v.n == 0 {
			return nil, fmt.Errorf("the shape of the network's input is not known: say it with \"input_shape\"")
		}
		for i := range v.n {
			if !permuted {
				break
			}
			at := int32(i)
			if v.perm != nil {
				at = v.perm[i]
			}
			all.perm = append(all.perm, int32(all.n)+at)
		}
		if all.n += v.n; all.n > mostNumbers {
			return nil, fmt.Errorf("it takes more than %d numbers", mostNumbers)
		}
		all.nodes = append(all.nodes, v.nodes...)
	}
	return all, nil
}

// add adds a node and gives its value, a list if image is nil.
func (b *builder) add(n node, image *network.Image) (*value, error) {
	if n.m != nil {
		if err := n.m.Check(); err != nil {
			return nil, err
		}
		n.n = n.m.Outputs()
	}
	for i, from := range n.in { // none may feed a layer twice
		if slices.Contains(n.in[:i], from) {
			copied, err := b.add(node{m: identity(b.width(from)), in: []int{from}, of: None}, nil)
			if err != nil {
				return nil, err
			}
			n.in = slices.Clone(n.in)
			n.in[i] = copied.nodes[0]
		}
	}
	if err := b.spend(n.n); err != nil {
		return nil, err
	}
	b.nodes = append(b.nodes, n)
	return &value{nodes: []int{len(b.nodes) - 1}, n: n.n, image: image}, nil
}

// spend counts units, and entries of orders.
func (b *builder) spend(n int) error {
	if b.units += n; b.units > mostUnits {
		return fmt.Errorf("up to it the layers have more than %d units", mostUnits)
	}
	return nil
}

// width returns how many numbers a node gives.
func (b *builder) width(at int) int {
	if at == inputNode {
		return b.input.n
	}
	return b.nodes[at].n
}

// activate adds an activation.
func (b *builder) activate(v *value, a network.Activation) (*value, error) {
	if v.n == 0 {
		return nil, fmt.Errorf("the shape of the network's input is not known: say it with \"input_shape\"")
	}
	if len(v.nodes) > 1 {
		return nil, fmt.Errorf("it takes several layers: put a concat in front")
	}
	y, err := b.add(node{act: a, in: v.nodes, of: None, n: v.n}, v.image)
	if err == nil {
		y.shape, y.perm = v.shape, v.perm
	}
	return y, err
}

// flat is the value as a list in the order of the file, through a Reorder if that is not the
// node's.
func (b *builder) flat(v *value) (*value, error) {
	if v.perm == nil {
		return v, nil
	}
	return b.add(node{m: network.Reorder{In: v.n, Order: v.perm}, in: v.nodes, of: None}, nil)
}

// image is the shape of a value as the layer takes it, and whether it lies channels first,
// which only lists do. Values that are permuted lists are put in order first.
func (b *builder) image(l *Layer, v *value) (*value, network.Image, bool, error) {
	var im network.Image
	v, err := b.flat(v)
	if err != nil {
		return v, im, false, err
	}
	shape := l.Shape
	if shape == nil {
		shape = v.shape
	}
	switch {
	case v.image != nil && l.Shape == nil:
		im = *v.image
	case shape == nil && l.Kind == BatchNorm:
		im = network.Image{Height: 1, Width: 1, Channels: v.n}
	case shape == nil:
		return v, im, false, fmt.Errorf("what feeds it is a list of %d numbers: say which image that is with \"input_shape\" of the layer", v.n)
	default:
		if im, err = imageOf(l, shape); err != nil {
			return v, im, false, err
		}
	}
	if v.image != nil {
		if im != *v.image {
			return v, im, false, fmt.Errorf("\"input_shape\" %v, but what feeds it is %v (rows, columns, channels)", l.Shape, *v.image)
		}
		return v, im, false, nil
	}
	if im.Len() != v.n {
		return v, im, false, fmt.Errorf("\"input_shape\" %v has %d numbers, but what feeds it has %d", shape, im.Len(), v.n)
	}
	return v, im, l.First, nil
}

// line reports whether the layer takes sequences.
func (l *Layer) line() bool { return l.Kind == Conv1D || len(l.Kernel) == 1 }

// imageOf is the image of a shape in the order of the layer.
func imageOf(l *Layer, shape []int) (network.Image, error) {
	im := network.Image{Height: 1, Width: 1, Channels: 1}
	d := slices.Clone(shape)
	if _, err := product(d); err != nil {
		return im, fmt.Errorf("input_shape %v %w", shape, err)
	}
	channels := len(d) == 3
	switch twoD := l.Kind == Conv2D || l.Kind == DepthwiseConv2D || len(l.Kernel) == 2; {
	case l.line():
		channels = len(d) == 2
		if len(d) > 2 {
			return im, fmt.Errorf("shape %v, where a sequence has two axes, its length and channels", shape)
		}
	case twoD && len(d) != 2 && len(d) != 3:
		return im, fmt.Errorf("shape %v, where an image has three axes, or two without channels", shape)
	case !twoD:
		channels = true
		if len(d) > 3 {
			return im, fmt.Errorf("shape %v has more than three axes", shape)
		}
	}
	if channels && len(d) > 0 {
		if l.First {
			im.Channels, d = d[0], d[1:]
		} else {
			im.Channels, d = d[len(d)-1], d[:len(d)-1]
		}
	}
	if len(d) == 2 {
		im.Height, d = d[0], d[1:]
	}
	if len(d) == 1 {
		im.Width = d[0]
	}
	return im, nil
}

// axis checks that the axis of the channels that Keras says is the last of an image, or of the
// list that a nil one is.
func (l *Layer) axis(im *network.Image) error {
	places, rows := 1, 1
	if im != nil {
		places, rows = im.Height*im.Width, im.Height
	}
	if l.Axis == 0 || l.Axis == 3 && im != nil || l.Axis == 2 && im != nil && rows == 1 || l.Axis == 1 && places == 1 {
		return nil
	}
	return fmt.Errorf("axis %d is not the last of what feeds it: only that is read", l.Axis)
}

// channelsLast makes a list channels last: a Reorder where it lies channels first.
func (b *builder) channelsLast(v *value, im network.Image, first bool) (*value, error) {
	if first && im.Channels > 1 && im.Height*im.Width > 1 {
		return b.add(node{m: network.Reorder{In: v.n, Order: firstOf(im)}, in: v.nodes, of: None}, &im)
	}
	c := *v
	c.image = &im
	return &c, nil
}

// firstOf returns for each number of an image, channels last, which it is channels first.
func firstOf(im network.Image) []int32 {
	order := make([]int32, 0, im.Len())
	for at := range im.Height * im.Width {
		for ch := range im.Channels {
			order = append(order, int32(ch*im.Height*im.Width+at))
		}
	}
	return order
}

// flatten makes a list of an image; the order of channels first is one of its numbers.
func (b *builder) flatten(l *Layer, v *value) (*value, error) {
	c := &value{nodes: v.nodes, n: v.n, perm: v.perm}
	if im := v.image; im != nil && l.First && im.Channels > 1 && im.Height*im.Width > 1 {
		if err := b.spend(v.n); err != nil {
			return nil, err
		}
		c.perm = make([]int32, im.Len())
		for last, first := range firstOf(*im) {
			c.perm[first] = int32(last)
		}
	}
	return c, nil
}
