package onnxtest

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"psafe/host/read/onnx"
)

// Evaluate computes the output of a graph at x, node by node in float64, as the
// specification of each operator says. It panics for what it does not know.
func Evaluate(g *onnx.Graph, x []float64) []float64 {
	return run(g, x, &numbers[float64]{
		of:   func(x float64) float64 { return x },
		add:  func(a, b float64) float64 { return a + b },
		mul:  func(a, b float64) float64 { return a * b },
		div:  func(a, b float64) float64 { return a / b },
		less: func(a, b float64) bool { return a < b },
		curve: func(t float64, f func(float64) float64) float64 {
			return f(t)
		},
	})
}

// EvaluateExactly is Evaluate in rational arithmetic. It panics for operators whose values are
// not rational: curved activations and BatchNormalization.
func EvaluateExactly(g *onnx.Graph, x []float64) []*big.Rat {
	return run(g, x, &numbers[*big.Rat]{
		of:   func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) },
		add:  func(a, b *big.Rat) *big.Rat { return new(big.Rat).Add(a, b) },
		mul:  func(a, b *big.Rat) *big.Rat { return new(big.Rat).Mul(a, b) },
		div:  func(a, b *big.Rat) *big.Rat { return new(big.Rat).Quo(a, b) },
		less: func(a, b *big.Rat) bool { return a.Cmp(b) < 0 },
		curve: func(*big.Rat, func(float64) float64) *big.Rat {
			panic("onnxtest: no rational number")
		},
	})
}

// run computes the output of a graph in some arithmetic.
func run[T any](g *onnx.Graph, x []float64, k *numbers[T]) []T {
	env := map[string]array[T]{}
	for _, t := range g.Initializers {
		env[t.Name] = k.ofTensor(t)
	}
	in := array[T]{}
	for _, v := range x {
		in.data = append(in.data, k.of(v))
	}
	for _, d := range g.Inputs[0].Shape {
		in.shape = append(in.shape, int(max(1, d.Size)))
	}
	env[g.Inputs[0].Name] = in
	for _, n := range sorted(g, env) {
		e := node1[T]{k, n, map[string]onnx.Attribute{}, nil}
		for _, a := range n.Attributes {
			e.attr[a.Name] = a
		}
		for _, name := range n.Inputs {
			e.args = append(e.args, env[name])
		}
		if n.Op != "Split" {
			if out, whole := e.counted(); whole {
				env[n.Outputs[0]] = out
			} else {
				env[n.Outputs[0]] = e.evaluate()
			}
			continue
		}
		begin, whole := 0, e.args[0].shape[e.int("axis", 0)]
		for i, name := range n.Outputs {
			end := begin + int(e.args[1].ints[i])
			env[name] = pick(e.args[0], e.int("axis", 0), places(begin, end, 1, whole))
			begin = end
		}
	}
	return env[g.Outputs[0].Name].data
}

// sorted are the nodes, each after what it takes, by going through them again and again.
func sorted[T any](g *onnx.Graph, there map[string]T) (list []*onnx.Node) {
	known := map[string]bool{"": true}
	for name := range there {
		known[name] = true
	}
	for done := map[int]bool{}; len(list) < len(g.Nodes); {
		before := len(list)
		for i := range g.Nodes {
			n := &g.Nodes[i]
			if done[i] || slices.ContainsFunc(n.Inputs, func(name string) bool { return !known[name] }) {
				continue
			}
			done[i], list = true, append(list, n)
			for _, name := range n.Outputs {
				known[name] = true
			}
		}
		if len(list) == before {
			panic("onnxtest: nodes that feed each other")
		}
	}
	return list
}

// node1 is a node that is evaluated.
type node1[T any] struct {
	k    *numbers[T]
	n    *onnx.Node
	attr map[string]onnx.Attribute
	args []array[T]
}

func (e *node1[T]) int(name string, absent int) int {
	if a, there := e.attr[name]; there {
		return int(a.Int)
	}
	return absent
}

func (e *node1[T]) float(name string, absent float64) float64 {
	if a, there := e.attr[name]; there {
		return a.Float
	}
	return absent
}

func (e *node1[T]) list(name string, absent ...int) []int {
	if a, there := e.attr[name]; there {
		absent = nil
		for _, v := range a.Ints {
			absent = append(absent, int(v))
		}
	}
	return absent
}

func (e *node1[T]) evaluate() array[T] {
	k, args := e.k, e.args
	curve := func(f func(float64) float64) array[T] {
		return each(args[0], func(t T) T { return k.curve(t, f) })
	}
	switch e.n.Op {
	case "Identity", "Dropout", "Cast":
		return args[0]
	case "Neg":
		return each(args[0], k.negative)
	case "Sqrt":
		return curve(math.Sqrt)
	case "Sum", "Mean", "Max", "Min":
		return e.folded()
	case "Clip":
		return e.clip()
	case "PRelu":
		return elementwise(args[0], args[1], func(t, slope T) T {
			if k.less(t, k.of(0)) {
				return k.mul(slope, t)
			}
			return t
		})
	case "ConstantOfShape":
		t := *e.attr["value"].Tensor
		out := array[T]{shape: []int{}}
		for _, d := range args[0].ints {
			out.shape = append(out.shape, int(d))
		}
		for range length(out.shape) {
			out.data, out.ints = append(out.data, k.ofTensor(&t).data...), append(out.ints, t.Ints...)
		}
		return out
	case "Constant":
		return k.ofTensor(e.attr["value"].Tensor)
	case "Add":
		return elementwise(args[0], args[1], k.add)
	case "Sub":
		return elementwise(args[0], each(args[1], k.negative), k.add)
	case "Mul":
		return elementwise(args[0], args[1], k.mul)
	case "Div":
		return elementwise(args[0], args[1], k.div)
	case "Relu", "LeakyRelu":
		alpha := 0.0
		if e.n.Op == "LeakyRelu" {
			alpha = e.float("alpha", 0.01)
		}
		return each(args[0], func(t T) T {
			if k.less(t, k.of(0)) {
				return k.mul(k.of(alpha), t)
			}
			return t
		})
	case "Elu":
		alpha := e.float("alpha", 1)
		return curve(func(t float64) float64 { return math.Max(t, 0) + alpha*math.Expm1(math.Min(t, 0)) })
	case "Softplus":
		return curve(func(t float64) float64 { return math.Max(t, 0) + math.Log1p(math.Exp(-math.Abs(t))) })
	case "Sigmoid":
		return curve(func(t float64) float64 { return 1 / (1 + math.Exp(-t)) })
	case "Tanh":
		return curve(math.Tanh)
	case "MatMul":
		return k.matMul(args[0], args[1])
	case "Gemm":
		return e.gemm()
	case "BatchNormalization":
		x, eps := args[0], e.float("epsilon", 1e-5)
		out := array[T]{shape: x.shape}
		inner := length(x.shape[2:])
		for i, t := range x.data {
			c := i / inner % x.shape[1]
			root := k.curve(args[4].data[c], func(v float64) float64 { return math.Sqrt(v + eps) })
			t = k.div(k.add(t, k.negative(args[3].data[c])), root)
			out.data = append(out.data, k.add(k.mul(t, args[1].data[c]), args[2].data[c]))
		}
		return out
	case "Conv", "MaxPool", "AveragePool":
		return e.window()
	case "GlobalAveragePool", "GlobalMaxPool":
		axes := []int{}
		for a := 2; a < len(args[0].shape); a++ {
			axes = append(axes, a)
		}
		return e.reduce(axes, true)
	case "ReduceSum", "ReduceMean":
		axes := e.list("axes")
		if len(args) > 1 {
			for _, a := range args[1].ints {
				axes = append(axes, (int(a)+len(args[0].shape))%len(args[0].shape))
			}
		}
		return e.reduce(axes, e.int("keepdims", 1) != 0)
	}
	return e.moved()
}

func (e *node1[T]) gemm() array[T] {
	k, a, b := e.k, e.args[0], e.args[1]
	if e.int("transA", 0) != 0 {
		a = transpose(a, []int{1, 0})
	}
	if e.int("transB", 0) != 0 {
		b = transpose(b, []int{1, 0})
	}
	times := func(a array[T], f float64) array[T] { return each(a, func(t T) T { return k.mul(k.of(f), t) }) }
	out := times(k.matMul(a, b), e.float("alpha", 1))
	if len(e.args) == 3 {
		out = elementwise(out, times(e.args[2], e.float("beta", 1)), k.add)
	}
	return out
}

// moved is for the operators that only move elements.
func (e *node1[T]) moved() array[T] {
	x := e.args[0]
	switch e.n.Op {
	case "Flatten":
		a := e.int("axis", 1)
		return array[T]{shape: []int{length(x.shape[:a]), length(x.shape[a:])}, data: x.data}
	case "Reshape":
		shape, open := []int{}, -1
		for i, d := range e.args[1].ints {
			if d == 0 {
				d = int64(x.shape[i])
			}
			if d < 0 {
				open, d = i, 1
			}
			shape = append(shape, int(d))
		}
		if open >= 0 {
			shape[open] = len(x.data) / length(shape)
		}
		return array[T]{shape: shape, data: x.data}
	case "Squeeze", "Unsqueeze":
		return array[T]{shape: e.ones(x.shape), data: x.data}
	case "Pad":
		return e.pad()
	case "Expand", "Tile":
		return e.grown()
	case "Transpose":
		order := e.list("perm")
		for i := len(x.shape) - 1; e.attr["perm"].Ints == nil && i >= 0; i-- {
			order = append(order, i)
		}
		return transpose(x, order)
	case "Concat":
		out := x
		for _, a := range e.args[1:] {
			out = concat(out, a, e.int("axis", 0))
		}
		return out
	case "Slice":
		for i, a := range e.args[3].ints {
			n := x.shape[(int(a)+len(x.shape))%len(x.shape)]
			x = pick(x, int(a), places(int(e.args[1].ints[i]), int(e.args[2].ints[i]), int(e.args[4].ints[i]), n))
		}
		return x
	case "Gather":
		var list []int
		for _, i := range e.args[1].ints {
			list = append(list, int(i))
		}
		return pick(x, e.int("axis", 0), list)
	}
	panic(fmt.Sprintf("onnxtest: %v", e.n))
}

func (e *node1[T]) pad() array[T] {
	x, p, out := e.args[0], e.args[1].ints, array[T]{}
	axes := len(x.shape)
	for i, d := range x.shape {
		out.shape = append(out.shape, d+int(p[i]+p[axes+i]))
	}
	fill := e.k.of(0)
	if len(e.args) > 2 {
		fill = e.args[2].data[0]
	}
	at := make(index, axes)
	for range length(out.shape) {
		from, inside := make(index, axes), true
		for i := range axes {
			from[i] = at[i] - int(p[i])
			inside = inside && from[i] >= 0 && from[i] < x.shape[i]
		}
		if inside {
			out.data = append(out.data, x.at(from))
		} else {
			out.data = append(out.data, fill)
		}
		at.next(out.shape)
	}
	return out
}

// reduce is for sums, means and the greatest along axes.
func (e *node1[T]) reduce(axes []int, keep bool) array[T] {
	x, k := e.args[0], e.k
	out := array[T]{}
	for a, d := range x.shape {
		if slices.Contains(axes, a) {
			d = 1
		}
		out.shape = append(out.shape, d)
	}
	count := k.of(float64(len(x.data) / length(out.shape)))
	sums := make([]*T, length(out.shape))
	at := make(index, len(x.shape))
	for _, t := range x.data {
		i := 0
		for a, d := range out.shape {
			if i *= d; d > 1 {
				i += at[a]
			}
		}
		switch {
		case sums[i] == nil:
			sums[i] = &t
		case e.n.Op != "GlobalMaxPool":
			t = k.add(*sums[i], t)
			sums[i] = &t
		case k.less(*sums[i], t):
			sums[i] = &t
		}
		at.next(x.shape)
	}
	for _, t := range sums {
		if e.n.Op == "ReduceMean" || e.n.Op == "GlobalAveragePool" {
			*t = k.div(*t, count)
		}
		out.data = append(out.data, *t)
	}
	if !keep {
		var shape []int
		for a, d := range out.shape {
			if !slices.Contains(axes, a) {
				shape = append(shape, d)
			}
		}
		out.shape = shape
	}
	return out
}
