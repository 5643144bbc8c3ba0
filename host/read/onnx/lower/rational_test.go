package lower

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/model/network"
	"psafe/host/read/onnx"
	. "psafe/internal/testkit/onnxtest"
	"psafe/internal/testscale"
)

// wide draws numbers over many powers of two, and whole ones.
func wide(r *rand.Rand, n int) []float64 {
	list := make([]float64, n)
	spread := 1 + r.IntN(40)
	for i := range list {
		list[i] = float64(float32(math.Ldexp(2*r.Float64()-1, r.IntN(spread))))
		if r.IntN(4) == 0 {
			list[i] = float64(r.IntN(3) - 1)
		}
	}
	return list
}

// someStack draws a graph whose lowering rounds nothing: its constants reach over many
// powers of two, so that most products and sums are not exact in float64.
func someStack(r *rand.Rand) *Build {
	width := 1 + r.IntN(4)
	b := New(r.Uint64(), 1, int64(width))
	draw := func(n int) []float64 { return wide(r, n) }
	older := ""
	for k := range 2 + r.IntN(5) {
		name := fmt.Sprintf("c%d", k)
		switch op := []string{"MatMul", "MatMul", "Add", "Sub", "Mul", "Relu", "sum", "ReduceSum"}[r.IntN(8)]; {
		case op == "MatMul":
			next := 1 + r.IntN(4)
			b.Node(op, []string{b.Const(name, []int{width, next}, draw(width*next)...)})
			width, older = next, ""
		case op == "Relu":
			b.Node(op, nil)
			older = ""
		case op == "sum" && older != "":
			b.Node("Add", []string{older})
		case op == "ReduceSum" && width%2 == 0:
			b.Node("Reshape", []string{b.Shape(name+"s", 1, 2, int64(width/2))})
			b.Node(op, []string{b.Shape(name+"t", 1)}, Int("keepdims", 0))
			width, older = width/2, ""
		case op != "sum" && op != "ReduceSum":
			older = b.Last
			b.Node(op, []string{b.Const(name, []int{width}, draw(width)...)})
		}
	}
	if b.Last == "x" {
		b.Node("Relu", nil)
	}
	return b
}

// encloses reports whether the layers of a graph give at x what the graph does, in rational
// arithmetic: the same numbers, or, with means of three or so numbers, an enclosure of them.
func encloses(t *testing.T, g *onnx.Graph, r *Result, x []float64) (net network.Network, exact bool) {
	t.Helper()
	net, weights := networkOf(t, r)
	var z []network.Enclosure
	for _, v := range x {
		z = append(z, network.MakeEnclosure(v))
	}
	got, want := net.Enclose(weights, z), EvaluateExactly(g, x)
	if len(got) != len(want) {
		t.Fatalf("%d outputs, want %d", len(got), len(want))
	}
	exact = true
	for i, y := range got {
		lo, _ := y.Lo.Rat(nil)
		hi, _ := y.Hi.Rat(nil)
		if lo.Cmp(want[i]) > 0 || hi.Cmp(want[i]) < 0 {
			t.Fatalf("output %d of %v: layers %s give another number", i, g.Nodes, words(t, r))
		}
		exact = exact && y.Lo == y.Hi
	}
	return net, exact
}

// TestNoNumberChanges compares the layers of graphs with the graphs themselves in rational
// arithmetic: they are equal.
func TestNoNumberChanges(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	kept, folded := 0, 0
	for range testscale.Cases(t, 3000) {
		g := &someStack(r).Graph
		result, err := Graph(g, Random{})
		if err != nil {
			t.Fatal(err)
		}
		net, exact := encloses(t, g, result, points(r, result))
		if !net.Chain() || !exact {
			t.Fatalf("%v: no stack of layers, or not exact: %s", g.Nodes, words(t, result))
		}
		maps := 0
		for _, n := range g.Nodes {
			if n.Op == "MatMul" || n.Op == "Mul" {
				maps++
			}
		}
		for _, l := range net[:len(net)-1] {
			if l.Activation.Kind == network.Identity {
				kept++
			}
		}
		folded += max(0, maps-len(net))
	}
	if kept == 0 || folded == 0 {
		t.Errorf("%d maps were kept apart, %d folded", kept, folded)
	}
}

// points is a point of the input.
func points(r *rand.Rand, of *Result) []float64 {
	n := 1
	for _, d := range of.Shape {
		n *= d
	}
	x := make([]float64, n)
	for i := range x {
		x[i] = 4*r.Float64() - 2
	}
	return x
}
