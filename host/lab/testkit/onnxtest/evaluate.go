package onnxtest

import (
	"fmt"
	"math"

	"psafe/host/read/onnx"
)

// array is a tensor of numbers.
type array struct {
	shape []int
	data  []float64
}

// Evaluate computes the output of a graph at x, node by node in float64, as the
// specification of each operator says. It panics for what it does not know.
func Evaluate(g *onnx.Graph, x []float64) []float64 {
	env := map[string]array{}
	for _, t := range g.Initializers {
		env[t.Name] = ofTensor(t)
	}
	in := array{data: x}
	for _, d := range g.Inputs[0].Shape {
		in.shape = append(in.shape, int(max(1, d.Size)))
	}
	env[g.Inputs[0].Name] = in
	for i := range g.Nodes {
		n := &g.Nodes[i]
		var args []array
		for _, name := range n.Inputs {
			args = append(args, env[name])
		}
		env[n.Outputs[0]] = evaluate(n, args)
	}
	return env[g.Outputs[0].Name].data
}

func ofTensor(t *onnx.Tensor) array {
	a := array{shape: t.Shape, data: t.Floats}
	for _, v := range t.Ints {
		a.data = append(a.data, float64(v))
	}
	return a
}

func evaluate(n *onnx.Node, args []array) array {
	attr := map[string]onnx.Attribute{}
	for _, a := range n.Attributes {
		attr[a.Name] = a
	}
	number := func(name string, absent int) int {
		if a, there := attr[name]; there {
			return int(a.Int)
		}
		return absent
	}
	float := func(name string, absent float64) float64 {
		if a, there := attr[name]; there {
			return a.Float
		}
		return absent
	}
	switch n.Op {
	case "Identity":
		return args[0]
	case "Constant":
		return ofTensor(attr["value"].Tensor)
	case "Add":
		return elementwise(args[0], args[1], func(a, b float64) float64 { return a + b })
	case "Sub":
		return elementwise(args[0], args[1], func(a, b float64) float64 { return a - b })
	case "Mul":
		return elementwise(args[0], args[1], func(a, b float64) float64 { return a * b })
	case "Div":
		return elementwise(args[0], args[1], func(a, b float64) float64 { return a / b })
	case "Relu":
		return each(args[0], func(t float64) float64 { return math.Max(t, 0) })
	case "LeakyRelu":
		alpha := float("alpha", 0.01)
		return each(args[0], func(t float64) float64 {
			if t < 0 {
				return alpha * t
			}
			return t
		})
	case "Elu":
		alpha := float("alpha", 1)
		return each(args[0], func(t float64) float64 { return math.Max(t, 0) + alpha*math.Expm1(math.Min(t, 0)) })
	case "Softplus":
		return each(args[0], func(t float64) float64 { return math.Max(t, 0) + math.Log1p(math.Exp(-math.Abs(t))) })
	case "Sigmoid":
		return each(args[0], func(t float64) float64 { return 1 / (1 + math.Exp(-t)) })
	case "Tanh":
		return each(args[0], math.Tanh)
	case "MatMul":
		return matMul(args[0], args[1])
	case "Gemm":
		a, b := args[0], args[1]
		if number("transA", 0) != 0 {
			a = transpose(a, []int{1, 0})
		}
		if number("transB", 0) != 0 {
			b = transpose(b, []int{1, 0})
		}
		alpha, beta := float("alpha", 1), float("beta", 1)
		out := each(matMul(a, b), func(t float64) float64 { return alpha * t })
		if len(args) == 3 {
			out = elementwise(out, each(args[2], func(t float64) float64 { return beta * t }), func(a, b float64) float64 { return a + b })
		}
		return out
	case "Flatten":
		k := number("axis", 1)
		return array{[]int{length(args[0].shape[:k]), length(args[0].shape[k:])}, args[0].data}
	case "Reshape":
		shape, open := []int{}, -1
		for i, d := range args[1].data {
			if d == 0 {
				d = float64(args[0].shape[i])
			}
			if d < 0 {
				open, d = i, 1
			}
			shape = append(shape, int(d))
		}
		if open >= 0 {
			shape[open] = len(args[0].data) / length(shape)
		}
		return array{shape, args[0].data}
	case "Pad":
		x, out := args[0], array{}
		axes := len(x.shape)
		for i, d := range x.shape {
			out.shape = append(out.shape, d+int(args[1].data[i]+args[1].data[axes+i]))
		}
		at := make(index, axes)
		for range length(out.shape) {
			from, inside := make(index, axes), true
			for i := range axes {
				from[i] = at[i] - int(args[1].data[i])
				inside = inside && from[i] >= 0 && from[i] < x.shape[i]
			}
			if inside {
				out.data = append(out.data, x.at(from))
			} else {
				out.data = append(out.data, args[2].data[0])
			}
			at.next(out.shape)
		}
		return out
	case "Transpose":
		var order []int
		for _, a := range attr["perm"].Ints {
			order = append(order, int(a))
		}
		for i := len(args[0].shape) - 1; attr["perm"].Ints == nil && i >= 0; i-- {
			order = append(order, i)
		}
		return transpose(args[0], order)
	case "Concat":
		out := args[0]
		for _, a := range args[1:] {
			out = concat(out, a, number("axis", 0))
		}
		return out
	case "BatchNormalization":
		x, eps := args[0], float("epsilon", 1e-5)
		out := array{x.shape, make([]float64, len(x.data))}
		inner := length(x.shape[2:])
		for i, t := range x.data {
			c := i / inner % x.shape[1]
			out.data[i] = (t-args[3].data[c])/math.Sqrt(args[4].data[c]+eps)*args[1].data[c] + args[2].data[c]
		}
		return out
	case "Conv", "MaxPool", "AveragePool":
		return window(n.Op, attr, number, args)
	case "GlobalAveragePool":
		x := args[0]
		inner := length(x.shape[2:])
		out := array{[]int{x.shape[0], x.shape[1]}, nil}
		for range x.shape[2:] {
			out.shape = append(out.shape, 1)
		}
		for from := 0; from < len(x.data); from += inner {
			sum := 0.0
			for _, t := range x.data[from : from+inner] {
				sum += t
			}
			out.data = append(out.data, sum/float64(inner))
		}
		return out
	}
	panic(fmt.Sprintf("onnxtest: %v", n))
}

func length(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

func each(a array, f func(float64) float64) array {
	out := array{a.shape, make([]float64, len(a.data))}
	for i, t := range a.data {
		out.data[i] = f(t)
	}
	return out
}

// index is a place of an array, axis by axis; next goes on to the one after it.
type index []int

func (x index) next(shape []int) {
	for a := len(shape) - 1; a >= 0; a-- {
		if x[a]++; x[a] < shape[a] {
			return
		}
		x[a] = 0
	}
}

// at is an element, where axes of length 1 stand for any length, and those in front that
// the array does not have are left out.
func (a array) at(x index) float64 {
	x = x[len(x)-len(a.shape):]
	i := 0
	for k, d := range a.shape {
		i *= d
		if d > 1 {
			i += x[k]
		}
	}
	return a.data[i]
}

func elementwise(a, b array, f func(a, b float64) float64) array {
	out := array{shape: make([]int, max(len(a.shape), len(b.shape)))}
	for i := range out.shape {
		out.shape[i] = 1
	}
	for _, s := range [][]int{a.shape, b.shape} {
		for i, d := range s {
			out.shape[len(out.shape)-len(s)+i] = max(d, out.shape[len(out.shape)-len(s)+i])
		}
	}
	x := make(index, len(out.shape))
	for range length(out.shape) {
		out.data = append(out.data, f(a.at(x), b.at(x)))
		x.next(out.shape)
	}
	return out
}

// matMul is for two matrices, or a stack of them and a matrix.
func matMul(a, b array) array {
	if len(b.shape) > 2 { // A constant on the left of one stack
		out := array{shape: []int{b.shape[0], a.shape[0], b.shape[2]}}
		size := b.shape[1] * b.shape[2]
		for s := range b.shape[0] {
			out.data = append(out.data, matMul(a, array{b.shape[1:], b.data[s*size : (s+1)*size]}).data...)
		}
		return out
	}
	inner, columns := b.shape[0], b.shape[1]
	out := array{shape: append(append([]int{}, a.shape[:len(a.shape)-1]...), columns)}
	for from := 0; from < len(a.data); from += inner {
		for j := range columns {
			sum := 0.0
			for k := range inner {
				sum += a.data[from+k] * b.data[k*columns+j]
			}
			out.data = append(out.data, sum)
		}
	}
	return out
}

func transpose(a array, order []int) array {
	out := array{shape: make([]int, len(order))}
	for i, k := range order {
		out.shape[i] = a.shape[k]
	}
	x, y := make(index, len(order)), make(index, len(order))
	for range a.data {
		for i, k := range order {
			y[k] = x[i]
		}
		out.data = append(out.data, a.at(y))
		x.next(out.shape)
	}
	return out
}

func concat(a, b array, axis int) array {
	out := array{shape: append([]int{}, a.shape...)}
	out.shape[axis] += b.shape[axis]
	x := make(index, len(a.shape))
	for range length(out.shape) {
		if x[axis] < a.shape[axis] {
			out.data = append(out.data, a.at(x))
		} else {
			y := append(index{}, x...)
			y[axis] -= a.shape[axis]
			out.data = append(out.data, b.at(y))
		}
		x.next(out.shape)
	}
	return out
}

// window is a convolution or a pooling on two axes.
func window(op string, attr map[string]onnx.Attribute, number func(string, int) int, args []array) array {
	list := func(name string, absent ...int) []int {
		if a, there := attr[name]; there {
			absent = nil
			for _, v := range a.Ints {
				absent = append(absent, int(v))
			}
		}
		return absent
	}
	x := args[0]
	var kernel []int
	channels := x.shape[1]
	if op == "Conv" {
		kernel, channels = args[1].shape[2:], args[1].shape[0]
	} else {
		kernel = list("kernel_shape")
	}
	stride, dilation, pads := list("strides", 1, 1), list("dilations", 1, 1), list("pads", 0, 0, 0, 0)
	size := [2]int{}
	for a := range 2 {
		reach := (kernel[a]-1)*dilation[a] + 1
		if auto := attr["auto_pad"].String; auto == "SAME_UPPER" || auto == "SAME_LOWER" {
			size[a] = (x.shape[2+a] + stride[a] - 1) / stride[a]
			all := max(0, (size[a]-1)*stride[a]+reach-x.shape[2+a])
			pads[a] = all / 2
			if auto == "SAME_LOWER" {
				pads[a] = (all + 1) / 2
			}
			continue
		}
		size[a] = (x.shape[2+a]+pads[a]+pads[2+a]-reach)/stride[a] + 1
	}
	out := array{shape: []int{x.shape[0], channels, size[0], size[1]}}
	group := number("group", 1)
	for n := range x.shape[0] {
		for m := range channels {
			for i := range size[0] {
				for j := range size[1] {
					sum, best, count := 0.0, math.Inf(-1), 0
					for c := range x.shape[1] {
						per := x.shape[1] / group
						if op == "Conv" && c/per != m/(channels/group) || op != "Conv" && c != m {
							continue
						}
						for k := range kernel[0] {
							for l := range kernel[1] {
								r, s := i*stride[0]-pads[0]+k*dilation[0], j*stride[1]-pads[1]+l*dilation[1]
								if r < 0 || s < 0 || r >= x.shape[2] || s >= x.shape[3] {
									continue
								}
								t := x.at(index{n, c, r, s})
								best = math.Max(best, t)
								count++
								if op == "Conv" {
									t *= args[1].at(index{m, c % per, k, l})
								}
								sum += t
							}
						}
					}
					switch op {
					case "Conv":
						if len(args) == 3 {
							sum += args[2].data[m]
						}
					case "MaxPool":
						sum = best
					case "AveragePool":
						if number("count_include_pad", 0) != 0 {
							count = kernel[0] * kernel[1]
						}
						sum /= float64(count)
					}
					out.data = append(out.data, sum)
				}
			}
		}
	}
	return out
}
