package format

import (
	"fmt"
	"math"

	"psafe/host/read/npy"
)

// A plain evaluator of headers of version 2, by the definitions of Keras and PyTorch and with
// the arrays as files have them: nothing of package graph or network.

// plain is an image, or a list, of which only list is set.
type plain struct {
	h, w, c int
	at      map[[3]int]float64
	list    []float64
}

type plainNet struct {
	m      *meta
	arrays map[string]*npy.Array
	values map[string]*plain
}

func (n *plainNet) first(l *metaLayer) bool {
	return l.Order == orderFirst || l.Order == "" && n.m.Order == orderFirst
}

// image reads a list as the image of a shape.
func (n *plainNet) image(l *metaLayer, v *plain) *plain {
	if v.at != nil {
		return v
	}
	shape := l.Shape
	if shape == nil {
		shape = n.m.Shape
	}
	line := l.Kind == "conv1d" || len(l.Kernel) == 1
	im := &plain{at: map[[3]int]float64{}}
	switch first := n.first(l); {
	case line && first:
		im.h, im.w, im.c = 1, shape[1], shape[0]
	case line:
		im.h, im.w, im.c = 1, shape[0], shape[1]
	case first:
		im.h, im.w, im.c = shape[1], shape[2], shape[0]
	default:
		im.h, im.w, im.c = shape[0], shape[1], shape[2]
	}
	for i, x := range v.list {
		if n.first(l) {
			im.at[[3]int{i / im.w % im.h, i % im.w, i / im.w / im.h}] = x
		} else {
			im.at[[3]int{i / im.c / im.w, i / im.c % im.w, i % im.c}] = x
		}
	}
	return im
}

// flat lists an image in the order of the layer.
func (n *plainNet) flat(l *metaLayer, v *plain) *plain {
	if v.at == nil {
		return v
	}
	out := &plain{}
	if n.first(l) {
		for c := range v.c {
			for y := range v.h {
				for x := range v.w {
					out.list = append(out.list, v.at[[3]int{y, x, c}])
				}
			}
		}
		return out
	}
	for y := range v.h {
		for x := range v.w {
			for c := range v.c {
				out.list = append(out.list, v.at[[3]int{y, x, c}])
			}
		}
	}
	return out
}

// two is a list of one number, for the columns, or two.
func two(list []int, otherwise [2]int, line int) [2]int {
	switch {
	case list == nil:
		return otherwise
	case len(list) == 1:
		return [2]int{line, list[0]}
	}
	return [2]int{list[0], list[1]}
}

// slide calls do for each place of the window and each tap in the image, and says where both
// lie; padding is as Keras defines its words.
func (n *plainNet) slide(l *metaLayer, v *plain, stride [2]int, do func(oy, ox, a, b, y, x int)) (h, w int) {
	kernel, dilation := two(l.Kernel, [2]int{}, 1), two(l.Dilation, [2]int{1, 1}, 1)
	stride = two(l.Strides, stride, 1)
	var before, out [2]int
	for d, size := range []int{v.h, v.w} {
		reach := (kernel[d]-1)*dilation[d] + 1
		switch p := l.Padding; {
		case p == nil || p.Word == "valid":
			out[d] = (size-reach)/stride[d] + 1
		case p.Word == "same":
			out[d] = int(math.Ceil(float64(size) / float64(stride[d])))
			before[d] = max(0, (out[d]-1)*stride[d]+reach-size) / 2
		case p.Word == "causal":
			out[d] = (size-1)/stride[d] + 1
			before[d] = reach - 1
		default:
			pair := [2]int{}
			if len(p.Pairs) == 2 {
				pair = p.Pairs[d]
			} else if d == 1 {
				pair = p.Pairs[0]
			}
			before[d] = pair[0]
			out[d] = (size+pair[0]+pair[1]-reach)/stride[d] + 1
		}
	}
	for oy := range out[0] {
		for ox := range out[1] {
			for a := range kernel[0] {
				for b := range kernel[1] {
					y, x := oy*stride[0]+a*dilation[0]-before[0], ox*stride[1]+b*dilation[1]-before[1]
					if y >= 0 && y < v.h && x >= 0 && x < v.w {
						do(oy, ox, a, b, y, x)
					}
				}
			}
		}
	}
	return out[0], out[1]
}

// kernel is the weight of a tap from channel i, of its group, to filter o.
func (n *plainNet) kernel(l *metaLayer, w *npy.Array, a, b, i, o, channels int) float64 {
	s := w.Shape
	index := func(at ...int) float64 {
		k := 0
		for d := range s {
			k = k*s[d] + at[d]
		}
		return w.Data[k]
	}
	switch first := n.first(l); {
	case l.Kind == "conv1d" && first:
		return index(o, i, b)
	case l.Kind == "conv1d":
		return index(b, i, o)
	case first:
		return index(o, i, a, b)
	case l.Kind == "depthwise_conv2d":
		each := s[3]
		return index(a, b, o/each, o%each)
	}
	return index(a, b, i, o)
}

func (n *plainNet) conv(k int, l *metaLayer, v *plain) *plain {
	v = n.image(l, v)
	w, bias := n.arrays[fmt.Sprintf("layers.%d.weight.mean", k)], n.arrays[fmt.Sprintf("layers.%d.bias.mean", k)]
	groups, filters := max(1, l.Groups), l.Filters
	if l.Kind == "depthwise_conv2d" {
		groups, filters = v.c, max(filters, v.c)
	}
	out := &plain{c: filters, at: map[[3]int]float64{}}
	each, of := v.c/groups, filters/groups
	out.h, out.w = n.slide(l, v, [2]int{1, 1}, func(oy, ox, a, b, y, x int) {
		for o := range filters {
			for i := range each {
				out.at[[3]int{oy, ox, o}] += v.at[[3]int{y, x, o/of*each + i}] * n.kernel(l, w, a, b, i, o, each)
			}
		}
	})
	for y := range out.h {
		for x := range out.w {
			for o := range filters {
				if bias != nil {
					out.at[[3]int{y, x, o}] += bias.Data[o]
				}
			}
		}
	}
	return out
}

func (n *plainNet) pool(l *metaLayer, v *plain) *plain {
	v = n.image(l, v)
	of := *l
	if l.Kernel == nil { // global
		of.Kernel = []int{v.h, v.w}
	}
	out, count := &plain{c: v.c, at: map[[3]int]float64{}}, map[[3]int]int{}
	top := l.Kind == "max_pool" || l.Kind == "global_max_pool"
	kernel := two(of.Kernel, [2]int{}, 1)
	out.h, out.w = n.slide(&of, v, kernel, func(oy, ox, _, _, y, x int) {
		for c := range v.c {
			at, z := [3]int{oy, ox, c}, v.at[[3]int{y, x, c}]
			switch {
			case !top:
				out.at[at] += z
			case count[at] == 0 || z > out.at[at]:
				out.at[at] = z
			}
			count[at]++
		}
	})
	for at, taps := range count {
		switch {
		case top:
		case l.CountPadding:
			out.at[at] /= float64(kernel[0] * kernel[1])
		default:
			out.at[at] /= float64(taps)
		}
	}
	return out
}

// apply evaluates a layer without its activation.
func (n *plainNet) apply(k int, l *metaLayer, from []*plain) *plain {
	if l.Kind == "add" || l.Kind == "concat" {
		for _, v := range from {
			if v.at == nil {
				continue
			}
			for i := range from { // the network's input is an image too
				from[i] = n.image(l, from[i])
			}
		}
	}
	v := from[0]
	switch l.Kind {
	case "dense":
		w, bias := n.arrays[fmt.Sprintf("layers.%d.weight.mean", k)], n.arrays[fmt.Sprintf("layers.%d.bias.mean", k)]
		var in []float64
		for _, v := range from {
			in = append(in, n.flat(lastOrder, v).list...)
		}
		out := &plain{}
		for o := range l.Out {
			sum := 0.0
			if bias != nil {
				sum = bias.Data[o]
			}
			for i, x := range in {
				if n.m.Layout == layoutOI {
					sum += x * w.Data[o*len(in)+i]
				} else {
					sum += x * w.Data[i*l.Out+o]
				}
			}
			out.list = append(out.list, sum)
		}
		return out
	case "conv2d", "conv1d", "depthwise_conv2d":
		return n.conv(k, l, v)
	case "max_pool", "avg_pool", "global_max_pool", "global_avg_pool":
		return n.pool(l, v)
	case "flatten":
		return n.flat(l, v)
	case "batch_norm":
		gain, shift := n.arrays[fmt.Sprintf("layers.%d.weight.mean", k)].Data, n.arrays[fmt.Sprintf("layers.%d.bias.mean", k)].Data
		out := &plain{h: v.h, w: v.w, c: v.c}
		if v.at == nil {
			for i, x := range v.list {
				out.list = append(out.list, x*gain[i]+shift[i])
			}
			return out
		}
		out.at = map[[3]int]float64{}
		for at, x := range v.at {
			out.at[at] = x*gain[at[2]] + shift[at[2]]
		}
		return out
	case "add":
		out := &plain{h: v.h, w: v.w, c: v.c}
		if v.at != nil {
			out.at = map[[3]int]float64{}
		} else {
			out.list = make([]float64, len(v.list))
		}
		for _, t := range from {
			for at, x := range t.at {
				out.at[at] += x
			}
			for i, x := range t.list {
				out.list[i] += x
			}
		}
		return out
	case "concat":
		out := &plain{h: v.h, w: v.w}
		if v.at != nil {
			out.at = map[[3]int]float64{}
		}
		for _, t := range from {
			for at, x := range t.at {
				out.at[[3]int{at[0], at[1], at[2] + out.c}] = x
			}
			out.c += t.c
			out.list = append(out.list, t.list...)
		}
		return out
	case "reorder":
		out := &plain{}
		for _, i := range l.Take {
			out.list = append(out.list, v.list[i])
		}
		return out
	}
	return v
}

// logits evaluates the network.
func (n *plainNet) logits(x []float64) []float64 {
	n.values = map[string]*plain{"input": {list: x}}
	last := n.values["input"]
	for k := range n.m.Layers {
		l := &n.m.Layers[k]
		from := []*plain{last}
		if l.From != nil {
			from = nil
			for _, name := range l.From {
				from = append(from, n.values[name])
			}
		}
		v := *n.apply(k, l, from)
		act := map[string]func(float64) float64{
			"relu": func(t float64) float64 { return math.Max(t, 0) }, "tanh": math.Tanh,
			"leaky_relu:0.25": func(t float64) float64 { return math.Max(t, 0.25*t) },
		}[l.Activation]
		if act != nil {
			at, list := map[[3]int]float64{}, []float64{}
			for i, z := range v.at {
				at[i] = act(z)
			}
			for _, z := range v.list {
				list = append(list, act(z))
			}
			if v.at != nil {
				v.at = at
			}
			v.list = list
		}
		last = &v
		n.values[l.Name] = last
	}
	return n.flat(lastOrder, last).list
}

var lastOrder = &metaLayer{graphFields: graphFields{Order: orderLast}}
