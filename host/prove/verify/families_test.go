package verify_test

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove/verify"
	"psafe/host/read/format"
	"psafe/host/read/onnx"
	"psafe/host/read/vnnlib"
	. "psafe/internal/testkit/onnxtest"
)

// grown is a graph whose constants are small enough for many layers.
type grown struct{ *Build }

func (g grown) weights(shape ...int) string {
	n := 1
	for _, d := range shape {
		n *= d
	}
	data := make([]float64, n)
	for i := range data {
		data[i] = float64(float32(g.R.NormFloat64() / 3))
	}
	return g.Const(fmt.Sprintf("w%d", len(g.Graph.Initializers)), shape, data...)
}

func (g grown) ints(list ...int64) string {
	return g.Shape(fmt.Sprintf("s%d", len(g.Graph.Initializers)), list...)
}

func (g grown) conv(out, in int, stride int64) {
	g.Node("Conv", []string{g.weights(out, in, 3, 3), g.weights(out)}, Ints("strides", stride, stride), Ints("pads", 1, 1, 1, 1))
}

// norm is a batch norm as exporters fold it: the root of one is no rational number.
func (g grown) norm(n int) {
	g.Node("Mul", []string{g.weights(n, 1, 1)})
	g.Node("Add", []string{g.weights(n, 1, 1)})
}

// head is a dense layer at the end, of so many inputs.
func (g grown) head(in int) {
	g.Node("Flatten", nil, Int("axis", 1))
	g.Node("Gemm", []string{g.weights(3, in), g.weights(3)}, Int("transB", 1))
}

// normalised takes off a mean and divides by a power of two, as networks of images do first.
func (g grown) normalised() {
	g.Node("Sub", []string{g.weights(3, 1, 1)})
	g.Node("Div", []string{g.Const("std", []int{3, 1, 1}, 0.5, 0.25, 0.5)})
}

// families are networks of the forms of VNN-COMP 2022 whose files are not among the data here.
var families = map[string]func(g grown){
	"cifar_biasfield": func(g grown) {
		g.Node("Gemm", []string{g.weights(16, 48), g.weights(48)})
		g.Node("Reshape", []string{g.ints(1, 3, 4, 4)})
		g.conv(4, 3, 2)
		g.Node("Relu", nil)
		g.head(16)
	},
	"cifar2020": func(g grown) {
		g.normalised()
		for _, c := range [][3]int{{4, 3, 1}, {4, 4, 2}} {
			g.conv(c[0], c[1], int64(c[2]))
			g.Node("Relu", nil)
		}
		g.Node("Reshape", []string{g.ints(1, -1)})
		g.Node("Gemm", []string{g.weights(16, 6), g.weights(6)})
		g.Node("Relu", nil)
		g.Node("Gemm", []string{g.weights(6, 3), g.weights(3)})
	},
	"cifar100_tinyimagenet_resnet": func(g grown) {
		g.normalised()
		g.conv(4, 3, 1)
		g.norm(4)
		stem := g.Node("Relu", nil)
		g.conv(4, 4, 2)
		g.norm(4)
		g.Node("Relu", nil)
		g.conv(4, 4, 1)
		main := g.Node("Identity", nil)
		g.On("Conv", []string{stem, g.weights(4, 4, 1, 1)}, Ints("strides", 2, 2))
		g.norm(4)
		g.On("Add", []string{main, g.Last})
		g.Node("Relu", nil)
		g.Node("AveragePool", nil, Ints("kernel_shape", 2, 2))
		g.head(4)
	},
	"vggnet16": func(g grown) {
		for _, c := range [][2]int{{4, 3}, {5, 4}} {
			g.conv(c[0], c[1], 1)
			g.Node("Relu", nil)
			g.Node("MaxPool", nil, Ints("kernel_shape", 2, 2), Ints("strides", 2, 2))
		}
		g.Node("Flatten", nil)
		g.Node("Gemm", []string{g.weights(5, 6), g.weights(6)})
		g.Node("Relu", nil)
		g.Node("Dropout", nil)
		g.Node("Gemm", []string{g.weights(6, 3), g.weights(3)})
	},
	"tllverifybench": func(g grown) {
		for _, d := range [][2]int{{2, 12}, {12, 6}, {6, 3}} {
			g.Node("MatMul", []string{g.weights(d[0], d[1])})
			g.Node("Add", []string{g.weights(d[1])})
			if d[1] != 3 {
				g.Node("Relu", nil)
			}
		}
	},
	"nn4sys, lindex": func(g grown) {
		for _, d := range [][2]int{{1, 16}, {16, 16}, {16, 3}} {
			g.Node("Gemm", []string{g.weights(d[0], d[1]), g.weights(d[1])})
			if d[1] != 3 {
				g.Node("Relu", nil)
			}
		}
	},
}

// inputsOf are the shapes of the inputs that are no images of 3 x 4 x 4.
var inputsOf = map[string][]int64{"cifar_biasfield": {1, 16}, "tllverifybench": {1, 2}, "nn4sys, lindex": {1, 1}}

// TestFamilies: networks of the forms of VNN-COMP's families load and no verdict is wrong: what the
// middle of the box gives is found, what is far from every output is proved, and a counterexample is
// one when the graph itself is evaluated exactly.
func TestFamilies(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 22))
	for _, name := range slices.Sorted(maps.Keys(families)) {
		build := families[name]
		t.Run(name, func(t *testing.T) {
			shape := []int64{1, 3, 4, 4}
			if other := inputsOf[name]; other != nil {
				shape = other
			}
			g := grown{New(r.Uint64(), shape...)}
			build(g)
			net := filepath.Join(t.TempDir(), "net.onnx")
			if err := os.WriteFile(net, Encode(&g.Graph), 0o666); err != nil {
				t.Fatal(err)
			}
			p, err := format.Read(net, format.Options{OneNetwork: true})
			if err != nil {
				t.Fatal(err)
			}
			box, middle := "", make([]float64, p.Inputs())
			for j := range middle {
				middle[j] = float64(r.IntN(16)) / 16
				box += fmt.Sprintf("(declare-const X_%d Real)(assert (>= X_%d %v))(assert (<= X_%d %v))", j, j, middle[j]-1.0/256, j, middle[j]+1.0/256)
			}
			box += "(declare-const Y_0 Real)(declare-const Y_1 Real)(declare-const Y_2 Real)"
			y := EvaluateExactly(&g.Graph, middle)
			for _, c := range []struct {
				add  float64
				op   string
				want verify.Answer
			}{{0, ">=", verify.Sat}, {0, "<=", verify.Sat}, {50, ">=", verify.Unsat}, {-50, "<=", verify.Unsat}} {
				limit, _ := new(big.Rat).Add(y[1], new(big.Rat).SetFloat64(c.add)).Float64()
				text := box + fmt.Sprintf("(assert (%s Y_1 %s))", c.op, big.NewFloat(limit).Text('f', 60))
				got, err := asked(text, p)
				if err != nil || got.Answer != c.want {
					t.Fatalf("%v: %s Y_1 %v%+v: %s", err, c.op, limit, c.add, got.Answer)
				}
				if got.Found != nil {
					confirmed(t, &g.Graph, got.Found, c.op, limit)
				}
			}
			for more, want := range map[float64]verify.Answer{0: verify.Sat, 50: verify.Unsat} {
				if got, err := asked(twice(middle, more), p, p); err != nil || got.Answer != want {
					t.Errorf("%v: two copies, by %v: %s", err, more, got.Answer)
				}
			}
		})
	}
}

// asked is the answer to a query about so many networks.
func asked(text string, nets ...*posterior.Posterior) (verify.Result, error) {
	q, err := vnnlib.Read([]byte(text))
	if err != nil {
		return verify.Result{}, err
	}
	question := &verify.Question{Query: q, Networks: nets, Cells: 50}
	tasks, err := question.Tasks()
	if err != nil {
		return verify.Result{}, err
	}
	return question.Ask(context.Background(), tasks, fallback.New(bound.Float32), nil)
}

// twice asks of two copies of a network, of which the first input of one is at least the other's and all
// others are equal, near a point, whether output 1 of the first is more by something.
func twice(middle []float64, more float64) string {
	n := len(middle)
	var b strings.Builder
	fmt.Fprintf(&b, "(declare-network f (declare-input A Real [%d])(declare-output B Real [3]))(declare-network g (equal-to f)(declare-input C Real [%d])(declare-output D Real [3]))(assert (>= (- B[1] D[1]) %v))", n, n, more)
	for j, v := range middle {
		fmt.Fprintf(&b, "(assert (and (>= A[%d] %v) (<= A[%d] %v)))", j, v-1.0/256, j, v+1.0/256)
		op := "=="
		if j == 0 {
			op = ">="
			fmt.Fprintf(&b, "(assert (>= C[0] %v))", v-1.0/256)
		}
		fmt.Fprintf(&b, "(assert (%s A[%d] C[%d]))", op, j, j)
	}
	return b.String()
}

// confirmed evaluates a counterexample by the graph.
func confirmed(t *testing.T, g *onnx.Graph, found *verify.Counterexample, op string, limit float64) {
	t.Helper()
	var x []float64
	for _, v := range found.Input {
		f, exact := v.Float64()
		if !exact {
			t.Fatalf("%v is no float64", v)
		}
		x = append(x, f)
	}
	out := EvaluateExactly(g, x)[1].Cmp(new(big.Rat).SetFloat64(limit))
	if op == ">=" && out < 0 || op == "<=" && out > 0 {
		t.Errorf("%v is no counterexample", x)
	}
}

// TestFamiliesRefused: what carvana_unet and mscn of nn4sys have beside that is refused by name.
func TestFamiliesRefused(t *testing.T) {
	for want, build := range map[string]func(g grown){
		"(ConvTranspose)": func(g grown) {
			g.conv(4, 3, 2)
			g.Node("ConvTranspose", []string{g.weights(4, 3, 2, 2)}, Ints("strides", 2, 2))
		},
		"(Resize)": func(g grown) { g.Node("Resize", []string{"", g.Const("scales", []int{4}, 1, 1, 2, 2)}) },
		"(Mul)":    func(g grown) { g.On("Mul", []string{g.Node("Relu", nil), "x"}) },
	} {
		g := grown{New(1, 1, 3, 4, 4)}
		build(g)
		net := filepath.Join(t.TempDir(), "net.onnx")
		if err := os.WriteFile(net, Encode(&g.Graph), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := format.Read(net, format.Options{OneNetwork: true}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", want, err)
		}
	}
}
