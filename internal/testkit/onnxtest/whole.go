package onnxtest

import (
	"slices"

	"psafe/host/read/onnx"
)

// counted evaluates operators of which all inputs are whole numbers, and Shape. Those that only
// move numbers are for evaluate, by an array whose data are their places.
func (e *node1[T]) counted() (array[T], bool) {
	if e.n.Op == "Shape" {
		out := array[T]{shape: []int{len(e.args[0].shape)}}
		for _, d := range e.args[0].shape {
			out.ints = append(out.ints, int64(d))
		}
		return out, true
	}
	for _, a := range e.args {
		if a.ints == nil {
			return array[T]{}, false
		}
	}
	two := func(f func(a, b int64) int64) (array[T], bool) { return onWhole(f, e.args[0], e.args[1]), true }
	switch e.n.Op {
	case "Add":
		return two(func(a, b int64) int64 { return a + b })
	case "Sub":
		return two(func(a, b int64) int64 { return a - b })
	case "Mul":
		return two(func(a, b int64) int64 { return a * b })
	case "Div":
		return two(func(a, b int64) int64 { return a / b })
	case "Max":
		return two(func(a, b int64) int64 { return max(a, b) })
	case "Equal":
		return two(func(a, b int64) int64 {
			if a == b {
				return 1
			}
			return 0
		})
	case "Where":
		yes := onWhole(func(c, t int64) int64 { return c * t }, e.args[0], e.args[1])
		no := onWhole(func(c, t int64) int64 { return (1 - c) * t }, e.args[0], e.args[2])
		return onWhole(func(a, b int64) int64 { return a + b }, yes, no), true
	case "Cast":
		out := array[T]{shape: e.args[0].shape}
		for _, v := range e.args[0].ints {
			switch to := onnx.DataType(e.int("to", 0)); {
			case to.IsFloat():
				out.data = append(out.data, e.k.of(float64(v)))
			case to == onnx.Bool && v != 0:
				out.ints = append(out.ints, 1)
			default:
				out.ints = append(out.ints, v)
			}
		}
		return out, true
	case "ReduceProd":
		p := int64(1)
		for _, v := range e.args[0].ints {
			p *= v
		}
		out := array[T]{shape: []int{}, ints: []int64{p}}
		if e.int("keepdims", 1) != 0 {
			out.shape = slices.Repeat([]int{1}, len(e.args[0].shape))
		}
		return out, true
	case "Concat":
		out := array[T]{shape: []int{0}}
		for _, a := range e.args {
			out.ints = append(out.ints, a.ints...)
		}
		out.shape[0] = len(out.ints)
		return out, true
	case "Gather", "Slice", "Unsqueeze", "Squeeze":
		places := array[T]{shape: e.args[0].shape}
		for i := range e.args[0].ints {
			places.data = append(places.data, e.k.of(float64(i)))
		}
		moved := node1[T]{e.k, e.n, e.attr, append([]array[T]{places}, e.args[1:]...)}
		out := moved.evaluate()
		if e.n.Op == "Gather" && len(e.args[1].shape) == 0 {
			out.shape = out.shape[1:]
		}
		for _, t := range out.data {
			at := int64(0)
			for e.k.less(e.k.of(float64(at)), t) {
				at++
			}
			out.ints = append(out.ints, e.args[0].ints[at])
		}
		out.data = nil
		return out, true
	}
	return array[T]{}, false
}

// onWhole is elementwise of whole numbers.
func onWhole[T any](f func(a, b int64) int64, a, b array[T]) array[T] {
	whole := func(a array[T]) array[int64] { return array[int64]{shape: a.shape, data: a.ints} }
	out := elementwise(whole(a), whole(b), f)
	return array[T]{shape: out.shape, ints: out.data}
}

// folded is Sum, Mean, Max or Min of any number of tensors.
func (e *node1[T]) folded() array[T] {
	k, out := e.k, e.args[0]
	for _, a := range e.args[1:] {
		out = elementwise(out, a, func(s, t T) T {
			switch less := k.less(s, t); {
			case e.n.Op == "Sum" || e.n.Op == "Mean":
				return k.add(s, t)
			case less == (e.n.Op == "Max"):
				return t
			}
			return s
		})
	}
	if e.n.Op == "Mean" {
		count := k.of(float64(len(e.args)))
		return each(out, func(t T) T { return k.div(t, count) })
	}
	return out
}

// clip has bounds as attributes or as inputs.
func (e *node1[T]) clip() array[T] {
	k, ends := e.k, [2]*T{}
	for i, name := range []string{"min", "max"} {
		if a, there := e.attr[name]; there {
			v := k.of(a.Float)
			ends[i] = &v
		}
		if len(e.args) > i+1 && e.args[i+1].data != nil {
			ends[i] = &e.args[i+1].data[0]
		}
	}
	return each(e.args[0], func(t T) T {
		if ends[0] != nil && k.less(t, *ends[0]) {
			t = *ends[0]
		}
		if ends[1] != nil && k.less(*ends[1], t) {
			t = *ends[1]
		}
		return t
	})
}

// grown is Expand or Tile.
func (e *node1[T]) grown() array[T] {
	x := e.args[0]
	var list []int
	for _, d := range e.args[1].ints {
		list = append(list, int(d))
	}
	if e.n.Op == "Expand" {
		zeros := array[T]{shape: list}
		for range length(list) {
			zeros.data = append(zeros.data, e.k.of(0))
		}
		return elementwise(x, zeros, e.k.add)
	}
	for axis, times := range list {
		part := x
		for range times - 1 {
			x = concat(x, part, axis)
		}
	}
	return x
}

// ones is a shape without axes of length 1 (Squeeze), or with more of them (Unsqueeze).
func (e *node1[T]) ones(shape []int) []int {
	axes := e.list("axes")
	if len(e.args) > 1 {
		for _, a := range e.args[1].ints {
			axes = append(axes, int(a))
		}
	}
	n := len(shape)
	if e.n.Op == "Unsqueeze" {
		n += len(axes)
	}
	for i, a := range axes {
		axes[i] = (a + n) % n
	}
	var out []int
	if e.n.Op == "Squeeze" {
		for a, d := range shape {
			if keep := d != 1 || len(axes) > 0 && !slices.Contains(axes, a); keep {
				out = append(out, d)
			}
		}
		return out
	}
	for a := range n {
		if slices.Contains(axes, a) {
			out = append(out, 1)
		} else {
			out, shape = append(out, shape[0]), shape[1:]
		}
	}
	return out
}
