package lower

import (
	"math"
	"strings"
	"testing"

	"psafe/host/read/onnx"
	. "psafe/internal/testkit/onnxtest"
)

// of builds a graph of one node after the input.
func of(op string, shape []int64, attributes ...onnx.Attribute) func() *onnx.Graph {
	return func() *onnx.Graph {
		b := New(1, shape...)
		b.Node(op, nil, attributes...)
		return &b.Graph
	}
}

// changed is a small network with something changed.
func changed(change func(g *onnx.Graph)) func() *onnx.Graph {
	return func() *onnx.Graph {
		b := New(1, 0, 3)
		b.Node("Gemm", []string{b.Const("w", []int{3, 2}), b.Const("c", []int{2})})
		b.Node("Relu", nil)
		change(&b.Graph)
		return &b.Graph
	}
}

// TestRefuses has one line for each graph that is no stack of layers.
func TestRefuses(t *testing.T) {
	for _, c := range []struct {
		name, want string
		build      func() *onnx.Graph
	}{
		{"an unknown operator", `node "Gelu_a" (Gelu): psafe does not read this operator: write the network with those that psafe supports --onnx-operators lists`, of("Gelu", []int64{1, 3})},
		{"another domain", "(org.my.Relu): psafe does not read", changed(func(g *onnx.Graph) { g.Nodes[1].Domain = "org.my" })},
		{"Softmax", "export the network without it", of("Softmax", []int64{1, 3})},
		{"Dropout", "evaluation mode", func() *onnx.Graph {
			b := New(1, 1, 3)
			b.Node("Dropout", []string{b.Const("ratio", []int{}, 0.5), b.Const("training", []int{}, 1)})
			return &b.Graph
		}},
		{"the mask of Dropout", `a second output "mask"`, func() *onnx.Graph {
			b := New(1, 1, 3)
			b.Node("Dropout", nil)
			b.Graph.Nodes[0].Outputs = append(b.Graph.Nodes[0].Outputs, "mask")
			b.Node("Add", []string{"mask"})
			return &b.Graph
		}},
		{"an unknown attribute", `psafe does not know its attribute "axis"`, of("Relu", []int64{1, 3}, Int("axis", 1))},
		{"an attribute twice", `attribute "axis" comes twice`, of("Flatten", []int64{1, 3}, Int("axis", 1), Int("axis", 0))},
		{"an attribute of another kind", `attribute "axis" is of kind 1 instead of 2`, of("Flatten", []int64{1, 3}, Float("axis", 1))},
		{"an input of whole numbers", `input "x" is of whole numbers`, changed(func(g *onnx.Graph) { g.Inputs[0].Type = onnx.Int64 })},
		{"an epsilon that is NaN", `attribute "epsilon" is NaN`, func() *onnx.Graph {
			b := New(1, 1, 1)
			b.Node("BatchNormalization", []string{b.Const("s", []int{1}), "s", "s", "s"}, Float("epsilon", math.NaN()))
			return &b.Graph
		}},
		{"an infinite epsilon", `attribute "epsilon" is +Inf`, func() *onnx.Graph {
			b := New(1, 1, 1)
			b.Node("BatchNormalization", []string{b.Const("s", []int{1}), "s", "s", "s"}, Float("epsilon", math.Inf(1)))
			return &b.Graph
		}},
		{"padding with NaN", `attribute "value" is NaN`, of("Pad", []int64{1, 3}, Ints("pads", 0, 1, 0, 1), Float("value", math.NaN()))},
		{"no shape", "has no shape", changed(func(g *onnx.Graph) { g.Inputs[0].HasShape = false })},
		{"an open axis", `no size along axis 1 ("features")`, changed(func(g *onnx.Graph) { g.Inputs[0].Shape[1] = onnx.Dim{Size: -1, Name: "features"} })},
		{"a huge axis", "no size along axis 1", changed(func(g *onnx.Graph) { g.Inputs[0].Shape[1].Size = 1 << 40 })},
		{"a large input", "has more than", changed(func(g *onnx.Graph) { g.Inputs[0].Shape[1].Size = 1 << 30 })},
		{"two inputs", "the graph has 2 inputs", changed(func(g *onnx.Graph) { g.Inputs = append(g.Inputs, onnx.Value{Name: "y"}) })},
		{"a missing initialiser", `it takes "gone", which nothing gives`, changed(func(g *onnx.Graph) { g.Nodes[0].Inputs[1] = "gone" })},
		{"a name twice", `something else is named "w" too`, changed(func(g *onnx.Graph) { g.Nodes[1].Outputs[0] = "w" })},
		{"two outputs", "the graph has 2 outputs", changed(func(g *onnx.Graph) { g.Outputs = append(g.Outputs, g.Outputs...) })},
		{"an output that is not there", `no node gives the output "z"`, changed(func(g *onnx.Graph) { g.Outputs[0].Name = "z" })},
		{"a constant output", "the network does not use its input", changed(func(g *onnx.Graph) { g.Outputs[0].Name = "w" })},
		{"a second output", `a second output "mask"`, changed(func(g *onnx.Graph) { g.Nodes[1].Outputs = append(g.Nodes[1].Outputs, "mask") })},
		{"too many inputs", "it has 2 inputs instead of 1 to 1", changed(func(g *onnx.Graph) { g.Nodes[1].Inputs = append(g.Nodes[1].Inputs, "w") })},
		{"an old opset", "of opset 1: psafe knows 7 to 24", changed(func(g *onnx.Graph) { g.Opset = 1 })},
		{"shapes that do not fit", "do not go together", changed(func(g *onnx.Graph) { g.Initializers[0].Shape = []int{2, 3} })},
		{"NaN", `initialiser "w": number 1 is NaN`, changed(func(g *onnx.Graph) { g.Initializers[0].Floats[1] = math.NaN() })},
		{"a product of tensors", "multiplies two tensors that depend on the input", func() *onnx.Graph {
			b := New(1, 1, 3)
			b.Node("Mul", []string{"x"})
			return &b.Graph
		}},
		{"a quotient of tensors", "divides by a tensor", func() *onnx.Graph {
			b := New(1, 1, 3)
			b.On("Div", []string{b.Const("one", []int{3}), "x"})
			return &b.Graph
		}},
		{"a division by 0", "it divides by 0 (number 1", func() *onnx.Graph {
			b := New(1, 1, 2)
			b.Node("Div", []string{b.Const("d", []int{2}, 1, 0)})
			return &b.Graph
		}},
		{"a shape that is computed", "its shape is not a constant list", func() *onnx.Graph {
			b := New(1, 1, 2)
			b.Node("Reshape", []string{b.Const("d", []int{2})})
			return &b.Graph
		}},
		{"a reshape that does not fit", "it cannot make [3 -1] of the shape [1 4]", func() *onnx.Graph {
			b := New(1, 1, 4)
			b.Node("Reshape", []string{b.Shape("d", 3, -1)})
			return &b.Graph
		}},
		{"a huge reshape", "it cannot make", func() *onnx.Graph {
			b := New(1, 1, 4)
			b.Node("Reshape", []string{b.Shape("d", 1<<31-1, 1<<31-1, 1<<31-1, 1<<31-1)})
			return &b.Graph
		}},
		{"an ELU that is not convex", "alpha is 1.5: its slope must be between 0 and 1", of("Elu", []int64{1, 3}, Float("alpha", 1.5))},
		{"a slope above 1", "alpha is 2: its slope must be between 0 and 1", of("LeakyRelu", []int64{1, 3}, Float("alpha", 2))},
		{"training", "evaluation mode", func() *onnx.Graph {
			b := New(1, 1, 2)
			b.Node("BatchNormalization", []string{b.Const("a", []int{2}), b.Const("b", []int{2}), b.Const("c", []int{2}), b.Const("d", []int{2}, 1, 1)}, Int("training_mode", 1))
			return &b.Graph
		}},
		{"a negative variance", "of channel 1 is not above 0", func() *onnx.Graph {
			b := New(1, 1, 2)
			b.Node("BatchNormalization", []string{b.Const("a", []int{2}), b.Const("b", []int{2}), b.Const("c", []int{2}), b.Const("d", []int{2}, 1, -1)})
			return &b.Graph
		}},
		{"Pad by reflection", "only padding with a constant", of("Pad", []int64{1, 3}, Text("mode", "reflect"))},
		{"Pad by less than nothing", "pads has -1", of("Pad", []int64{1, 3}, Ints("pads", 0, 0, 0, -1))},
		{"a kernel that does not fit", "does not fit into 3", of("MaxPool", []int64{1, 1, 3, 3}, Ints("kernel_shape", 4, 1))},
		{"no kernel", "its kernel is [0 0]", of("MaxPool", []int64{1, 1, 3, 3})},
		{"a huge stride", "strides has 4611686018427387904", of("MaxPool", []int64{1, 1, 3, 3}, Ints("kernel_shape", 2, 2), Ints("strides", 1<<62, 1))},
		{"negative pads", "pads has -1", of("AveragePool", []int64{1, 1, 3, 3}, Ints("kernel_shape", 2, 2), Ints("pads", 0, 0, -1, 0))},
		{"padding alone", "may lie in the padding altogether", of("MaxPool", []int64{1, 1, 3, 3}, Ints("kernel_shape", 1, 1), Ints("pads", 1, 1, 1, 1))},
		{"four axes", "one or two axes", of("MaxPool", []int64{1, 1, 2, 2, 2, 2}, Ints("kernel_shape", 1, 1, 1, 1))},
		{"too many outputs", "it has 65536 numbers: at most 4096 can be logits", func() *onnx.Graph {
			b := New(1, 1, 1, 128, 128)
			b.Node("Conv", []string{b.Const("k", []int{4, 1, 3, 3})}, Ints("pads", 1, 1, 1, 1))
			b.Node("Relu", nil)
			return &b.Graph
		}},
		{"a stack of matrices", "it multiplies by several matrices", func() *onnx.Graph {
			b := New(1, 2, 1, 3)
			b.Node("Relu", nil)
			b.On("Add", []string{b.Last, "x"}) // no stack
			b.Node("MatMul", []string{b.Const("w", []int{2, 3, 3})})
			return &b.Graph
		}},
		{"a constant beside numbers", "it puts a constant beside numbers", func() *onnx.Graph {
			b := New(1, 1, 3)
			b.Node("Relu", nil)
			b.On("Add", []string{b.Last, "x"})
			b.Node("Concat", []string{b.Const("c", []int{1, 2})}, Int("axis", 1))
			return &b.Graph
		}},
		{"two images", "one image or sequence is read", of("GlobalMaxPool", []int64{2, 1, 3, 3})},
		{"no part", "it takes nothing of axis 1", func() *onnx.Graph {
			b := New(1, 1, 3)
			b.Node("Slice", []string{b.Shape("from", 2), b.Shape("to", 2), b.Shape("axes", 1)})
			return &b.Graph
		}},
		{"a step of 0", "a step of 0", func() *onnx.Graph {
			b := New(1, 1, 3)
			b.Node("Slice", []string{b.Shape("from", 0), b.Shape("to", 2), b.Shape("axes", 1), b.Shape("steps", 0)})
			return &b.Graph
		}},
		{"parts that do not fit", "it makes parts [1 1] of 3", func() *onnx.Graph {
			b := New(1, 1, 3)
			b.Node("Split", []string{b.Shape("parts", 1, 1)}, Int("axis", 1))
			b.Graph.Nodes[0].Outputs = append(b.Graph.Nodes[0].Outputs, "second")
			b.Node("Add", []string{"second"})
			return &b.Graph
		}},
		{"a place beyond the end", "index 3 of axis 1, which has 3", func() *onnx.Graph {
			b := New(1, 1, 3)
			b.Node("Gather", []string{b.Shape("places", 3)}, Int("axis", 1))
			return &b.Graph
		}},
		{"an axis that is not of length 1", "it drops axis 1", func() *onnx.Graph {
			b := New(1, 1, 3)
			b.Node("Squeeze", []string{b.Shape("axes", 1)})
			return &b.Graph
		}},
		{"axes that are computed", "its axes are not a constant list", func() *onnx.Graph {
			b := New(1, 1, 3)
			b.Node("ReduceSum", []string{"x"})
			return &b.Graph
		}},
		{"windows without number", "too large", of("AveragePool", []int64{1, 1, 4096, 4096}, Ints("kernel_shape", 1000, 1000), Ints("pads", 1000, 1000, 1000, 1000))},
		{"tensors that grow", "too large", func() *onnx.Graph {
			b := New(1, 1, 1024)
			for range 24 {
				b.Node("Concat", []string{b.Last}, Int("axis", 1))
			}
			return &b.Graph
		}},
		{"overflow", "is beyond the range of float64", func() *onnx.Graph {
			b := New(1, 1, 2)
			b.Node("Div", []string{b.Const("d", []int{1}, 5e-324)})
			return &b.Graph
		}},
	} {
		r, err := Graph(c.build(), Random{})
		if err == nil {
			_, err = planned(r)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one line with %q", c.name, err, c.want)
		}
	}
}
