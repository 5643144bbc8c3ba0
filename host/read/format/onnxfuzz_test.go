package format

import (
	"bytes"
	"strings"
	"testing"

	"psafe/host/model/posterior"
	. "psafe/internal/testkit/onnxtest"
)

// FuzzONNX: whatever the bytes, one line or a posterior that is valid.
func FuzzONNX(f *testing.F) {
	for _, b := range []*Build{someMLP(), someCNN()} {
		f.Add(Encode(&b.Graph))
	}
	f.Add(zipped(Encode(&someMLP().Graph)))
	pool := New(4, 1, 1, 3, 3)
	pool.Node("AveragePool", nil, Ints("kernel_shape", 2, 2), Text("auto_pad", "SAME_UPPER"))
	pool.Node("Reshape", []string{pool.Shape("s", 1, -1)})
	pool.Node("Div", []string{pool.Const("d", []int{9})})
	pool.Node("Transpose", nil, Ints("perm", 1, 0))
	pool.Node("LeakyRelu", nil, Float("alpha", 0.1))
	pool.Node("Concat", []string{pool.Last}, Int("axis", 0))
	f.Add(Encode(&pool.Graph))
	skip := New(5, 1, 2, 3, 3)
	y := skip.Node("Conv", []string{skip.Const("k", []int{2, 1, 3, 3})}, Ints("pads", 1, 1, 1, 1), Int("group", 2))
	skip.On("Add", []string{"x", y})
	skip.Node("Slice", []string{skip.Shape("a", -1), skip.Shape("b", -9), skip.Shape("c", 1), skip.Shape("d", -1)})
	skip.Node("Pad", []string{skip.Shape("p", 0, 0, 1, 0, 0, 0, 0, 1)})
	skip.On("Concat", []string{skip.Last, skip.Last}, Int("axis", 2))
	skip.Node("MatMul", []string{skip.Const("w", []int{4, 2})})
	skip.Node("ReduceMean", nil, Ints("axes", 1, 2))
	f.Add(Encode(&skip.Graph))
	exported := New(6, 0, 2, 2, 2)
	exported.Node("PRelu", []string{exported.Const("slope", []int{2, 1, 1})})
	y = exported.Node("Clip", []string{exported.Const("least", []int{}, 0), exported.Const("most", []int{}, 6)})
	exported.Node("Shape", nil)
	exported.Node("Slice", []string{exported.Shape("from", 1), exported.Shape("to", 4)})
	exported.Node("ReduceProd", nil, Int("keepdims", 1))
	exported.Node("Concat", []string{exported.Shape("one", 1)}, Int("axis", 0))
	exported.Node("Gather", []string{exported.Shape("turn", 1, 0)}, Int("axis", 0))
	exported.On("Reshape", []string{y, exported.Last})
	y = exported.Last
	exported.On("Mean", []string{y, exported.Node("Neg", nil), y})
	exported.Node("Tile", []string{exported.Shape("twice", 1, 2)})
	y = exported.Node("Expand", []string{exported.Shape("same", 1, 1)})
	exported.On("Max", []string{y, exported.On("Sqrt", []string{exported.Const("four", []int{1}, 4)}), exported.On("ConstantOfShape", []string{"one"})})
	f.Add(Encode(&exported.Graph))
	f.Fuzz(func(t *testing.T, file []byte) {
		for _, opt := range []Options{{SD: "0"}, {SDRelative: "0.5"}} {
			parsed := parseONNX
			if bytes.HasPrefix(file, []byte("\x1f\x8b")) {
				parsed = parseGzip
			}
			n, err := parsed(held(file))
			var p *posterior.Posterior
			if err == nil {
				p, err = n.assemble(opt)
			}
			if err != nil {
				if text := (&oneLine{"f", err}).Error(); strings.ContainsAny(text, "\n\r") {
					t.Fatalf("error of several lines: %q", text)
				}
				continue
			}
			if err := p.Validate(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
