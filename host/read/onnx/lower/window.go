package lower

import (
	"fmt"

	"psafe/host/read/onnx"
)

// windows are the places that a kernel takes on an input with one to three axes.
type windows struct {
	in, out, kernel       []int
	stride, dilation, pad []int
	// padded says that a window may reach over the edge.
	padded bool
}

// mostAlong bounds sizes along an axis, lest their sums overflow.
const mostAlong = 1 << 20

// windowsOf reads the attributes of a node that moves a kernel over an input of shape
// (N, C, D1, ...). kernel is nil where the attribute kernel_shape says it.
func windowsOf(at *attributes, shape, kernel []int) (*windows, error) {
	axes := len(shape) - 2
	if axes < 1 || axes > 3 {
		return nil, fmt.Errorf("its input has the shape %v: (N, C) and one to three axes are lowered", shape)
	}
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
	ceil := at.int("ceil_mode", 0)
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
		size, err := w.along(i, pads[i], pads[axes+i], auto, ceil != 0)
		if err != nil {
			return nil, err
		}
		w.out = append(w.out, size)
	}
	return w, nil
}

// along settles the padding of axis i and gives the number of windows along it.
func (w *windows) along(i, begin, end int, auto string, ceil bool) (int, error) {
	in, reach, stride := w.in[i], (w.kernel[i]-1)*w.dilation[i]+1, w.stride[i]
	if auto != "NOTSET" && begin+end > 0 {
		return 0, fmt.Errorf("it has pads and auto_pad %.20q", auto)
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
		return 0, fmt.Errorf("its auto_pad %.20q is not known", auto)
	}
	free := in + begin + end - reach
	if free < 0 {
		return 0, fmt.Errorf("a kernel that reaches over %d does not fit into %d", reach, in+begin+end)
	}
	if ceil && free%stride != 0 {
		return 0, fmt.Errorf("with ceil_mode 1 its last window would reach over the padding, which is not lowered: pad the input instead")
	}
	w.pad = append(w.pad, begin)
	w.padded = w.padded || begin+end > 0
	return free/stride + 1, nil
}

// visit calls at for each place of the kernel that lies on the input: its number in the
// kernel and in the input.
func (w *windows) visit(window int, at func(kernel, input int)) {
	var corner, step [3]int
	axes := len(w.in)
	for a := axes - 1; a >= 0; a-- {
		corner[a] = window%w.out[a]*w.stride[a] - w.pad[a]
		window /= w.out[a]
	}
	for k := range product(w.kernel) {
		input, inside := 0, true
		for a := range axes {
			x := corner[a] + step[a]*w.dilation[a]
			inside = inside && x >= 0 && x < w.in[a]
			input = input*w.in[a] + x
		}
		if inside {
			at(k, input)
		}
		for a := axes - 1; a >= 0; a-- {
			if step[a]++; step[a] < w.kernel[a] {
				break
			}
			step[a] = 0
		}
	}
}

// fits counts what visiting all windows of so many channels would take.
func (l *lowering) fits(w *windows, channels int) error {
	steps := int64(channels)
	for _, list := range [][]int{w.out, w.kernel} {
		for _, d := range list {
			if steps *= int64(d); steps > mostSteps {
				return fmt.Errorf("its windows have more than %d places: the network is too large", int64(mostSteps))
			}
		}
	}
	if l.steps += steps; l.steps > mostSteps {
		return fmt.Errorf("more than %d products of coefficients: the network is too large", int64(mostSteps))
	}
	return nil
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
	for _, v := range in[1:] {
		if v != nil && v.id != nil {
			return l.sharedError(l.nameOf(v), "it is shared by all places of a convolution")
		}
	}
	if len(kernel.shape) != len(x.shape) || len(x.shape) < 3 {
		return fmt.Errorf("its input has the shape %v, its kernel %v", x.shape, kernel.shape)
	}
	w, err := windowsOf(at, x.shape, kernel.shape[2:])
	if err == nil {
		err = at.end()
	}
	if err != nil {
		return err
	}
	outs, per, channels := kernel.shape[0], kernel.shape[1], x.shape[1]
	if group < 1 || group > int64(channels) || int64(per)*group != int64(channels) || outs%int(group) != 0 || bias != nil && len(bias.c) != outs {
		return fmt.Errorf("its input has the shape %v, its kernel %v, with group %d", x.shape, kernel.shape, group)
	}
	if err := l.fits(w, x.shape[0]*outs*per); err != nil {
		return err
	}
	places, inner, size := product(w.out), product(w.in), product(w.kernel)
	perGroup := outs / int(group)
	shape := append([]int{x.shape[0], outs}, w.out...)
	out, err := l.combine(shape, []*value{x}, func(i int, add adder) {
		window, m, image := i%places, i/places%outs, i/places/outs
		for c := range per {
			channel := m/perGroup*per + c
			w.visit(window, func(k, input int) {
				add(x, (image*channels+channel)*inner+input, kernel.c[(m*per+c)*size+k], 0)
			})
		}
		if bias != nil {
			add(bias, m, 1, 0)
		}
	})
	return l.give(n, out, err)
}
