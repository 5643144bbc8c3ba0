package lower

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	. "psafe/host/lab/testkit/onnxtest"
	"psafe/host/model/network"
	"psafe/host/read/onnx"
	"psafe/internal/testscale"
)

// rats are the numbers of a tensor of shape (1, n), exactly.
type rats []*big.Rat

func ratsOf(list []float64) rats {
	var r rats
	for _, x := range list {
		r = append(r, new(big.Rat).SetFloat64(x))
	}
	return r
}

// dot is the sum of products with column j of a matrix with n columns.
func (z rats) dot(w []float64, j, n int) *big.Rat {
	sum := new(big.Rat)
	for k, x := range z {
		sum.Add(sum, new(big.Rat).Mul(x, new(big.Rat).SetFloat64(w[k*n+j])))
	}
	return sum
}

func (z rats) relu(slope *big.Rat) rats {
	var out rats
	for _, x := range z {
		if x.Sign() < 0 {
			x = new(big.Rat).Mul(x, slope)
		}
		out = append(out, x)
	}
	return out
}

// exactly1 evaluates a graph of tensors (1, n).
func exactly1(g *onnx.Graph, x rats) rats {
	constants, env := map[string]*onnx.Tensor{}, map[string]rats{"x": x}
	for _, t := range g.Initializers {
		constants[t.Name], env[t.Name] = t, ratsOf(t.Floats)
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		a := env[n.Inputs[0]]
		var out rats
		switch n.Op {
		case "MatMul":
			w := constants[n.Inputs[1]]
			for j := range w.Shape[1] {
				out = append(out, a.dot(w.Floats, j, w.Shape[1]))
			}
		case "Relu":
			out = a.relu(new(big.Rat))
		case "MaxPool": // of two
			for j := 1; j < len(a); j += 2 {
				out = append(out, a[j])
				if a[j-1].Cmp(a[j]) > 0 {
					out[len(out)-1] = a[j-1]
				}
			}
		case "Reshape":
			out = a
		default:
			b := env[n.Inputs[1]]
			for j := range a {
				r := new(big.Rat)
				switch n.Op {
				case "Add":
					r.Add(a[j], b[j])
				case "Sub":
					r.Sub(a[j], b[j])
				case "Mul":
					r.Mul(a[j], b[j])
				}
				out = append(out, r)
			}
		}
		env[n.Outputs[0]] = out
	}
	return env[g.Outputs[0].Name]
}

// someGraph draws a graph whose lowering rounds nothing: its constants reach over many
// powers of two, so that most products and sums are not exact in float64.
func someGraph(r *rand.Rand) *Build {
	width := 1 + r.IntN(4)
	b := New(r.Uint64(), 1, int64(width))
	draw := func(n int) []float64 {
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
	older := ""
	for k := range 2 + r.IntN(5) {
		name := fmt.Sprintf("c%d", k)
		switch op := []string{"MatMul", "MatMul", "Add", "Sub", "Mul", "Relu", "sum", "MaxPool"}[r.IntN(8)]; {
		case op == "MatMul":
			next := 1 + r.IntN(4)
			b.Node(op, []string{b.Const(name, []int{width, next}, draw(width*next)...)})
			width, older = next, ""
		case op == "Relu":
			b.Node(op, nil)
			older = ""
		case op == "sum" && older != "":
			b.Node("Add", []string{older})
		case op == "MaxPool" && width%2 == 0:
			b.Node("Reshape", []string{b.Shape(name+"s", 1, 1, int64(width))})
			b.Node(op, nil, Ints("kernel_shape", 2), Ints("strides", 2))
			width, older = width/2, ""
			b.Node("Reshape", []string{b.Shape(name+"t", 1, int64(width))})
		case op != "sum" && op != "MaxPool":
			older = b.Last
			b.Node(op, []string{b.Const(name, []int{width}, draw(width)...)})
		}
	}
	if b.Last == "x" {
		b.Node("Relu", nil)
	}
	return b
}

// TestNoNumberChanges compares the layers of graphs with the graphs themselves in rational
// arithmetic: they are equal.
func TestNoNumberChanges(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	kept, folded := 0, 0
	for range testscale.Cases(t, 3000) {
		g := &someGraph(r).Graph
		result, err := Graph(g, Random{})
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float64, result.Layers[0].In)
		for i := range x {
			x[i] = 4*r.Float64() - 2
		}
		z := ratsOf(x)
		for k, l := range result.Layers {
			bias := ratsOf(l.Bias)
			next := make(rats, l.Out)
			for j := range next {
				next[j] = bias[j].Add(bias[j], z.dot(l.Weight, j, l.Out))
			}
			if z = next; l.Activation.Kind == network.ReLU {
				z = z.relu(new(big.Rat))
			} else if k < len(result.Layers)-1 {
				kept++
			}
		}
		maps := 0
		for _, n := range g.Nodes {
			if n.Op == "MatMul" || n.Op == "Mul" {
				maps++
			}
		}
		folded += max(0, maps-len(result.Layers))
		want := exactly1(g, ratsOf(x))
		for j := range want {
			if z[j].Cmp(want[j]) != 0 {
				t.Fatalf("output %d of %v: layers %s give another number", j, g.Nodes, words(result))
			}
		}
	}
	if kept == 0 || folded == 0 {
		t.Errorf("%d maps were kept apart, %d folded", kept, folded)
	}
}
