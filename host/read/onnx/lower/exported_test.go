package lower

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"psafe/host/read/onnx"
	. "psafe/internal/testkit/onnxtest"
	"psafe/internal/testscale"
)

// whole is a scalar or a list of int64.
func whole(b *Build, name string, scalar bool, data ...int64) string {
	b.Shape(name, data...)
	if scalar {
		b.Graph.Initializers[len(b.Graph.Initializers)-1].Shape = []int{}
	}
	return name
}

// exported has networks as frameworks export them.
var exported = []lowered{
	{"view(x.size(0), -1) with an open batch", "8 conv relu 8 identity 2", 0, func() *Build {
		b := New(40, 0, 2, 2, 2)
		y := b.Node("Conv", []string{b.Const("k", []int{2, 2, 1, 1}), b.Const("c", []int{2})})
		y = b.On("Relu", []string{y})
		b.On("Shape", []string{y})
		b.Node("Gather", []string{whole(b, "zero", true, 0)}, Int("axis", 0))
		b.Node("Unsqueeze", []string{whole(b, "axes", false, 0)})
		b.Node("Cast", nil, Int("to", int64(onnx.Int64)))
		b.Node("Concat", []string{whole(b, "rest", false, -1)}, Int("axis", 0))
		b.On("Reshape", []string{y, b.Last})
		b.Node("Gemm", []string{b.Const("w", []int{8, 2}), b.Const("d", []int{2})})
		return b
	}},
	{"flatten(1): Shape, Slice, ReduceProd, Mul, Sub, Div, Max, Neg", "8 relu 8 identity 2", 0, func() *Build {
		b := New(41, 0, 2, 2, 2)
		y := b.Node("Relu", nil)
		b.On("Shape", []string{y})
		b.Node("Slice", []string{whole(b, "from", false, 1), whole(b, "to", false, 4), whole(b, "axes", false, 0), whole(b, "steps", false, 1)})
		b.Node("ReduceProd", nil, Int("keepdims", 1))
		b.Node("Mul", []string{whole(b, "two", false, 2)})
		b.Node("Sub", []string{whole(b, "eight", false, 8)})
		b.Node("Div", []string{whole(b, "one", false, 1)})
		b.Node("Add", []string{whole(b, "none", false, 0)})
		b.Node("Max", []string{"one"})
		b.On("Concat", []string{"one", b.Last}, Int("axis", 0))
		b.On("Reshape", []string{y, b.Last})
		b.Node("MatMul", []string{b.Const("w", []int{8, 2})})
		return b
	}},
	{"expand(-1, 3) with ConstantOfShape, Equal and Where", "1 relu 1 identity 3", 0, func() *Build {
		b := New(42, 0, 1)
		y := b.Node("Relu", nil)
		ones := b.On("ConstantOfShape", []string{whole(b, "size", false, 2)}, onnx.Attribute{Name: "value", Kind: onnx.AttrTensor, Tensor: &onnx.Tensor{Type: onnx.Int64, Shape: []int{1}, Ints: []int64{1}}})
		minus := b.On("Mul", []string{ones, whole(b, "minus", true, -1)})
		equal := b.On("Equal", []string{whole(b, "shape", false, -1, 3), minus})
		b.On("Where", []string{equal, ones, "shape"})
		b.On("Expand", []string{y, b.Last})
		return b
	}},
	{"Cast, Neg, Sum, Mean of two", "2 identity 2", 0, func() *Build {
		b := New(43, 1, 2)
		b.Node("Cast", nil, Int("to", int64(onnx.Float64)))
		y := b.Node("Neg", nil)
		z := b.On("Sum", []string{b.Const("c", []int{2}), y, "x", y})
		mean := b.On("Mean", []string{z, y})
		b.On("Mul", []string{mean, b.On("Neg", []string{b.Const("m", []int{2})})})
		return b
	}},
	{"Mean of three", "", 0, func() *Build {
		b := New(44, 1, 2)
		y := b.Node("Relu", nil)
		z := b.On("MatMul", []string{y, b.Const("w", []int{2, 2})})
		b.On("Mean", []string{z, y, "x"})
		return b
	}},
	{"Clip from 0, from 0 to 6, and by inputs", "2 relu 2 relu 2 relu 2 relu 2 relu 2 identity 2", 0, func() *Build {
		b := New(45, 1, 2)
		b.Graph.Opset = 10
		b.Node("Clip", nil, Float("min", 0))
		b.Node("Mul", []string{b.Const("m", []int{2}, 4, -4)})
		b.Node("Clip", nil, Float("min", 0), Float("max", 6))
		b.Node("Clip", []string{b.Const("least", []int{}, -0.25), b.Const("most", []int{}, 3)})
		return b
	}},
	{"Clip at the top alone", "2 relu 2 identity 2", 0, func() *Build {
		b := New(46, 1, 2)
		b.Node("Clip", []string{"", b.Const("most", []int{}, 0.5)})
		return b
	}},
	{"Max and Min with constants", "2 relu 2 relu 2 relu 2 identity 2", 0, func() *Build {
		b := New(47, 1, 2)
		b.On("Max", []string{b.Const("zero", []int{1}, 0), "x"})
		b.Node("Min", []string{b.Const("c", []int{2}, 0.5, 1.5)})
		b.Node("Max", []string{b.Const("d", []int{1, 1}, 0.25)})
		return b
	}},
	{"PRelu with one slope", "2 leaky_relu 2 relu 2 identity 2", 0, func() *Build {
		b := New(48, 1, 2)
		b.Node("PRelu", []string{b.Const("s", []int{1}, 0.3)})
		b.Node("PRelu", []string{b.Const("t", []int{2}, 0, 0)})
		b.Node("PRelu", []string{b.Const("u", []int{}, 1)})
		return b
	}},
	{"PRelu by channels", "", 0, func() *Build {
		b := New(49, 1, 2, 2, 2)
		b.Node("PRelu", []string{b.Const("s", []int{2, 1, 1}, 0.3, -2)})
		return b
	}},
	{"ceil_mode", "", 0, func() *Build {
		b := New(50, 1, 1, 5, 4)
		b.Node("Relu", nil)
		b.Node("MaxPool", nil, Ints("kernel_shape", 2, 3), Ints("strides", 2, 2), Ints("pads", 0, 1, 0, 1), Int("ceil_mode", 1))
		b.Node("AveragePool", nil, Ints("kernel_shape", 2, 2), Ints("strides", 2, 2), Int("ceil_mode", 1))
		return b
	}},
	{"Tile", "4 relu 4 identity 24", 0, func() *Build {
		b := New(51, 1, 2, 2)
		b.Node("Relu", nil)
		b.Node("Tile", []string{whole(b, "r", false, 1, 3, 2)})
		return b
	}},
	{"Dropout of inference, with its ratio", "2 relu 2 identity 2", 0, func() *Build {
		b := New(52, 1, 2)
		b.Node("Relu", nil)
		b.Graph.Initializers = append(b.Graph.Initializers, &onnx.Tensor{Name: "off", Type: onnx.Bool, Shape: []int{}, Ints: []int64{0}})
		b.Node("Dropout", []string{b.Const("ratio", []int{}, 0.5), "off"})
		return b
	}},
	{"nodes that are not sorted", "3 relu 4 identity 2", 0, func() *Build {
		b := New(53, 1, 3)
		b.Node("Gemm", []string{b.Const("w", []int{3, 4}), b.Const("c", []int{4})})
		b.Node("Relu", nil)
		b.Node("MatMul", []string{b.Const("v", []int{4, 2})})
		slices.Reverse(b.Graph.Nodes)
		return b
	}},
	{"a batch norm in parts: Sub, Sqrt, Div", "2 relu 2 identity 2", 2, func() *Build {
		b := New(54, 1, 2)
		b.Node("Sub", []string{b.Const("mean", []int{2})})
		y := b.Last
		b.On("Add", []string{b.Const("variance", []int{2}, 0.5, 2), b.Const("eps", []int{}, 1e-3)})
		b.Node("Sqrt", nil)
		b.On("Div", []string{y, b.Last})
		b.Node("Relu", nil)
		return b
	}},
}

// TestRefusesExported has one line for each of these that is not read.
func TestRefusesExported(t *testing.T) {
	pool := func(op string, more ...onnx.Attribute) func() *onnx.Graph {
		return of(op, []int64{1, 1, 3, 3}, append(more, Ints("kernel_shape", 2, 2), Ints("strides", 2, 2), Int("ceil_mode", 1))...)
	}
	typed := func(kind onnx.DataType, op string, attributes ...onnx.Attribute) func() *onnx.Graph {
		return func() *onnx.Graph {
			b := New(1, 1, 2)
			b.Graph.Inputs[0].Type = kind
			b.Node(op, nil, attributes...)
			return &b.Graph
		}
	}
	with := func(op string, data ...float64) func() *onnx.Graph {
		return func() *onnx.Graph {
			b := New(1, 1, 2)
			b.Node(op, []string{b.Const("c", []int{len(data)}, data...)})
			return &b.Graph
		}
	}
	shaped := func(op string, data ...int64) func() *onnx.Graph {
		return func() *onnx.Graph {
			b := New(1, 1, 2)
			b.Node(op, []string{b.Shape("s", data...)})
			return &b.Graph
		}
	}
	counted := func(op string, a, c int64) func() *onnx.Graph {
		return func() *onnx.Graph {
			b := New(1, 1, 2)
			b.On(op, []string{b.Shape("a", a), b.Shape("b", c)})
			b.On("Reshape", []string{"x", b.Last})
			return &b.Graph
		}
	}
	for _, c := range []struct {
		name, want string
		build      func() *onnx.Graph
	}{
		{"a narrower type", "it makes float16 of float32, which rounds", typed(onnx.Float32, "Cast", Int("to", int64(onnx.Float16)))},
		{"half of the bits", "it makes float32 of float64, which rounds", typed(onnx.Float64, "Cast", Int("to", int64(onnx.Float32)))},
		{"no wider type", "it makes bfloat16 of float16, which rounds", typed(onnx.Float16, "Cast", Int("to", int64(onnx.BFloat16)))},
		{"whole numbers of the input", "it makes int64 of float32, which rounds", typed(onnx.Float32, "Cast", Int("to", int64(onnx.Int64)))},
		{"a type that is not read", "elements of type 8", typed(onnx.Float32, "Cast", Int("to", 8))},
		{"a Cast to a type and back", "it makes float32 of float64, which rounds", func() *onnx.Graph {
			b := New(1, 1, 2)
			b.Node("Cast", nil, Int("to", int64(onnx.Float64)))
			b.Node("Mul", []string{b.Const("m", []int{2})})
			b.Node("Cast", nil, Int("to", int64(onnx.Float32)))
			return &b.Graph
		}},
		{"training", "it may be in training mode", func() *onnx.Graph {
			b := New(1, 1, 2)
			b.Graph.Initializers = append(b.Graph.Initializers, &onnx.Tensor{Name: "on", Type: onnx.Bool, Shape: []int{}, Ints: []int64{1}})
			b.Node("Dropout", []string{"", "on"})
			return &b.Graph
		}},
		{"bounds that are none", "are no interval", of("Clip", []int64{1, 3}, Float("min", 1), Float("max", 0.5))},
		{"a bound that is no number", "are no interval", of("Clip", []int64{1, 3}, Float("min", math.NaN()))},
		{"a bound above all numbers", "are no interval", of("Clip", []int64{1, 3}, Float("min", math.Inf(1)))},
		{"a bound below all numbers", "are no interval", of("Clip", []int64{1, 3}, Float("max", math.Inf(-1)))},
		{"bounds of each number", "it needs constants of one number as bounds", with("Clip", 1, 2)},
		{"two tensors", "it compares two tensors", func() *onnx.Graph {
			b := New(1, 1, 2)
			b.On("Max", []string{b.Node("Relu", nil), "x"})
			return &b.Graph
		}},
		{"slopes of other shape", "its slopes [3]", func() *onnx.Graph {
			b := New(1, 1, 1)
			b.Node("PRelu", []string{b.Const("c", []int{3}, 1, 2, 3)})
			return &b.Graph
		}},
		{"ceil_mode and a mean with the padding", "do not agree on the mean", pool("AveragePool", Int("count_include_pad", 1))},
		{"ceil_mode and a window behind the end", "do not agree on its last window", of("MaxPool", []int64{1, 1, 3, 3}, Ints("kernel_shape", 1, 1), Ints("strides", 2, 3), Int("ceil_mode", 1))},
		{"ceil_mode of a convolution", `its attribute "ceil_mode"`, func() *onnx.Graph {
			b := New(1, 1, 1, 3, 3)
			b.Node("Conv", []string{b.Const("k", []int{1, 1, 2, 2})}, Int("ceil_mode", 1))
			return &b.Graph
		}},
		{"the root of the input", "the root of a tensor that depends on the input", of("Sqrt", []int64{1, 3})},
		{"the root of a negative number", "it takes the root of -1 (number 1)", func() *onnx.Graph {
			b := New(1, 1, 2)
			b.On("Mul", []string{"x", b.On("Sqrt", []string{b.Const("c", []int{2}, 4, -1)})})
			return &b.Graph
		}},
		{"a shape of nothing", "its shape is [0 2]", shaped("Expand", 0, 2)},
		{"repeats of other axes", "1 repeats for 2 axes", shaped("Tile", 2)},
		{"many repeats", "has more than", shaped("Tile", 1<<19, 1<<19)},
		{"a huge shape", "has more than", shaped("Expand", 1<<30, 2)},
		{"numbers beyond 32 bits", "it has 4294967294: arithmetic of shapes", counted("Add", 1<<31-1, 1<<31-1)},
		{"a division of a negative number", "it is not read of -3 and 2", counted("Div", -3, 2)},
		{"a division of a shape by 0", "it is not read of 3 and 0", counted("Div", 3, 0)},
		{"a comparison of the input", "it is read of constants of whole numbers alone", with("Equal", 1, 2)},
		{"nodes in a circle", "it takes what depends on its own output", changed(func(g *onnx.Graph) { g.Nodes[0].Inputs[0] = g.Nodes[1].Outputs[0] })},
	} {
		_, err := Graph(c.build(), Random{})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one line with %q", c.name, err, c.want)
		}
	}
}

// TestWholeSteps compares arithmetic of shapes with the evaluation of the graph: random chains of it
// make the slopes of a tensor, so that each number shows.
func TestWholeSteps(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 1))
	ops := []string{"Add", "Sub", "Mul", "Div", "Max", "Equal", "Where", "Concat", "Gather", "Slice", "Unsqueeze", "ReduceProd"}
	used := map[string]int{}
	for range testscale.Cases(t, 3000) {
		b := New(1, 2, 3, 1)
		b.On("Shape", []string{"x"})
		n := 3
		for k := range 1 + r.IntN(6) {
			name := fmt.Sprintf("i%d", k)
			op := ops[r.IntN(len(ops))]
			last := b.Last
			var list []int64
			for range n {
				list = append(list, int64(1+r.IntN(4)))
			}
			switch op {
			case "Concat":
				b.Node(op, []string{whole(b, name, false, list...)}, Int("axis", 0))
				n *= 2
			case "Gather":
				b.Node(op, []string{whole(b, name, false, int64(r.IntN(n)), int64(-1-r.IntN(n)))}, Int("axis", 0))
				n = 2
			case "Slice":
				from := r.IntN(n)
				b.Node(op, []string{whole(b, name, false, int64(from)), whole(b, name+"e", false, int64(n)), whole(b, name+"a", false, 0), whole(b, name+"s", false, 1)})
				n -= from
			case "Unsqueeze":
				b.Node(op, []string{whole(b, name, false, 1)})
				b.Node("Squeeze", []string{name})
			case "ReduceProd":
				b.Node(op, nil, Int("keepdims", 1))
				n = 1
			case "Where":
				equal := b.On("Equal", []string{last, whole(b, name, false, list...)})
				b.On(op, []string{equal, whole(b, name+"t", true, 7), last})
			case "Equal":
				b.Node(op, []string{whole(b, name, false, list...)})
				b.Node("Cast", nil, Int("to", int64(onnx.Int64)))
			default:
				b.Node(op, []string{whole(b, name, false, list...)})
			}
			used[op]++
			if n > 20 {
				break
			}
		}
		b.Node("Cast", nil, Int("to", int64(onnx.Float32)))
		b.On("Mul", []string{"x", b.Last})
		result, err := Graph(&b.Graph, Random{})
		if err != nil {
			if text := err.Error(); !strings.Contains(text, "arithmetic of shapes") && !strings.Contains(text, "is not read of") && !strings.Contains(text, "may be rounded") {
				t.Fatalf("%v: %v", b.Graph.Nodes, err)
			}
			continue
		}
		encloses(t, &b.Graph, result, points(r, result))
		used["read"]++
	}
	for _, op := range append(ops, "read") {
		if used[op] == 0 {
			t.Errorf("%s is in none of the graphs", op)
		}
	}
}

// TestSumKeepsTensors: a constant becomes a bias of what gives a tensor only if that is not used again.
func TestSumKeepsTensors(t *testing.T) {
	r := rand.New(rand.NewPCG(34, 1))
	for _, inputs := range [][]string{{"y", "c", "y"}, {"c", "y", "y"}, {"y", "c", "z"}} {
		b := New(1, 1, 1, 2, 2)
		y := b.Node("Conv", []string{b.Const("k", []int{1, 1, 1, 1}, 0.5)})
		z := b.Node("Relu", nil)
		b.Const("c", []int{1, 1, 1}, 2)
		for i, name := range inputs {
			inputs[i] = map[string]string{"y": y, "z": z, "c": "c"}[name]
		}
		b.On("Sum", inputs)
		result, err := Graph(&b.Graph, Random{})
		if err != nil {
			t.Fatal(err)
		}
		encloses(t, &b.Graph, result, points(r, result))
	}
}

// TestRandomExported: constants that an operator takes as they are have no distribution, and what
// Sum adds has one.
func TestRandomExported(t *testing.T) {
	b := New(55, 1, 2)
	b.Node("MatMul", []string{b.Const("w", []int{2, 2})})
	b.Node("Sum", []string{b.Const("b", []int{2})})
	b.Node("Clip", []string{b.Const("least", []int{}, 0), b.Const("most", []int{}, 6)})
	b.Graph.Initializers = append(b.Graph.Initializers, &onnx.Tensor{Name: "off", Type: onnx.Bool, Shape: []int{}, Ints: []int64{0}})
	b.Node("Dropout", []string{b.Const("ratio", []int{}, 0.5), "off"})
	b.Node("PRelu", []string{b.Const("slope", []int{1}, 0.5)})
	b.Node("MatMul", []string{b.Const("v", []int{2, 1})})
	r, err := Graph(&b.Graph, Random{Every: true})
	if err != nil {
		t.Fatal(err)
	}
	random := 0
	for _, l := range r.Layers {
		for _, id := range slices.Concat(l.WeightID, l.BiasID) {
			if id != 0 {
				random++
			}
		}
	}
	want := `constants of Clip, Dropout, PRelu keep the standard deviation 0: "least", "most", "ratio", "slope"`
	if random != 4+2+2 || len(r.Notes) != 1 || r.Notes[0] != want {
		t.Errorf("%d numbers are random; notes %q, want %q", random, r.Notes, want)
	}
}
