package graph

import (
	"fmt"
	"slices"

	"psafe/host/model/network"
)

// dense takes a list, or an image of one place.
func (b *builder) dense(k int, l *Layer, v *value) (*value, error) {
	if im := v.image; im != nil && im.Height*im.Width > 1 {
		return nil, fmt.Errorf("it is dense and what feeds it is an image of %v: put a flatten in front", *im)
	}
	if l.Filters < 1 {
		return nil, fmt.Errorf("it does not say how many outputs it has")
	}
	if err := weights(v.n, l.Filters); err != nil {
		return nil, err
	}
	b.parameters[k] = Parameters{Weight: []int{v.n, l.Filters}, Bias: l.Filters}
	if l.OutIn {
		b.parameters[k].Axes = []int{1, 0}
	}
	return b.add(node{m: network.Dense{In: v.n, Out: l.Filters}, in: v.nodes, of: k, rows: v.perm}, nil)
}

// conv is a convolution, or a batch norm, which is one by channels.
func (b *builder) conv(k int, l *Layer, v *value) (*value, error) {
	v, im, first, err := b.image(l, v)
	if err != nil {
		return nil, err
	}
	c := network.Conv{In: im, Groups: max(1, l.Groups), Filters: l.Filters, ChannelsFirst: first}
	switch l.Kind {
	case BatchNorm:
		c.Groups, c.Filters, c.Window = im.Channels, im.Channels, unitWindow()
		if err := l.axis(&im); err != nil {
			return nil, err
		}
	case DepthwiseConv2D:
		if c.Groups = im.Channels; c.Filters == 0 {
			if l.Multiplier > mostNumbers/im.Channels {
				return nil, fmt.Errorf("multiplier %d is too large", l.Multiplier)
			}
			c.Filters = im.Channels * max(1, l.Multiplier)
		}
	}
	if c.Filters < 1 {
		return nil, fmt.Errorf("it does not say how many filters it has")
	}
	if l.Kind == Conv1D && im.Height != 1 {
		return nil, fmt.Errorf("it takes sequences, but what feeds it is an image of %v", im)
	}
	if l.Kind != BatchNorm {
		if c.Window, err = l.window(im, nil); err != nil {
			return nil, err
		}
	}
	if err := c.Check(); err != nil {
		return nil, err
	}
	size, each := c.Window.Size, im.Channels/c.Groups
	if err := weights(size[0], size[1], each, c.Filters); err != nil {
		return nil, err
	}
	p := Parameters{Bias: c.Filters}
	switch {
	case l.Kind == BatchNorm:
		p.Weight = []int{c.Filters}
	case l.Kind == Conv1D:
		p.Weight = []int{size[1], each, c.Filters}
		if l.First {
			p.Axes = []int{2, 1, 0}
		}
	case l.First:
		p.Weight, p.Axes = []int{size[0], size[1], each, c.Filters}, []int{2, 3, 1, 0}
	case l.Kind == DepthwiseConv2D:
		p.Weight = []int{size[0], size[1], im.Channels, c.Filters / im.Channels}
	default:
		p.Weight = []int{size[0], size[1], each, c.Filters}
	}
	b.parameters[k] = p
	out := c.Out()
	if l.Normalise {
		if v, err = b.add(node{m: c, in: v.nodes, of: k, normalise: true}, &out); err != nil {
			return nil, err
		}
		c.ChannelsFirst = false
	}
	return b.add(node{m: c, in: v.nodes, of: k}, &out)
}

func unitWindow() network.Window {
	return network.Window{Size: [2]int{1, 1}, Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}}
}

// pool is one of the pools. A max pool takes what is in front of an activation, which comes
// after it: every activation is nondecreasing, so that is the same function.
func (b *builder) pool(l *Layer, v *value) (*value, error) {
	v, im, first, err := b.image(l, v)
	if err != nil {
		return nil, err
	}
	if v, err = b.channelsLast(v, im, first); err != nil {
		return nil, err
	}
	w := unitWindow()
	switch l.Kind {
	case GlobalAvgPool, GlobalMaxPool:
		w.Size = [2]int{im.Height, im.Width}
	default:
		if len(l.Kernel) == 1 && im.Height != 1 {
			return nil, fmt.Errorf("its kernel %v is for sequences, but what feeds it is an image of %v", l.Kernel, im)
		}
		if w, err = l.window(im, l.Kernel); err != nil {
			return nil, err
		}
	}
	if l.Kind == AvgPool || l.Kind == GlobalAvgPool {
		m := network.AvgPool{In: im, Window: w, CountPadding: l.CountPadding}
		if err := m.Check(); err != nil {
			return nil, err
		}
		out := m.Out()
		return b.add(node{m: m, in: v.nodes, of: None}, &out)
	}
	m := network.MaxPool{In: im, Window: w}
	if err := m.Check(); err != nil {
		return nil, err
	}
	in, acts := v.nodes, []network.Activation(nil)
	for len(in) == 1 && in[0] >= 0 && b.nodes[in[0]].m == nil {
		acts, in = append(acts, b.nodes[in[0]].act), b.nodes[in[0]].in
	}
	if len(in) > 1 || in[0] < 0 || b.nodes[in[0]].m == nil {
		copied, err := b.add(node{m: identity(im.Len()), in: in, of: None}, nil)
		if err != nil {
			return nil, err
		}
		in = copied.nodes
	}
	out := m.Out()
	if v, err = b.add(node{m: m, in: in, of: None}, &out); err != nil {
		return nil, err
	}
	for _, a := range slices.Backward(acts) {
		if v, err = b.activate(v, a); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// identity gives all its inputs.
func identity(n int) network.Reorder {
	r := network.Reorder{In: n, Order: make([]int32, n)}
	for i := range r.Order {
		r.Order[i] = int32(i)
	}
	return r
}

// window returns the window of the layer over an image. strides are those where it says none, nil for 1.
func (l *Layer) window(im network.Image, strides []int) (network.Window, error) {
	w := unitWindow()
	d := 2
	if l.line() {
		d = 1
	}
	if len(l.Kernel) == 0 {
		return w, fmt.Errorf("it does not say the size of its kernel")
	}
	if l.Strides != nil {
		strides = l.Strides
	}
	for _, f := range []struct {
		name string
		list []int
		to   *[2]int
	}{{"kernel", l.Kernel, &w.Size}, {"strides", strides, &w.Stride}, {"dilation", l.Dilation, &w.Dilation}} {
		if f.list == nil {
			continue
		}
		if len(f.list) != d {
			return w, fmt.Errorf("%s %v: give %d numbers", f.name, f.list, d)
		}
		for k, n := range f.list {
			if n < 1 || n > 1<<20 {
				return w, fmt.Errorf("%s %v: the numbers are from 1 to 2^20", f.name, f.list)
			}
			f.to[2-d+k] = n
		}
	}
	return w, l.pad(&w, im, d)
}

// pad sets the padding of a window.
func (l *Layer) pad(w *network.Window, im network.Image, d int) error {
	switch p := &l.Padding; {
	case p.Pairs != nil:
		if len(p.Pairs) != d {
			return fmt.Errorf("padding %v: give %d pairs of numbers, before and after", p.Pairs, d)
		}
		for k, pair := range p.Pairs {
			w.Before[2-d+k], w.After[2-d+k] = pair[0], pair[1]
		}
	case p.Word == "" || p.Word == "valid":
	case p.Word == "same":
		for k, n := range []int{im.Height, im.Width} {
			span := (w.Size[k]-1)*w.Dilation[k] + 1
			all := max(0, ((n+w.Stride[k]-1)/w.Stride[k]-1)*w.Stride[k]+span-n)
			w.Before[k], w.After[k] = all/2, all-all/2
		}
	case p.Word == "causal" && l.Kind == Conv1D:
		w.Before[1] = (w.Size[1] - 1) * w.Dilation[1]
	default:
		return fmt.Errorf("padding %.40q is none of valid, same and pairs of numbers such as [[1, 1], [1, 1]]", p.Word)
	}
	return nil
}

// sum adds lists or images of one shape.
func (b *builder) sum(l *Layer, from []*value) (*value, error) {
	images, im, err := b.images(l, from, true)
	if err != nil {
		return nil, err
	}
	var in []int
	for _, v := range from {
		if v.n != from[0].n || len(v.nodes) > 1 {
			return nil, fmt.Errorf("it adds %d numbers to %d: they must be as many", v.n, from[0].n)
		}
		in = append(in, v.nodes...)
	}
	m := network.Add{N: from[0].n, Terms: len(in)}
	if !images {
		return b.add(node{m: m, in: in, of: None}, nil)
	}
	return b.add(node{m: m, in: in, of: None}, &im)
}

// concat puts lists one after the other, or the channels of images.
func (b *builder) concat(l *Layer, from []*value) (*value, error) {
	images, im, err := b.images(l, from, false)
	if err != nil {
		return nil, err
	}
	if err := l.axis(from[0].image); err != nil {
		return nil, err
	}
	m := network.Concat{Height: 1, Width: 1}
	if images {
		m.Height, m.Width = im.Height, im.Width
	}
	var in []int
	for _, v := range from {
		m.Channels, in = append(m.Channels, v.n/(m.Height*m.Width)), append(in, v.nodes...)
	}
	if !images {
		return b.add(node{m: m, in: in, of: None}, nil)
	}
	if err := m.Check(); err != nil {
		return nil, err
	}
	im.Channels = m.Outputs() / (m.Height * m.Width)
	return b.add(node{m: m, in: in, of: None}, &im)
}

// images makes images of all values, in from, if one of them is one or the layer says a shape,
// and else lists. They must have one height and width, and if alike one number of channels. An
// image of one place is a list beside lists, as that of a batch norm of one is.
func (b *builder) images(l *Layer, from []*value, alike bool) (images bool, im network.Image, err error) {
	if len(from) < 2 {
		return false, im, fmt.Errorf("%d layers feed it: name two or more in \"from\"", len(from))
	}
	lists, places := false, false
	for _, v := range from {
		lists, places = lists || v.image == nil, places || v.image != nil && v.image.Height*v.image.Width > 1
		images = images || v.image != nil
		if v.n == 0 && l.Shape == nil {
			return false, im, fmt.Errorf("the shape of the network's input is not known: say it with \"input_shape\"")
		}
	}
	images = l.Shape != nil || images && !(lists && !places)
	for k, v := range from {
		if v, err = b.flat(v); err != nil {
			return images, im, err
		}
		if images {
			of := *l
			if l.Shape != nil && !alike {
				if of.Shape, err = withChannels(l, v.n); err != nil {
					return images, im, err
				}
			}
			var one network.Image
			var first bool
			if v, one, first, err = b.image(&of, v); err != nil {
				return images, im, err
			}
			if v, err = b.channelsLast(v, one, first); err != nil {
				return images, im, err
			}
			switch was := im; {
			case k == 0:
				im = one
			case one.Height != was.Height || one.Width != was.Width || alike && one.Channels != was.Channels:
				return images, im, fmt.Errorf("it is fed by images of %v and %v, which do not fit", was, one)
			}
		}
		from[k] = v
	}
	return images, im, nil
}

// withChannels is the shape of n numbers of the height and width that a Concat says.
func withChannels(l *Layer, n int) ([]int, error) {
	at, err := product(l.Shape)
	if err != nil || len(l.Shape) > 2 || n%at != 0 {
		return nil, fmt.Errorf("\"input_shape\" %v is no height and width of %d numbers", l.Shape, n)
	}
	if l.First {
		return append([]int{n / at}, l.Shape...), nil
	}
	return append(slices.Clone(l.Shape), n/at), nil
}

// reorder gives some of its inputs.
func (b *builder) reorder(l *Layer, v *value) (*value, error) {
	v, err := b.flat(v)
	if err != nil {
		return nil, err
	}
	if l.Take == nil {
		return b.add(node{m: identity(v.n), in: v.nodes, of: None}, nil)
	}
	r := network.Reorder{In: v.n}
	for _, i := range l.Take {
		if i < 0 || i >= v.n {
			return nil, fmt.Errorf("\"take\" has number %d, and what feeds it gives %d", i, v.n)
		}
		r.Order = append(r.Order, int32(i))
	}
	return b.add(node{m: r, in: v.nodes, of: None}, nil)
}
