package lower

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"psafe/host/model/network"
	"psafe/host/read/format/graph"
	"psafe/host/read/onnx"
	. "psafe/internal/testkit/onnxtest"
	"psafe/internal/testscale"
)

// planned is what package graph makes of the layers.
func planned(r *Result) (*graph.Plan, error) {
	n := 1
	for _, d := range r.Shape {
		n *= d
	}
	var stated []graph.Layer
	for _, l := range r.Layers {
		stated = append(stated, l.Layer)
	}
	return graph.Lower(stated, []int{n})
}

// networkOf is the network of the layers, and its weights.
func networkOf(t *testing.T, r *Result) (net network.Network, weights [][]float64) {
	t.Helper()
	plan, err := planned(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range plan.Layers {
		net = append(net, network.Layer{Map: l.Map, Activation: l.Activation, Sources: l.Sources})
		switch {
		case l.Of >= 0:
			weights = append(weights, r.Layers[l.Of].Weight, r.Layers[l.Of].Bias)
		case l.Of == graph.Unit:
			weights = append(weights, eye(l.Map.Inputs(), l.Map.Inputs()), make([]float64, l.Map.Inputs()))
		default:
			weights = append(weights, nil, nil)
		}
	}
	if err := net.Check(); err != nil {
		t.Fatal(err)
	}
	return net, weights
}

// decoded is the graph as it is read from a file.
func decoded(t *testing.T, g *onnx.Graph) *onnx.Graph {
	t.Helper()
	read, err := onnx.Decode(Encode(g))
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// agree compares the layers of a graph with Evaluate on random points.
func agree(t *testing.T, g *onnx.Graph, r *Result, cases int) {
	t.Helper()
	draw := rand.New(rand.NewPCG(7, 7))
	net, weights := networkOf(t, r)
	for range testscale.Cases(t, cases) {
		x := make([]float64, net.Inputs())
		for i := range x {
			x[i] = 4*draw.Float64() - 2
		}
		want, got := Evaluate(g, x), net.OutputsApprox(weights, x)
		if len(got) != len(want) {
			t.Fatalf("%d outputs, want %d", len(got), len(want))
		}
		for i := range want {
			if !(math.Abs(got[i]-want[i]) <= 1e-6*(1+math.Abs(want[i]))) {
				t.Fatalf("output %d is %v, want %v (layers %s)", i, got[i], want[i], words(t, r))
			}
		}
	}
}

// words are the widths and activations of the maps of a network.
func words(t *testing.T, r *Result) string {
	net, _ := networkOf(t, r)
	text := fmt.Sprint(net.Inputs())
	for _, l := range net {
		if _, dense := l.Map.(network.Dense); !dense {
			text += " " + strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", l.Map), "network."))
		}
		text += fmt.Sprintf(" %v %d", l.Activation.Kind, l.Outputs())
	}
	return text
}

// lowered is a network of one way to use an operator. layers is what it becomes.
type lowered struct {
	name, layers string
	notes        int
	build        func() *Build
}

// networks has one for each way to use each operator.
var networks = []lowered{
	{"Gemm", "3 relu 4 identity 2", 0, func() *Build {
		b := New(1, 0, 3)
		b.Node("Gemm", []string{b.Const("w", []int{3, 4}), b.Const("c", []int{4})})
		b.Node("Relu", nil)
		b.Node("Gemm", []string{b.Const("v", []int{2, 4}), b.Const("d", []int{1, 2})}, Int("transB", 1))
		return b
	}},
	{"Gemm with alpha and beta, float32 times float32", "3 tanh 4 identity 4", 0, func() *Build {
		b := New(2, 1, 3)
		b.Node("Gemm", []string{b.Const("w", []int{3, 4}), b.Const("c", []int{4})}, Float("alpha", 0.3), Float("beta", 2.5))
		b.Node("Tanh", nil)
		return b
	}},
	{"three factors are not exact", "3 identity 4 tanh 4 identity 4", 0, func() *Build {
		b := New(2, 1, 3)
		b.Node("Gemm", []string{b.Const("w", []int{3, 4}), b.Const("c", []int{4})}, Float("alpha", 0.3), Float("beta", 2.5))
		b.Node("Mul", []string{b.Const("m", []int{4})})
		b.Node("Tanh", nil)
		return b
	}},
	{"Gemm with alpha a power of two", "3 sigmoid 4 identity 4", 0, func() *Build {
		b := New(2, 1, 3)
		b.Node("Gemm", []string{b.Const("w", []int{3, 4}), b.Const("c", []int{4})}, Float("alpha", 0.25))
		b.Node("Sigmoid", nil)
		return b
	}},
	{"Gemm with the input on the right, transposed", "6 identity 8", 0, func() *Build {
		b := New(2, 2, 3)
		b.On("Gemm", []string{b.Const("w", []int{3, 4}), "x", b.Const("c", []int{4, 1})}, Int("transA", 1), Int("transB", 1))
		return b
	}},
	{"MatMul, Add, two maps in a row", "5 identity 4 identity 3", 0, func() *Build {
		b := New(3, 1, 5)
		b.Node("MatMul", []string{b.Const("w", []int{5, 4})})
		b.Node("Add", []string{b.Const("b", []int{4})})
		b.Node("MatMul", []string{b.Const("v", []int{4, 3})})
		b.On("Add", []string{b.Const("c", []int{3}), b.Last})
		return b
	}},
	{"MatMul from the left, of a vector and of a stack", "6 identity 8", 0, func() *Build {
		b := New(3, 1, 3, 2)
		b.On("MatMul", []string{b.Const("w", []int{4, 3}), "x"})
		return b
	}},
	{"Add of two forms, exact", "4 relu 4 identity 4", 0, func() *Build {
		b := New(4, 1, 4)
		y := b.Node("Relu", nil)
		z := b.Node("Mul", []string{b.Const("m", []int{1}, 0.5)})
		b.On("Add", []string{y, z})
		return b
	}},
	{"Add of two forms, not exact", "4 identity 8 identity 4", 0, func() *Build {
		b := New(4, 1, 4)
		y := b.Node("MatMul", []string{b.Const("w", []int{4, 4})})
		z := b.On("MatMul", []string{"x", b.Const("v", []int{4, 4}, many(16, 1e-30)...)})
		b.On("Add", []string{y, z})
		return b
	}},
	{"an affine skip, kept by layers between", "4 identity 8 identity 12 identity 4", 0, func() *Build {
		b := New(4, 1, 4)
		y := b.Node("MatMul", []string{b.Const("w", []int{4, 4})})
		b.Node("MatMul", []string{b.Const("v", []int{4, 4}, append(many(15, 1), 1e-30)...)})
		b.Node("Add", []string{y})
		b.Node("Add", []string{"x"})
		return b
	}},
	{"Sub and Div of the input", "3 identity 3 relu 4 identity 4", 1, func() *Build {
		b := New(5, 1, 3)
		b.Node("Sub", []string{b.Const("mean", []int{3})})
		b.Node("Div", []string{b.Const("std", []int{3})})
		b.Node("Gemm", []string{b.Const("w", []int{3, 4}), b.Const("c", []int{4})})
		b.Node("Relu", nil)
		return b
	}},
	{"Sub from a constant, Mul by channels", "6 identity 6", 0, func() *Build {
		b := New(5, 2, 3)
		b.On("Sub", []string{b.Const("one", []int{}, 1), "x"})
		b.On("Mul", []string{b.Const("m", []int{2, 1}), b.Last})
		return b
	}},
	{"Mul that widens", "2 identity 6", 0, func() *Build {
		b := New(5, 2, 1)
		b.On("Mul", []string{b.Const("m", []int{1, 3}), "x"})
		return b
	}},
	{"Div that widens, by powers of two", "2 identity 4", 0, func() *Build {
		b := New(5, 2, 1)
		b.Node("Div", []string{b.Const("m", []int{2}, 4, -0.5)})
		return b
	}},
	{"LeakyRelu", "2 leaky_relu 2 leaky_relu 2 identity 2", 0, func() *Build {
		b := New(6, 1, 2)
		b.Node("LeakyRelu", nil)
		b.Node("LeakyRelu", nil, Float("alpha", 0.3))
		return b
	}},
	{"Elu, Softplus", "2 elu 2 elu 2 softplus 2 identity 2", 0, func() *Build {
		b := New(21, 1, 2)
		b.Node("Elu", nil)
		b.Node("Elu", nil, Float("alpha", 0.3))
		b.Node("Softplus", nil)
		return b
	}},
	{"Flatten, Reshape, Transpose, Identity, Constant", "24 identity 24", 0, func() *Build {
		b := New(7, 1, 2, 3, 4)
		b.Node("Transpose", nil, Ints("perm", 0, 2, 3, 1))
		b.Node("Identity", nil)
		b.Node("Reshape", []string{b.Shape("s", 0, -1, 3)})
		b.Node("Transpose", nil)
		b.Node("Flatten", nil, Int("axis", 2))
		b.Node("Flatten", nil, Int("axis", 0))
		y := b.Last
		b.On("Constant", nil, onnx.Attribute{Name: "value", Kind: onnx.AttrTensor, Tensor: &onnx.Tensor{Type: onnx.Float64, Shape: []int{1, 24}, Floats: many(24, 0.1)}})
		b.On("Add", []string{y, b.Last})
		return b
	}},
	{"Transpose of the weights", "3 identity 2", 0, func() *Build {
		b := New(7, 1, 3)
		w := b.On("Transpose", []string{b.Const("w", []int{2, 3})})
		b.On("MatMul", []string{"x", w})
		return b
	}},
	{"Concat", "4 identity 14", 0, func() *Build {
		b := New(8, 1, 2, 2)
		y := b.Node("MatMul", []string{b.Const("w", []int{2, 3})})
		z := b.On("Concat", []string{"x", y}, Int("axis", 2))
		b.On("Concat", []string{z, z[:0] + b.Const("c", []int{1, 1, 5})}, Int("axis", 1))
		b.Node("Reshape", []string{b.Shape("s", 15)})
		b.Node("MatMul", []string{b.Const("pick", []int{15, 14}, eye(15, 14)...)})
		return b
	}},
	{"Conv", "32 conv relu 18 conv identity 8 identity 8", 0, func() *Build {
		b := New(9, 1, 2, 4, 4)
		b.Node("Conv", []string{b.Const("k", []int{2, 2, 2, 2}), b.Const("c", []int{2})})
		b.Node("Relu", nil)
		b.Node("Conv", []string{b.Const("l", []int{2, 2, 2, 2})})
		return b
	}},
	{"Conv with pads, strides, dilations and groups", "60 conv identity 36 identity 36", 0, func() *Build {
		b := New(10, 1, 4, 3, 5)
		b.Node("Conv", []string{b.Const("k", []int{6, 2, 2, 3}), b.Const("c", []int{6})}, Ints("pads", 1, 2, 0, 1),
			Ints("strides", 1, 2), Ints("dilations", 2, 1), Int("group", 2), Ints("kernel_shape", 2, 3))
		b.Node("Reshape", []string{b.Shape("s", 1, -1)})
		return b
	}},
	{"Conv with auto_pad", "35 conv identity 12 identity 12", 0, func() *Build {
		b := New(11, 1, 1, 5, 7)
		b.Node("Conv", []string{b.Const("k", []int{1, 1, 2, 4})}, Ints("strides", 2, 2), Text("auto_pad", "SAME_UPPER"))
		return b
	}},
	{"Conv with auto_pad below", "35 conv identity 12 identity 12", 0, func() *Build {
		b := New(11, 1, 1, 5, 7)
		b.Node("Conv", []string{b.Const("k", []int{1, 1, 2, 4})}, Ints("strides", 2, 2), Text("auto_pad", "SAME_LOWER"))
		return b
	}},
	{"BatchNormalization after Conv", "16 conv identity 18 conv relu 18 identity 18", 1, func() *Build {
		b := New(12, 1, 1, 4, 4)
		b.Node("Conv", []string{b.Const("k", []int{2, 1, 2, 2}), b.Const("c", []int{2})})
		b.Node("BatchNormalization", []string{b.Const("g", []int{2}), b.Const("h", []int{2}), b.Const("m", []int{2}), b.Const("v", []int{2}, 0.7, 0.003)}, Float("epsilon", 1e-3), Float("momentum", 0.9))
		b.Node("Relu", nil)
		return b
	}},
	{"BatchNormalization of the input, then Gemm", "3 identity 3 identity 2", 1, func() *Build {
		b := New(13, 0, 3)
		b.Node("BatchNormalization", []string{b.Const("g", []int{3}), b.Const("h", []int{3}), b.Const("m", []int{3}), b.Const("v", []int{3}, 1, 2, 3)})
		b.Node("MatMul", []string{b.Const("w", []int{3, 2})})
		return b
	}},
	{"MaxPool of what is never negative", "25 reorder identity 25 maxpool relu 9 identity 9", 0, func() *Build {
		b := New(14, 1, 1, 5, 5)
		b.Node("Relu", nil)
		b.Node("MaxPool", nil, Ints("kernel_shape", 2, 2), Ints("strides", 2, 2), Ints("pads", 0, 0, 1, 1))
		return b
	}},
	{"MaxPool of the input, windows that overlap", "20 reorder identity 20 maxpool identity 12 identity 12", 0, func() *Build {
		b := New(15, 1, 1, 4, 5)
		b.Node("MaxPool", nil, Ints("kernel_shape", 2, 2))
		return b
	}},
	{"MaxPool of three, with dilations", "30 reorder identity 30 maxpool identity 8 identity 8", 0, func() *Build {
		b := New(16, 1, 1, 6, 5)
		b.Node("MaxPool", nil, Ints("kernel_shape", 3, 2), Ints("dilations", 2, 1), Ints("strides", 1, 1))
		return b
	}},
	{"MaxPool of a convolution", "", 0, func() *Build {
		b := New(17, 1, 2, 4, 4)
		b.Node("Conv", []string{b.Const("k", []int{2, 2, 3, 3}, many(36, 1e-20)...), b.Const("c", []int{2})}, Ints("pads", 1, 1, 1, 1))
		b.Node("MaxPool", nil, Ints("kernel_shape", 2, 2), Ints("strides", 2, 2))
		b.Node("Relu", nil)
		b.Node("Flatten", nil)
		b.Node("Gemm", []string{b.Const("w", []int{8, 3}), b.Const("d", []int{3})})
		return b
	}},
	{"Pad", "16 identity 30", 0, func() *Build {
		b := New(18, 1, 1, 4, 4)
		b.Node("Pad", []string{b.Shape("p", 0, 0, 1, 0, 0, 0, 0, 2), b.Const("v", []int{}, 0.5)}, Text("mode", "constant"))
		return b
	}},
	{"AveragePool of four: exact", "16 avgpool identity 4 identity 4", 0, func() *Build {
		b := New(18, 1, 1, 4, 4)
		b.Node("AveragePool", nil, Ints("kernel_shape", 2, 2), Ints("strides", 2, 2))
		return b
	}},
	{"AveragePool with pads, counted and not", "9 avgpool identity 9 avgpool identity 9 identity 9", 0, func() *Build {
		b := New(19, 1, 1, 3, 3)
		b.Node("AveragePool", nil, Ints("kernel_shape", 3, 3), Ints("pads", 1, 1, 1, 1))
		b.Node("AveragePool", nil, Ints("kernel_shape", 3, 3), Ints("pads", 1, 1, 1, 1), Int("count_include_pad", 1))
		return b
	}},
	{"Dropout, Slice, Split, Gather, Squeeze, Unsqueeze, ReduceSum", "12 relu 12 identity 4", 0, func() *Build {
		b := New(22, 1, 3, 4)
		b.Node("Relu", nil)
		b.Node("Dropout", nil, Float("ratio", 0.3))
		b.Node("Slice", []string{b.Shape("s0", 3, 0), b.Shape("s1", -9, -1), b.Shape("s2", -1, 1), b.Shape("s3", -1, 1)})
		b.Node("Unsqueeze", []string{b.Shape("u", 1)})
		b.Node("Squeeze", []string{"u"})
		b.Node("Split", []string{b.Shape("p", 1, 3)}, Int("axis", 2))
		n := &b.Graph.Nodes[len(b.Graph.Nodes)-1]
		n.Outputs = append(n.Outputs, "second")
		one := b.On("ReduceSum", []string{b.Last, b.Shape("a", -1)}, Int("keepdims", 1))
		b.On("Gather", []string{"second", b.Shape("g", -1, 1)}, Int("axis", 2))
		b.On("Add", []string{one, b.Last})
		b.Node("Reshape", []string{b.Shape("f", 1, 4)})
		return b
	}},
	{"ReduceMean", "12 reorder identity 12 avgpool identity 4 identity 4", 0, func() *Build {
		b := New(23, 1, 3, 4)
		b.Node("ReduceMean", nil, Ints("axes", 1), Int("keepdims", 0))
		return b
	}},
	{"GlobalMaxPool", "18 reorder relu 18 reorder identity 18 maxpool identity 2 identity 2", 0, func() *Build {
		b := New(24, 1, 2, 3, 3)
		b.Node("Relu", nil)
		b.Node("GlobalMaxPool", nil)
		return b
	}},
	{"a skip connection", "3 reorder relu 3 identity 3 add relu 3 identity 2", 0, func() *Build {
		b := New(25, 1, 3)
		b.Node("Relu", nil)
		b.Node("MatMul", []string{b.Const("w", []int{3, 3})})
		b.Node("Add", []string{b.Const("b", []int{3})})
		b.Node("Add", []string{"x"})
		b.Node("Relu", nil)
		b.Node("MatMul", []string{b.Const("v", []int{3, 2})})
		return b
	}},
	{"a constant added behind what another layer takes", "8 conv identity 8 reorder relu 8 conv identity 8 add identity 8 identity 8", 0, func() *Build {
		b := New(26, 1, 2, 2, 2)
		y := b.Node("Conv", []string{b.Const("k", []int{2, 2, 1, 1}), b.Const("c", []int{2})})
		z := b.Node("Relu", nil)
		b.On("Add", []string{y, b.Const("d", []int{2, 1, 1})})
		b.Node("Add", []string{z})
		return b
	}},
	{"a sum with the transposed, and a gain of one channel each", "4 avgpool identity 4 reorder identity 4 add identity 4 conv identity 4 identity 4", 0, func() *Build {
		b := New(27, 1, 1, 2, 2)
		y := b.Node("AveragePool", nil, Ints("kernel_shape", 1, 1))
		z := b.Node("Transpose", nil, Ints("perm", 0, 1, 3, 2))
		b.On("Add", []string{y, z})
		b.Node("Mul", []string{b.Const("m", []int{2, 2})})
		return b
	}},
	{"GlobalAveragePool of a Relu", "18 reorder relu 18 reorder identity 18 avgpool identity 2 identity 3", 0, func() *Build {
		b := New(20, 1, 2, 3, 3)
		b.Node("Relu", nil)
		b.Node("GlobalAveragePool", nil)
		b.Node("Flatten", nil)
		b.Node("Gemm", []string{b.Const("w", []int{2, 3}), b.Const("d", []int{3})})
		return b
	}},
}

func many(n int, scale float64) []float64 {
	r := rand.New(rand.NewPCG(3, 3))
	var list []float64
	for range n {
		list = append(list, float64(float32(scale*(2*r.Float64()-1))))
	}
	return list
}

func eye(rows, columns int) []float64 {
	list := make([]float64, rows*columns)
	for i := range columns {
		list[i*columns+i] = 1
	}
	return list
}

// TestOperators compares every operator with Evaluate.
func TestOperators(t *testing.T) {
	used := map[string]bool{}
	for _, c := range slices.Concat(networks, exported) {
		t.Run(c.name, func(t *testing.T) {
			g := decoded(t, &c.build().Graph)
			for _, n := range g.Nodes {
				used[n.Op] = true
			}
			r, err := Graph(g, Random{})
			if err != nil {
				t.Fatal(err)
			}
			if got := words(t, r); got != c.layers && c.layers != "" {
				t.Errorf("layers %s, want %s", got, c.layers)
			}
			if len(r.Notes) != c.notes {
				t.Errorf("notes %q, want %d", r.Notes, c.notes)
			}
			agree(t, g, r, 1000)
		})
	}
	for _, op := range Operators() {
		if !used[op] {
			t.Errorf("%s is lowered and in no network of this test", op)
		}
	}
}
