package onnx_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"psafe/host/read/onnx"
	. "psafe/internal/testkit/onnxtest"
)

// model is a model of one tensor, or of what else is in the graph.
func model(graph Message) []byte {
	return Message(nil).Int(1, 8).Bytes(8, Message(nil).Int(2, 13)).Bytes(7, graph)
}

func withTensor(t Message) []byte { return model(Message(nil).Bytes(5, t)) }

// TestTensors reads every type of element, from raw_data and from its own field.
func TestTensors(t *testing.T) {
	shape := Message(nil).Int(1, 2)
	packed := Message(nil).Bytes(1, []byte{2}) // dims, packed
	for _, c := range []struct {
		name    string
		message Message
		floats  []float64
		ints    []int64
	}{
		{"float32", shape.Int(2, 1).Bytes(9, []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}), []float64{1, -2}, nil},
		{"float32 typed", packed.Int(2, 1).Float(4, 1).Float(4, -2), []float64{1, -2}, nil},
		{"float32 packed", packed.Int(2, 1).Bytes(4, []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}), []float64{1, -2}, nil},
		{"float64", shape.Int(2, 11).Bytes(9, append(make([]byte, 14), 0xf0, 0x3f)), []float64{0, 1}, nil},
		{"float64 packed", shape.Int(2, 11).Bytes(10, append(make([]byte, 14), 0xf0, 0x3f)), []float64{0, 1}, nil},
		{"float16", shape.Int(2, 10).Bytes(9, []byte{0, 0x3c, 1, 0x80}), []float64{1, -math.Ldexp(1, -24)}, nil},
		{"float16 typed", shape.Int(2, 10).Int(5, 0x3c00).Int(5, 0x7c00), []float64{1, math.Inf(1)}, nil},
		{"bfloat16", shape.Int(2, 16).Bytes(9, []byte{0x80, 0x3f, 0, 0xc0}), []float64{1, -2}, nil},
		{"int32", shape.Int(2, 6).Bytes(9, []byte{1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}), nil, []int64{1, -1}},
		{"int32 typed", shape.Int(2, 6).Int(5, 7).Int(5, -1), nil, []int64{7, -1}},
		{"int64", shape.Int(2, 7).Bytes(9, append([]byte{5, 0, 0, 0, 0, 0, 0, 0}, slices.Repeat([]byte{0xff}, 8)...)), nil, []int64{5, -1}},
		{"bool", Message(nil).Int(1, 2).Int(2, 9).Bytes(9, []byte{1, 0}), nil, []int64{1, 0}},
		{"bool typed", Message(nil).Int(1, 2).Int(2, 9).Int(5, 0).Int(5, 1), nil, []int64{0, 1}},
		{"int64 packed", shape.Int(2, 7).Bytes(7, []byte{0x81, 1, 3}), nil, []int64{129, 3}},
	} {
		g, err := onnx.Decode(withTensor(c.message.Text(8, "t").Text(12, "unknown fields are skipped").Int(99, 1)))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := g.Initializers[0]; !slices.Equal(got.Floats, c.floats) || !slices.Equal(got.Ints, c.ints) || got.Name != "t" {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// TestDecodeRefuses: damage, and what is not read, is one line.
func TestDecodeRefuses(t *testing.T) {
	node := func(attribute Message) Message {
		return Message(nil).Bytes(1, Message(nil).Text(4, "If").Text(3, "n").Bytes(5, attribute))
	}
	huge := Message(nil).Int(1, 1<<20).Int(1, 1<<20).Int(2, 1)
	for _, c := range []struct {
		name, want string
		file       []byte
	}{
		{"empty", "it has no graph", nil},
		{"no graph", "it has no graph", Message(nil).Int(1, 8)},
		{"a SavedModel", "if it is a TensorFlow SavedModel", Message(nil).Int(1, 1).Bytes(2, Message(nil).Bytes(1, Message(nil).Text(4, "serve")))},
		{"no bool", "an element of 2 is no bool", withTensor(Message(nil).Int(2, 9).Bytes(9, []byte{2}))},
		{"two graphs", "2 graphs", append(model(nil), model(nil)...)},
		{"cut", "it ends in the middle of a field", model(Message(nil).Text(2, "name"))[:10]},
		{"a length beyond the end", "it ends in the middle of a field", []byte{0x3a, 0xff, 0xff, 0xff, 0xff, 0x0f}},
		{"a varint without an end", "it ends in the middle of a field", slices.Repeat([]byte{0xff}, 30)},
		{"a group", "is a group", model(Message{0x0b, 0x0c})},
		{"another wire type", "wire type", model(Message(nil).Int(1, 3))},
		{"name that is a number", "wire type", withTensor(Message(nil).Int(8, 1))},
		{"huge dims", "more than 2147483647 elements", withTensor(huge)},
		{"huge dim", "has an axis of", withTensor(Message(nil).Int(1, 1<<40).Int(2, 1))},
		{"negative dim", "has an axis of -1", withTensor(Message(nil).Int(1, -1).Int(2, 1))},
		{"too few numbers", "needs 1048576 elements, there are 1", withTensor(Message(nil).Int(1, 1<<20).Int(2, 1).Float(4, 1))},
		{"too many numbers", "needs 1 elements, there are 2", withTensor(Message(nil).Int(2, 1).Float(4, 1).Float(4, 1))},
		{"half a number", "no whole number of elements", withTensor(Message(nil).Int(1, 1).Int(2, 1).Bytes(9, []byte{1, 2, 3}))},
		{"numbers of another type", "needs 1 elements, there are 0", withTensor(Message(nil).Int(2, 1).Int(7, 1))},
		{"both raw and typed", "both raw_data and typed", withTensor(Message(nil).Int(2, 1).Float(4, 1).Bytes(9, make([]byte, 4)))},
		{"many axes", "more than 16 axes", withTensor(Message(nil).Bytes(1, slices.Repeat([]byte{1}, 17)).Int(2, 1))},
		{"strings", "element type 8 is none of", withTensor(Message(nil).Int(2, 8).Text(6, "a"))},
		{"no float16", "is no float16", withTensor(Message(nil).Int(2, 10).Int(5, 1<<16))},
		{"external data", "external data): save the model in one file", withTensor(Message(nil).Int(2, 1).Int(14, 1))},
		{"external place", "external data", withTensor(Message(nil).Int(2, 1).Bytes(13, nil))},
		{"a segment", "a segment", withTensor(Message(nil).Int(2, 1).Bytes(3, nil))},
		{"two of a name", `two initialisers are named "a"`, model(Message(nil).Bytes(5, Message(nil).Int(2, 1).Float(4, 1).Text(8, "a")).Bytes(5, Message(nil).Int(2, 1).Float(4, 1).Text(8, "a")))},
		{"sparse", "sparse initialisers", model(Message(nil).Bytes(15, nil))},
		{"an operator of its own", `function "MatMul" of the default domain`, append(model(nil), Message(nil).Bytes(25, Message(nil).Text(1, "MatMul"))...)},
		{"a sub-graph", `node "n" (If): attribute "then": it has a sub-graph`, model(node(Message(nil).Text(1, "then").Bytes(6, nil)))},
		{"an attribute that lies", "of kind 2 and is of kind 1", model(node(Message(nil).Text(1, "a").Float(2, 1).Int(20, 2)))},
		{"a long list", "such numbers belong into a tensor", model(node(Message(nil).Bytes(8, make([]byte, 5<<20))))},
		{"many nodes", "more than 65536 nodes", model(slices.Repeat(Message(nil).Bytes(1, nil), 65537))},
		{"many names", "more than 1048576 names", model(Message(nil).Bytes(1, slices.Repeat(Message(nil).Text(1, ""), 1<<20+1)))},
	} {
		_, err := onnx.Decode(c.file)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one line with %q", c.name, err, c.want)
		}
	}
}

// TestLooks tells ONNX from other files.
func TestLooks(t *testing.T) {
	b := New(1, 0, 3)
	b.Node("Relu", nil)
	file := Encode(&b.Graph)
	for n := 2; n < len(file); n++ {
		if !onnx.Looks(file[:n]) {
			t.Errorf("the first %d bytes do not look like ONNX", n)
		}
	}
	for _, other := range []string{"", "PK\x03\x04", "\x80\x04", "\x93NUMPY", "\x89HDF\r\n\x1a\n", "1,2,3\n", "{\"a\": 1}", "(declare-const X_0 Real)", "hello", "\x1f\x8b\x08"} {
		if onnx.Looks([]byte(other)) {
			t.Errorf("%q looks like ONNX", other)
		}
	}
}

// TestRoundTrip reads what Encode writes.
func TestRoundTrip(t *testing.T) {
	b := New(1, 0, 3, 4)
	b.Node("Op", []string{b.Const("w", []int{2, 2}), b.Shape("s", 1, -1)}, Int("i", -3), Float("f", 0.5), Text("t", "text"), Ints("l", 1, 2, -3))
	g, err := onnx.Decode(Encode(&b.Graph))
	if err != nil {
		t.Fatal(err)
	}
	g.Outputs[0].HasShape = b.Graph.Outputs[0].HasShape
	deep := func(g *onnx.Graph) string {
		text := fmt.Sprintf("%d %+v %+v %+v", g.Opset, g.Inputs, g.Outputs, g.Nodes)
		for _, t := range g.Initializers {
			text += fmt.Sprintf(" %+v", *t)
		}
		return text
	}
	if got, want := deep(g), deep(&b.Graph); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
