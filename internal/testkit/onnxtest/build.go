package onnxtest

import (
	"math/rand/v2"

	"psafe/host/read/onnx"
)

// Build is a graph that grows node by node: each takes the output of the one before.
type Build struct {
	Graph onnx.Graph
	// Last is the output of the last node.
	Last string
	R    *rand.Rand
}

// New begins a graph with an input "x" of a shape, of which 0 stands for an open axis.
func New(seed uint64, shape ...int64) *Build {
	v := onnx.Value{Name: "x", Type: onnx.Float32, HasShape: true}
	for _, d := range shape {
		if d == 0 {
			v.Shape = append(v.Shape, onnx.Dim{Size: -1, Name: "batch"})
		} else {
			v.Shape = append(v.Shape, onnx.Dim{Size: d})
		}
	}
	return &Build{Graph: onnx.Graph{Opset: 13, Inputs: []onnx.Value{v}}, Last: "x", R: rand.New(rand.NewPCG(seed, 1))}
}

// Const adds an initialiser of float32 numbers between -1 and 1, or those given.
func (b *Build) Const(name string, shape []int, data ...float64) string {
	n := 1
	for _, d := range shape {
		n *= d
	}
	if len(data) == 0 {
		for range n {
			data = append(data, float64(float32(2*b.R.Float64()-1)))
		}
	}
	b.Graph.Initializers = append(b.Graph.Initializers, &onnx.Tensor{Name: name, Type: onnx.Float32, Shape: shape, Floats: data})
	return name
}

// Shape adds an initialiser of int64.
func (b *Build) Shape(name string, data ...int64) string {
	b.Graph.Initializers = append(b.Graph.Initializers, &onnx.Tensor{Name: name, Type: onnx.Int64, Shape: []int{len(data)}, Ints: data})
	return name
}

// Node adds a node of the last output and more inputs, and gives the name of its output.
func (b *Build) Node(op string, more []string, attributes ...onnx.Attribute) string {
	return b.On(op, append([]string{b.Last}, more...), attributes...)
}

// On adds a node of these inputs.
func (b *Build) On(op string, inputs []string, attributes ...onnx.Attribute) string {
	name := op + "_" + string(rune('a'+len(b.Graph.Nodes)))
	b.Graph.Nodes = append(b.Graph.Nodes, onnx.Node{Name: name, Op: op, Inputs: inputs, Outputs: []string{name}, Attributes: attributes})
	b.Last = name
	b.Graph.Outputs = []onnx.Value{{Name: name, Type: onnx.Float32}}
	return name
}

// Int, Float, Text and Ints are attributes.
func Int(name string, v int64) onnx.Attribute {
	return onnx.Attribute{Name: name, Kind: onnx.AttrInt, Int: v}
}

// Float is an attribute.
func Float(name string, v float64) onnx.Attribute {
	return onnx.Attribute{Name: name, Kind: onnx.AttrFloat, Float: float64(float32(v))}
}

// Text is an attribute.
func Text(name, v string) onnx.Attribute {
	return onnx.Attribute{Name: name, Kind: onnx.AttrString, String: v}
}

// Ints is an attribute.
func Ints(name string, v ...int64) onnx.Attribute {
	return onnx.Attribute{Name: name, Kind: onnx.AttrInts, Ints: v}
}
