package verify_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/verify"
	"psafe/host/read/vnnlib"
)

var relu = network.Activation{Kind: network.ReLU}

// layer is a dense layer without deviations; weights by input.
func layer(in, out int, a network.Activation, weights, bias []float64) posterior.Layer {
	fixed := func(mean []float64) posterior.Params {
		return posterior.NewParams(mean, make([]float64, len(mean)), posterior.ScaleSD)
	}
	return posterior.Layer{Layer: network.DenseLayer(in, out, a), Weight: fixed(weights), Bias: fixed(bias)}
}

func ask(t *testing.T, ctx context.Context, text string, cells int, layers ...posterior.Layer) (verify.Result, *verify.Question) {
	t.Helper()
	q, err := vnnlib.Read([]byte(text))
	if err != nil {
		t.Fatal(text, err)
	}
	question := &verify.Question{Query: q, Networks: []*posterior.Posterior{{Scale: posterior.ScaleSD, Layers: layers}}, Cells: cells}
	tasks, err := question.Tasks()
	if err != nil {
		t.Fatal(err)
	}
	r, err := question.Ask(ctx, tasks, fallback.New(bound.Float32), nil)
	if err != nil {
		t.Fatal(err)
	}
	return r, question
}

// absolute is y = |x|.
func absolute() []posterior.Layer {
	return []posterior.Layer{layer(1, 2, relu, []float64{1, -1}, []float64{0, 0}), layer(2, 1, network.Activation{}, []float64{1, 1}, []float64{0})}
}

func of(x, y string) string {
	return "(declare-const X_0 Real)(declare-const Y_0 Real)" + x + "(assert " + y + ")"
}

// TestEquality: |x| on [-1, 1] reaches 0 and 1 exactly. At equality it matters whether the
// query is strict.
func TestEquality(t *testing.T) {
	box := "(assert (<= X_0 1))(assert (>= X_0 -1))"
	for _, c := range []struct {
		x, y string
		want verify.Answer
	}{
		{box, "(>= Y_0 1)", verify.Sat},
		{box, "(> Y_0 1)", verify.Unsat},
		{box, "(= Y_0 1)", verify.Sat},
		{box, "(<= Y_0 0)", verify.Sat},
		{box, "(< Y_0 0)", verify.Unsat},
		{box, "(>= Y_0 0.99999999999999999999)", verify.Sat},
		{box, "(>= Y_0 1.00000000000000000001)", verify.Unsat},
		// An end that is strict is no part of the box: a proof is for the closed one, a
		// counterexample must be in the open one.
		{"(assert (< X_0 1))(assert (> X_0 -1))", "(>= Y_0 1)", verify.Unknown},
		{"(assert (< X_0 1))(assert (>= X_0 -1))", "(>= Y_0 1)", verify.Sat},
		{"(assert (< X_0 1))(assert (> X_0 -1))", "(> Y_0 1)", verify.Unsat},
		{"(assert (< X_0 1))(assert (> X_0 -1))", "(>= Y_0 0.9)", verify.Sat},
		// One tenth is no float64; the box is that point.
		{"(assert (= X_0 0.1))", "(>= Y_0 0.0999999999999999999999999)", verify.Sat},
		{"(assert (= X_0 0.1))", "(>= Y_0 0.1)", verify.Unknown},
		{"(assert (= X_0 0.1))", "(> Y_0 0.2)", verify.Unsat},
		{"(assert (= (* 3 X_0) 1))", "(> Y_0 0.3)", verify.Unknown},
	} {
		r, _ := ask(t, context.Background(), of(c.x, c.y), 200, absolute()...)
		if r.Answer != c.want {
			t.Errorf("%s %s: %s, want %s", c.x, c.y, r.Answer, c.want)
		}
		if (r.Found != nil) != (r.Answer == verify.Sat) {
			t.Errorf("%s with the counterexample %v", r.Answer, r.Found)
		}
	}
}

// TestEqualityLarge: y = x_1, which is at least 1, beside inputs of which the rounding is larger.
func TestEqualityLarge(t *testing.T) {
	text := "(declare-const Y_0 Real)(assert (< Y_0 1))"
	for j := range 6 {
		text += fmt.Sprintf("(declare-const X_%d Real)(assert (>= X_%d %d))(assert (<= X_%d %d.5))", j, j, j, j, j)
	}
	r, _ := ask(t, context.Background(), text, 200, layer(6, 1, network.Activation{}, []float64{0, 1, 0, 0, 0, 0}, []float64{0}))
	if r.Answer != verify.Unsat {
		t.Error(r.Answer)
	}
}

// TestStrictEnds: the first cell suggests an end of the box, which does not belong to it; its
// neighbour does.
func TestStrictEnds(t *testing.T) {
	for _, x := range []string{"(assert (< X_0 1))(assert (>= X_0 0))", "(assert (> X_0 -1))(assert (<= X_0 0))"} {
		r, _ := ask(t, context.Background(), of(x, "(>= Y_0 0.9999999)"), 1, absolute()...)
		if r.Answer != verify.Sat {
			t.Errorf("%s: %s", x, r.Answer)
		}
	}
}

// evaluate is a ReLU network in big.Rat, written apart from psafe's.
func evaluate(layers []posterior.Layer, x []*big.Rat) []*big.Rat {
	rat := func(v float64) *big.Rat { return new(big.Rat).SetFloat64(v) }
	for _, l := range layers {
		y := make([]*big.Rat, l.Outputs())
		for i := range y {
			y[i] = rat(l.Bias.Mean[i])
			for j := range x {
				y[i].Add(y[i], new(big.Rat).Mul(rat(l.Weight.Mean[j*len(y)+i]), x[j]))
			}
			if l.Activation == relu && y[i].Sign() < 0 {
				y[i] = new(big.Rat)
			}
		}
		x = y
	}
	return x
}

// TestRandomNetworks: of random networks and queries with several boxes, sat comes with a
// counterexample that an evaluation apart from psafe's confirms, and unsat is never
// contradicted by a grid of points.
func TestRandomNetworks(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	count := map[verify.Answer]int{}
	for range 60 {
		weights := func(n int) []float64 {
			w := make([]float64, n)
			for i := range w {
				w[i] = r.NormFloat64()
			}
			return w
		}
		layers := []posterior.Layer{layer(2, 5, relu, weights(10), weights(5)), layer(5, 4, relu, weights(20), weights(4)),
			layer(4, 2, network.Activation{}, weights(8), weights(2))}
		var b strings.Builder
		b.WriteString("(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)(declare-const Y_1 Real)")
		b.WriteString("(assert (>= X_0 -0.7))(assert (< X_0 0.7))(assert (<= X_1 1))(assert (or ")
		for range 2 {
			fmt.Fprintf(&b, "(and (>= X_1 %.2f) (or (and (>= Y_0 %.2f) (< Y_1 Y_0)) (> (+ (* 2 Y_1) Y_0) %.2f)))", r.Float64()-1, 2*r.NormFloat64()+2, 3*r.NormFloat64()+6)
		}
		b.WriteString("))")
		got, question := ask(t, context.Background(), b.String(), 3000, layers...)
		count[got.Answer]++
		q := question.Query
		if got.Answer == verify.Sat {
			y := evaluate(layers, got.Found.Input)
			if !unsafe(q, got.Found.Input, y) {
				t.Fatalf("%s: %v with outputs %v is no counterexample", b.String(), got.Found.Input, y)
			}
			for i := range y {
				if y[i].Cmp(got.Found.OutputLo[i]) != 0 || y[i].Cmp(got.Found.OutputHi[i]) != 0 {
					t.Fatalf("output %d is %v, not %v", i, y[i], got.Found.OutputLo[i])
				}
			}
			for _, x := range got.Found.Input {
				if f, _ := x.Float32(); new(big.Rat).SetFloat64(float64(f)).Cmp(x) != 0 {
					t.Errorf("input %v is no float32", x)
				}
			}
		}
		for v := range 15 * 15 {
			x := []*big.Rat{big.NewRat(int64(v%15-7), 10), big.NewRat(int64(v/15-7), 7)}
			if got.Answer == verify.Unsat && unsafe(q, x, evaluate(layers, x)) {
				t.Fatalf("%s: unsat, but %v is a counterexample", b.String(), x)
			}
		}
	}
	if count[verify.Sat] < 10 || count[verify.Unsat] < 10 {
		t.Errorf("%v: too few of one kind", count)
	}
}

// unsafe reports whether inputs and outputs are what the query looks for.
func unsafe(q *vnnlib.Query, x, y []*big.Rat) bool {
	for _, c := range q.Cases {
		in := true
		for j := range x {
			in = in && c.Box[j].Contains(x[j])
		}
		if in && c.Unsafe.Holds(func(r *vnnlib.Constraint) bool { return r.Holds(x, y) }) {
			return true
		}
	}
	return false
}

// TestSmooth: with tanh a counterexample is certain only if the interval decides.
func TestSmooth(t *testing.T) {
	layers := []posterior.Layer{layer(1, 1, network.Activation{Kind: network.Tanh}, []float64{1}, []float64{0}), layer(1, 1, network.Activation{}, []float64{1}, []float64{0})}
	box := "(assert (<= X_0 1))(assert (>= X_0 -1))"
	for y, want := range map[string]verify.Answer{"(>= Y_0 0.76159)": verify.Sat, "(>= Y_0 0.7616)": verify.Unsat, "(>= Y_0 0.761594155955764888119458)": verify.Unknown} {
		if r, _ := ask(t, context.Background(), of(box, y), 300, layers...); r.Answer != want {
			t.Errorf("%s: %s, want %s", y, r.Answer, want)
		}
	}
}

// TestTimeLimit: a deadline ends the search in time with an answer; every other end of the
// context is an error.
func TestTimeLimit(t *testing.T) {
	// x0 + ... against |x0| + ...: equal on a quarter of the box, which no bound proves.
	n := 8
	var first, last []float64
	for j := range n {
		for i := range 2 * n {
			first = append(first, map[bool]float64{i == 2*j: 1, i == 2*j+1: -1}[true])
		}
	}
	for range 2 * n {
		last = append(last, 1.0/3)
	}
	layers := []posterior.Layer{layer(n, 2*n, relu, first, make([]float64, 2*n)), layer(2*n, 1, network.Activation{}, last, []float64{0})}
	var b strings.Builder
	for j := range n {
		fmt.Fprintf(&b, "(declare-const X_%d Real)(assert (<= X_%d 1))(assert (>= X_%d -1))", j, j, j)
	}
	b.WriteString("(declare-const Y_0 Real)(assert (< Y_0 -1e-300))")
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	began := time.Now()
	r, question := ask(t, ctx, b.String(), 1<<40, layers...)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("%v for half a second", took)
	}
	if r.Answer != verify.TimedOut && r.Answer != verify.Unsat {
		t.Errorf("%s", r.Answer)
	}
	ended, stop := context.WithCancel(context.Background())
	stop()
	tasks, err := question.Tasks()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := question.Ask(ended, tasks, fallback.New(bound.Float32), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that of the context", err)
	}
}

// TestCertain: what counts as one network.
func TestCertain(t *testing.T) {
	p := &posterior.Posterior{Scale: posterior.ScaleSD, Layers: absolute()}
	if !verify.Certain(p) {
		t.Error("a network without deviations is not certain")
	}
	p.Layers[1].Bias = posterior.NewParams([]float64{0}, []float64{1e-9}, posterior.ScaleSD)
	if verify.Certain(p) {
		t.Error("a posterior is certain")
	}
}

// TestMixture: one of x + 0.1 and 0.1 - x is above 0 everywhere, which no row alone proves on a cell
// around 0, and their mean does at once.
func TestMixture(t *testing.T) {
	layers := []posterior.Layer{layer(1, 2, relu, []float64{1, -1}, []float64{2, 2}),
		layer(2, 2, network.Activation{}, []float64{1, 0, 0, 1}, []float64{-1.9, -1.9})}
	text := of("(declare-const Y_1 Real)(assert (<= X_0 1))(assert (>= X_0 -1))(assert (<= Y_0 0))", "(<= Y_1 0)")
	r, _ := ask(t, context.Background(), text, 1, layers...)
	if r.Answer != verify.Unsat || r.Cells != 1 {
		t.Errorf("%s after %d cells", r.Answer, r.Cells)
	}
}

// TestFine: that |x| is above -1e-9 is proved in the first cell where float64 helps, and not where
// it does not.
func TestFine(t *testing.T) {
	layers := []posterior.Layer{layer(1, 2, relu, []float64{0.1, -0.1}, []float64{0, 0}), layer(2, 1, network.Activation{}, []float64{0.3, 0.3}, []float64{0})}
	q, err := vnnlib.Read([]byte(of("(assert (<= X_0 0.7))(assert (>= X_0 -1))", "(<= Y_0 -1e-11)")))
	if err != nil {
		t.Fatal(err)
	}
	for _, fine := range []func() bound.Device{nil, func() bound.Device { return fallback.New(bound.Float64) }} {
		question := &verify.Question{Query: q, Networks: []*posterior.Posterior{{Scale: posterior.ScaleSD, Layers: layers}}, Cells: 1, Fine: fine}
		tasks, err := question.Tasks()
		if err != nil {
			t.Fatal(err)
		}
		r, err := question.Ask(context.Background(), tasks, fallback.New(bound.Float32), nil)
		if want := []verify.Answer{verify.Unknown, verify.Unsat}[map[bool]int{true: 1}[fine != nil]]; err != nil || r.Answer != want {
			t.Errorf("with float64 %v: %s, want %s (%v)", fine != nil, r.Answer, want, err)
		}
	}
}
