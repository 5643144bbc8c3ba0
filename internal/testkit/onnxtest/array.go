package onnxtest

import "psafe/host/read/onnx"

// numbers is an arithmetic: curve is a function that is not rational, of t.
type numbers[T any] struct {
	of            func(float64) T
	add, mul, div func(a, b T) T
	less          func(a, b T) bool
	curve         func(t T, f func(float64) float64) T
}

func (k *numbers[T]) negative(t T) T { return k.mul(k.of(-1), t) }

// array is a tensor of numbers; ints are those of whole numbers.
type array[T any] struct {
	shape []int
	data  []T
	ints  []int64
}

func (k *numbers[T]) ofTensor(t *onnx.Tensor) array[T] {
	a := array[T]{shape: t.Shape, ints: t.Ints}
	for _, x := range t.Floats {
		a.data = append(a.data, k.of(x))
	}
	return a
}

func length(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

func each[T any](a array[T], f func(T) T) array[T] {
	out := array[T]{shape: a.shape}
	for _, t := range a.data {
		out.data = append(out.data, f(t))
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
func (a array[T]) at(x index) T {
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

func elementwise[T any](a, b array[T], f func(a, b T) T) array[T] {
	out := array[T]{shape: make([]int, max(len(a.shape), len(b.shape)))}
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
func (k *numbers[T]) matMul(a, b array[T]) array[T] {
	if len(b.shape) > 2 { // A constant on the left of one stack
		out := array[T]{shape: []int{b.shape[0], a.shape[0], b.shape[2]}}
		size := b.shape[1] * b.shape[2]
		for s := range b.shape[0] {
			out.data = append(out.data, k.matMul(a, array[T]{shape: b.shape[1:], data: b.data[s*size : (s+1)*size]}).data...)
		}
		return out
	}
	inner, columns := b.shape[0], b.shape[1]
	out := array[T]{shape: append(append([]int{}, a.shape[:len(a.shape)-1]...), columns)}
	for from := 0; from < len(a.data); from += inner {
		for j := range columns {
			sum := k.of(0)
			for i := range inner {
				sum = k.add(sum, k.mul(a.data[from+i], b.data[i*columns+j]))
			}
			out.data = append(out.data, sum)
		}
	}
	return out
}

func transpose[T any](a array[T], order []int) array[T] {
	out := array[T]{shape: make([]int, len(order))}
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

func concat[T any](a, b array[T], axis int) array[T] {
	out := array[T]{shape: append([]int{}, a.shape...)}
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

// pick has places of an axis, counted from the end where they are negative, as the axis is.
func pick[T any](a array[T], axis int, places []int) array[T] {
	axis = (axis + len(a.shape)) % len(a.shape)
	out := array[T]{shape: append([]int{}, a.shape...)}
	out.shape[axis] = len(places)
	x := make(index, len(a.shape))
	for range length(out.shape) {
		y := append(index{}, x...)
		y[axis] = (places[x[axis]] + a.shape[axis]) % a.shape[axis]
		out.data = append(out.data, a.at(y))
		x.next(out.shape)
	}
	return out
}

// places are those of a slice of n, as in Python.
func places(begin, end, step, n int) (list []int) {
	if begin < 0 {
		begin += n
	}
	if end < 0 {
		end += n
	}
	for i := range n {
		if step < 0 {
			i = n - 1 - i
		}
		ahead := step > 0 && i >= begin && i < end || step < 0 && i <= begin && i > end
		if from := min(max(begin, 0), n-1); ahead && (i-from)%step == 0 {
			list = append(list, i)
		}
	}
	return list
}

// window is a convolution or a pooling on two axes.
func (e *node1[T]) window() array[T] {
	op, k, args := e.n.Op, e.k, e.args
	x := args[0]
	var kernel []int
	channels := x.shape[1]
	if op == "Conv" {
		kernel, channels = args[1].shape[2:], args[1].shape[0]
	} else {
		kernel = e.list("kernel_shape")
	}
	stride, dilation, pads := e.list("strides", 1, 1), e.list("dilations", 1, 1), e.list("pads", 0, 0, 0, 0)
	size := [2]int{}
	for a := range 2 {
		reach := (kernel[a]-1)*dilation[a] + 1
		if auto := e.attr["auto_pad"].String; auto == "SAME_UPPER" || auto == "SAME_LOWER" {
			size[a] = (x.shape[2+a] + stride[a] - 1) / stride[a]
			all := max(0, (size[a]-1)*stride[a]+reach-x.shape[2+a])
			pads[a] = all / 2
			if auto == "SAME_LOWER" {
				pads[a] = (all + 1) / 2
			}
			continue
		}
		over := x.shape[2+a] + pads[a] + pads[2+a] - reach
		size[a] = over/stride[a] + 1
		if e.int("ceil_mode", 0) != 0 && over%stride[a] != 0 {
			size[a]++
		}
	}
	out := array[T]{shape: []int{x.shape[0], channels, size[0], size[1]}}
	group := e.int("group", 1)
	for n := range x.shape[0] {
		for m := range channels {
			for i := range size[0] {
				for j := range size[1] {
					sum, best, count := k.of(0), (*T)(nil), 0
					for c := range x.shape[1] {
						per := x.shape[1] / group
						if op == "Conv" && c/per != m/(channels/group) || op != "Conv" && c != m {
							continue
						}
						for q := range kernel[0] {
							for l := range kernel[1] {
								r, s := i*stride[0]-pads[0]+q*dilation[0], j*stride[1]-pads[1]+l*dilation[1]
								if r < 0 || s < 0 || r >= x.shape[2] || s >= x.shape[3] {
									continue
								}
								t := x.at(index{n, c, r, s})
								if best == nil || k.less(*best, t) {
									best = &t
								}
								count++
								if op == "Conv" {
									t = k.mul(t, args[1].at(index{m, c % per, q, l}))
								}
								sum = k.add(sum, t)
							}
						}
					}
					switch op {
					case "Conv":
						if len(args) == 3 {
							sum = k.add(sum, args[2].data[m])
						}
					case "MaxPool":
						sum = *best
					case "AveragePool":
						if e.int("count_include_pad", 0) != 0 {
							count = kernel[0] * kernel[1]
						}
						sum = k.div(sum, k.of(float64(count)))
					}
					out.data = append(out.data, sum)
				}
			}
		}
	}
	return out
}
