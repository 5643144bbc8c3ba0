package lower

import (
	"fmt"

	"psafe/host/model/network"
	"psafe/host/read/format/graph"
	"psafe/host/read/onnx"
)

// windows are the places that a kernel takes on an input with one or two axes.
type windows struct {
	in, kernel, stride, dilation []int
	pad                          [][2]int // before and after
	// longer reports whether ceil_mode added to the padding behind.
	longer bool
}

// mostAlong bounds sizes along an axis, lest their sums overflow.
const mostAlong = 1 << 20

// windowsOf reads the attributes of a node that moves a kernel over an input of shape
// (N, C, D1, ...). kernel is nil where the attribute kernel_shape says it; ceil is ceil_mode.
func windowsOf(at *attributes, shape, kernel []int, ceil bool) (*windows, error) {
	axes := len(shape) - 2
	w := &windows{in: shape[2:]}
	var err error
	list := func(name string, n int, least int64, absent int) []int {
		given := at.ints(name)
		if given != nil && len(given) != n && err == nil {
			err = fmt.Errorf("%s has %d numbers instead of %d", name, len(given), n)
		}
		all := make([]int, n)
		for i := range all {
			all[i] = absent
			if i < len(given) {
				if given[i] < least || given[i] > mostAlong {
					err = fmt.Errorf("%s has %d: %d to %d are lowered", name, given[i], least, mostAlong)
				}
				all[i] = int(given[i])
			}
		}
		return all
	}
	said := list("kernel_shape", axes, 1, 0)
	w.stride, w.dilation = list("strides", axes, 1, 1), list("dilations", axes, 1, 1)
	pads := list("pads", 2*axes, 0, 0)
	auto := at.text("auto_pad", "NOTSET")
	if err == nil {
		err = at.err
	}
	if err != nil {
		return nil, err
	}
	if w.kernel = kernel; kernel == nil {
		w.kernel = said
	}
	for i, k := range w.kernel {
		if k < 1 || k > mostAlong || said[i] != 0 && said[i] != k {
			return nil, fmt.Errorf("its kernel is %v, kernel_shape says %v", w.kernel, said)
		}
		if w.in[i] > mostAlong {
			return nil, fmt.Errorf("its input has the shape %v: an axis may have %d", shape, mostAlong)
		}
		if err := w.along(i, pads[i], pads[axes+i], auto, ceil); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// along settles the padding of axis i.
func (w *windows) along(i, begin, end int, auto string, ceil bool) error {
	in, reach, stride := w.in[i], (w.kernel[i]-1)*w.dilation[i]+1, w.stride[i]
	if auto != "NOTSET" && begin+end > 0 {
		return fmt.Errorf("it has pads and auto_pad %.20q", auto)
	}
	switch auto {
	case "NOTSET", "VALID":
	case "SAME_UPPER", "SAME_LOWER":
		all := max(0, ((in+stride-1)/stride-1)*stride+reach-in)
		begin, end = all/2, all-all/2
		if auto == "SAME_LOWER" {
			begin, end = end, begin
		}
	default:
		return fmt.Errorf("its auto_pad %.20q is not known", auto)
	}
	free := in + begin + end - reach
	if free < 0 {
		return fmt.Errorf("a kernel that reaches over %d does not fit into %d", reach, in+begin+end)
	}
	if over := free % stride; ceil {
		last := (free + stride - 1) / stride * stride // where the last window begins
		if last >= begin+in || over != 0 && auto != "NOTSET" {
			return fmt.Errorf("with ceil_mode 1 and its padding, programs do not agree on its last window: export it with ceil_mode 0, or with pads in place of auto_pad")
		}
		if over != 0 { // it reaches beyond the padding
			end += stride - over
			w.longer = true
		}
	}
	w.pad = append(w.pad, [2]int{begin, end})
	return nil
}

// layer returns the layer of a kind with these windows, over an image: a sequence has one row.
func (w *windows) layer(kind string) Layer {
	of := graph.Layer{Kind: kind, Kernel: w.kernel, Strides: w.stride, Dilation: w.dilation, Padding: graph.Padding{Pairs: w.pad}}
	if len(w.in) == 1 {
		row := func(list []int) []int { return []int{1, list[0]} }
		of.Kernel, of.Strides, of.Dilation, of.Padding.Pairs = row(w.kernel), row(w.stride), row(w.dilation), [][2]int{{}, w.pad[0]}
	}
	return Layer{Layer: of}
}

// out is the image that a layer with windows gives of one.
func out(l *graph.Layer, in network.Image, channels int) network.Image {
	along := func(d, n int) int {
		return (n+l.Padding.Pairs[d][0]+l.Padding.Pairs[d][1]-(l.Kernel[d]-1)*l.Dilation[d]-1)/l.Strides[d] + 1
	}
	return network.Image{Height: along(0, in.Height), Width: along(1, in.Width), Channels: channels}
}

// slid adds a layer with windows over x, an image of that shape, and gives what it gives.
func (l *lowering) slid(layer Layer, x *value, im network.Image, channels int) (*value, error) {
	places := im.Height * im.Width
	to := out(&layer.Layer, im, channels)
	if err := l.feed(&layer.Layer, x, im, lastOf(im.Len(), im.Channels, places)); err != nil {
		return nil, err
	}
	shape := []int{1, channels, to.Height, to.Width}
	if len(x.shape) == 3 {
		shape = []int{1, channels, to.Width}
	}
	n, err := l.count(shape)
	if err != nil {
		return nil, err
	}
	k, err := l.state(layer, n, to)
	return l.viewed(shape, k, lastOf(n, channels, to.Height*to.Width)), err
}

// conv is a convolution with a constant kernel, (M, C/group, K1, ...).
func (l *lowering) conv(n *onnx.Node) error {
	at := attributesOf(n)
	group := at.int("group", 1)
	in, err := l.operands(n, 2, 3)
	if err != nil {
		return err
	}
	x, kernel, bias := in[0], in[1], in[2]
	if x.isConst() || !kernel.isConst() || bias != nil && !bias.isConst() {
		return fmt.Errorf("its kernel and bias must be constants, and its input not")
	}
	im, err := inImage(x.shape)
	if err != nil {
		return err
	}
	if len(kernel.shape) != len(x.shape) {
		return fmt.Errorf("its input has the shape %v, its kernel %v", x.shape, kernel.shape)
	}
	w, err := windowsOf(at, x.shape, kernel.shape[2:], false)
	if err == nil {
		err = at.end()
	}
	if err != nil {
		return err
	}
	filters, per := kernel.shape[0], kernel.shape[1]
	if group < 1 || group > int64(im.Channels) || int64(per)*group != int64(im.Channels) || filters%int(group) != 0 || bias != nil && len(bias.c) != filters {
		return fmt.Errorf("its input has the shape %v, its kernel %v, with group %d", x.shape, kernel.shape, group)
	}
	places := product(w.kernel)
	layer := weighted(kernel, len(kernel.c), func(i int) int {
		return (i%filters*per+i/filters%per)*places + i/filters/per
	}, bias, filters)
	of := w.layer(graph.Conv2D).Layer
	of.Filters, of.Groups = filters, int(group)
	layer.Layer = of
	y, err := l.slid(layer, x, im, filters)
	return l.give(n, y, err)
}

// pooled is a pool, perhaps over all axes behind the channels. Padding is never the greatest; it
// counts in a mean with count_include_pad alone.
func pooled(kind string, global bool) func(*lowering, *onnx.Node) error {
	return func(l *lowering, n *onnx.Node) error {
		at := attributesOf(n)
		counted, ceil := int64(0), int64(0)
		switch {
		case global:
		case kind == graph.AvgPool:
			counted, ceil = at.int("count_include_pad", 0), at.int("ceil_mode", 0)
		default:
			ceil = at.int("ceil_mode", 0)
			at.int("storage_order", 0) // of the second output
		}
		in, err := l.operands(n, 1, 1)
		if err != nil {
			return err
		}
		x := in[0]
		if x.isConst() {
			return errFold
		}
		im, err := inImage(x.shape)
		if err != nil {
			return err
		}
		windowed, kernel := at, []int(nil)
		if global {
			windowed, kernel = attributesOf(&onnx.Node{}), x.shape[2:]
		}
		w, err := windowsOf(windowed, x.shape, kernel, ceil != 0)
		if err == nil {
			err = at.end()
		}
		if err != nil {
			return err
		}
		if w.longer && counted != 0 {
			return fmt.Errorf("with ceil_mode 1 and count_include_pad 1, programs do not agree on the mean of its last window: export it with one of them 0")
		}
		layer := w.layer(kind)
		layer.CountPadding = counted != 0
		y, err := l.slid(layer, x, im, im.Channels)
		return l.give(n, y, err)
	}
}
