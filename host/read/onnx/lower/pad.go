package lower

import (
	"fmt"
	"slices"

	"psafe/host/model/network"
	"psafe/host/read/format/graph"
	"psafe/host/read/onnx"
)

// padded puts a constant around a tensor. (torch exports one before every AveragePool.)
func (l *lowering) padded(n *onnx.Node) error {
	at := attributesOf(n)
	mode, pads, fill := at.text("mode", "constant"), at.ints("pads"), at.float("value", 0)
	in, err := l.operandsOf(at, 1, 3)
	if err != nil {
		return err
	}
	if mode != "constant" {
		return fmt.Errorf("mode %.20q: only padding with a constant is lowered", mode)
	}
	v, around := in[0], &value{base: -1, c: []float64{fill}}
	if in[1] != nil {
		if in[1].ints == nil {
			return fmt.Errorf("its pads are not a constant list of int64: export the network with fixed shapes")
		}
		pads = in[1].ints
	}
	if in[2] != nil {
		if !in[2].isConst() || len(in[2].c) != 1 {
			return fmt.Errorf("it needs a constant to pad with")
		}
		if around, err = l.fixed(in[2]); err != nil {
			return err
		}
	}
	axes := len(v.shape)
	if len(pads) != 2*axes {
		return fmt.Errorf("%d pads for %d axes", len(pads), axes)
	}
	shape := make([]int, axes)
	for i, d := range v.shape {
		for _, p := range []int64{pads[i], pads[axes+i]} {
			if p < 0 || p > mostAlong {
				return fmt.Errorf("pads has %d: 0 to %d are lowered", p, mostAlong)
			}
			d += int(p)
		}
		shape[i] = d
	}
	if l.views && !v.isConst() {
		out, err := l.surrounded(v, shape, pads, around.c[0])
		return l.give(n, out, err)
	}
	out, err := l.combine(shape, []*value{v}, func(i int, add adder) {
		from, stride, inside := 0, 1, true
		for a := axes - 1; a >= 0; a-- {
			x := i%shape[a] - int(pads[a])
			i /= shape[a]
			inside = inside && x >= 0 && x < v.shape[a]
			from += x * stride
			stride *= v.shape[a]
		}
		if inside {
			add(v, from, 1, 0)
		} else {
			add(around, 0, 1, 0)
		}
	})
	return l.give(n, out, err)
}

// surrounded pads the last two axes of a view, in (outer, rows, columns), by a convolution that
// takes each number as it is. For another number than 0, that is subtracted first.
func (l *lowering) surrounded(v *value, shape []int, pads []int64, fill float64) (*value, error) {
	axes := len(shape)
	layer := graph.Layer{Kind: graph.Conv2D, Kernel: []int{1, 1}, Strides: []int{1, 1}, Dilation: []int{1, 1}, Padding: graph.Padding{Pairs: make([][2]int, 2)}}
	im := network.Image{Height: 1, Width: 1, Channels: len(v.at)}
	for a := range axes {
		size := v.shape[a]
		switch pair := [2]int{int(pads[a]), int(pads[axes+a])}; {
		case a == axes-1:
			im.Width, layer.Padding.Pairs[1] = size, pair
		case a == axes-2:
			im.Height, layer.Padding.Pairs[0] = size, pair
		case pair != [2]int{}:
			return nil, fmt.Errorf("it pads axis %d of %d: only the last two are read", a, axes)
		}
	}
	im.Channels /= im.Height * im.Width
	if slices.Equal(v.shape, shape) {
		return v, nil
	}
	if im.Channels > mostGains {
		return nil, fmt.Errorf("it pads %d channels: at most %d are read", im.Channels, mostGains)
	}
	var err error
	if fill != 0 {
		if v, err = l.shifted(v, scalar(fill), -1, func(int) int { return 0 }); err != nil {
			return nil, err
		}
	}
	layer.Filters, layer.Groups = im.Channels, im.Channels
	same := Layer{Layer: layer, Weight: slices.Repeat([]float64{1}, im.Channels), Bias: slices.Repeat([]float64{fill}, im.Channels)}
	y, err := l.slid(same, v.reshaped([]int{1, im.Channels, im.Height, im.Width}), im, im.Channels)
	if err != nil {
		return nil, err
	}
	return y.reshaped(shape), nil
}
