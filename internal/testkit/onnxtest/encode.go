// Package onnxtest writes ONNX files for tests, and evaluates graphs node by node. Only
// tests import it. It shares nothing with what reads and lowers graphs but the types.
package onnxtest

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"psafe/host/read/onnx"
)

// Message is a message of protocol buffers that is being written.
type Message []byte

// Int appends a number, Bytes a field with a length, Float a float32.
func (m Message) Int(n protowire.Number, v int64) Message {
	return protowire.AppendVarint(protowire.AppendTag(m, n, protowire.VarintType), uint64(v))
}

// Bytes appends a field with a length.
func (m Message) Bytes(n protowire.Number, v []byte) Message {
	return protowire.AppendBytes(protowire.AppendTag(m, n, protowire.BytesType), v)
}

// Text appends a name.
func (m Message) Text(n protowire.Number, v string) Message { return m.Bytes(n, []byte(v)) }

// Float appends a float32.
func (m Message) Float(n protowire.Number, v float64) Message {
	return protowire.AppendFixed32(protowire.AppendTag(m, n, protowire.Fixed32Type), math.Float32bits(float32(v)))
}

// Encode writes a model with the graph, the numbers of tensors as raw_data.
func Encode(g *onnx.Graph) []byte {
	var graph Message
	for i := range g.Nodes {
		graph = graph.Bytes(1, node(&g.Nodes[i]))
	}
	graph = graph.Text(2, "test")
	for _, t := range g.Initializers {
		graph = graph.Bytes(5, Tensor(t))
	}
	for _, v := range g.Inputs {
		graph = graph.Bytes(11, value(&v))
	}
	for _, v := range g.Outputs {
		graph = graph.Bytes(12, value(&v))
	}
	return Message(nil).Int(1, 8).Text(2, "psafe's tests").Bytes(7, graph).Bytes(8, Message(nil).Text(1, "").Int(2, g.Opset))
}

// Tensor writes a TensorProto.
func Tensor(t *onnx.Tensor) Message {
	var m Message
	for _, d := range t.Shape {
		m = m.Int(1, int64(d))
	}
	m = m.Int(2, int64(t.Type)).Text(8, t.Name)
	le := binary.LittleEndian
	raw := []byte{}
	for _, x := range t.Floats {
		switch t.Type {
		case onnx.Float32:
			raw = le.AppendUint32(raw, math.Float32bits(float32(x)))
		case onnx.Float64:
			raw = le.AppendUint64(raw, math.Float64bits(x))
		case onnx.BFloat16:
			raw = le.AppendUint16(raw, uint16(math.Float32bits(float32(x))>>16))
		}
	}
	for _, x := range t.Ints {
		switch t.Type {
		case onnx.Bool:
			raw = append(raw, byte(x))
		case onnx.Int32:
			raw = le.AppendUint32(raw, uint32(x))
		default:
			raw = le.AppendUint64(raw, uint64(x))
		}
	}
	return m.Bytes(9, raw)
}

func node(n *onnx.Node) Message {
	var m Message
	for _, name := range n.Inputs {
		m = m.Text(1, name)
	}
	for _, name := range n.Outputs {
		m = m.Text(2, name)
	}
	m = m.Text(3, n.Name).Text(4, n.Op)
	for i := range n.Attributes {
		m = m.Bytes(5, attribute(&n.Attributes[i]))
	}
	return m.Text(7, n.Domain)
}

func attribute(a *onnx.Attribute) Message {
	m := Message(nil).Text(1, a.Name)
	switch a.Kind {
	case onnx.AttrFloat:
		m = m.Float(2, a.Float)
	case onnx.AttrInt:
		m = m.Int(3, a.Int)
	case onnx.AttrString:
		m = m.Text(4, a.String)
	case onnx.AttrTensor:
		m = m.Bytes(5, Tensor(a.Tensor))
	case onnx.AttrFloats:
		for _, x := range a.Floats {
			m = m.Float(7, x)
		}
	case onnx.AttrInts: // packed
		var list []byte
		for _, x := range a.Ints {
			list = protowire.AppendVarint(list, uint64(x))
		}
		m = m.Bytes(8, list)
	}
	return m.Int(20, int64(a.Kind))
}

func value(v *onnx.Value) Message {
	var shape Message
	for _, d := range v.Shape {
		switch {
		case d.Size >= 0:
			shape = shape.Bytes(1, Message(nil).Int(1, d.Size))
		default:
			shape = shape.Bytes(1, Message(nil).Text(2, d.Name))
		}
	}
	kind := Message(nil).Int(1, int64(v.Type))
	if v.HasShape {
		kind = kind.Bytes(2, shape)
	}
	return Message(nil).Text(1, v.Name).Bytes(2, Message(nil).Bytes(1, kind))
}
