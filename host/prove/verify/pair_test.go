package verify_test

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/verify"
	"psafe/host/read/vnnlib"
	"psafe/internal/testscale"
)

// about is a query about two networks of one output, with so many inputs each.
func about(inputs int, like, asserted string) string {
	return fmt.Sprintf("(vnnlib-version <2.0>)(declare-network f (declare-input A Real [%d])(declare-output B Real [1]))"+
		"(declare-network g %s(declare-input C Real [%d])(declare-output D Real [1]))%s", inputs, like, inputs, asserted)
}

func askAll(t *testing.T, text string, cells int, nets ...[]posterior.Layer) (verify.Result, *vnnlib.Query) {
	t.Helper()
	q, err := vnnlib.Read([]byte(text))
	if err != nil {
		t.Fatal(text, err)
	}
	question := &verify.Question{Query: q, Cells: cells}
	for _, layers := range nets {
		question.Networks = append(question.Networks, &posterior.Posterior{Scale: posterior.ScaleSD, Layers: layers})
	}
	tasks, err := question.Tasks()
	if err != nil {
		t.Fatal(text, err)
	}
	r, err := question.Ask(context.Background(), tasks, fallback.New(bound.Float32), nil)
	if err != nil {
		t.Fatal(text, err)
	}
	return r, q
}

// TestPairs: what is asked of two networks with known outputs. |x| and x are the networks f and g.
func TestPairs(t *testing.T) {
	line := []posterior.Layer{layer(1, 1, network.Activation{}, []float64{1}, []float64{0})}
	box := "(assert (and (<= A[0] 1) (>= A[0] -1)))"
	both := box + "(assert (and (<= C[0] 1) (>= C[0] -1)))"
	for _, c := range []struct {
		name, asserted string
		want           verify.Answer
	}{
		{"any two inputs", both + "(assert (> D[0] (+ B[0] 0.5)))", verify.Sat},
		{"any two inputs, none", both + "(assert (> D[0] (+ B[0] 1.1)))", verify.Unsat},
		{"equal inputs", box + "(assert (== A[0] C[0]))(assert (> D[0] (+ B[0] 0.001)))", verify.Unsat},
		{"equal inputs, by two", box + "(assert (<= A[0] C[0]))(assert (>= (* 2 A[0]) (* 2 C[0])))(assert (> D[0] (+ B[0] 0.001)))", verify.Unsat},
		{"equal inputs, found", box + "(assert (== A[0] C[0]))(assert (>= D[0] (+ B[0] 0)))", verify.Sat},
		{"not less is not equal", both + "(assert (>= A[0] C[0]))(assert (< B[0] (- D[0] 0.001)))", verify.Unsat},
		{"not more is not equal", both + "(assert (<= A[0] C[0]))(assert (< B[0] (- D[0] 0.001)))", verify.Sat},
		{"less by a third", both + "(assert (== (- A[0] C[0]) 0.3))(assert (< B[0] (+ D[0] 0.2)))", verify.Unsat},
		{"a difference that no float is", both + "(assert (== (- A[0] C[0]) 0.3))(assert (<= B[0] (+ D[0] 0.31)))", verify.Sat},
		{"a difference between", both + "(assert (and (>= (- A[0] C[0]) 0.25) (<= (- A[0] C[0]) 0.5)))(assert (< B[0] (+ D[0] 0.2)))", verify.Unsat},
		{"the sum leaves the box", both + "(assert (>= (- A[0] C[0]) -0.5))(assert (> C[0] 0.75))(assert (> D[0] (+ B[0] 0.51)))", verify.Unsat},
		{"the sum would leave the box", both + "(assert (>= (- A[0] C[0]) -0.5))(assert (and (>= C[0] 0.75) (>= A[0] 0.5)))(assert (> B[0] 1.1))", verify.Unsat},
		{"the sum would leave the box below", both + "(assert (>= (- A[0] C[0]) -0.5))(assert (and (>= C[0] 0.75) (>= A[0] 0.5)))(assert (< B[0] 0.4))", verify.Unsat},
		{"a relation of equal inputs", box + "(assert (== A[0] C[0]))(assert (<= (+ A[0] (* 2 C[0])) -2.7))(assert (> D[0] -0.95))", verify.Sat},
		{"another relation", both + "(assert (<= (+ A[0] (* 2 C[0])) -2))(assert (> D[0] -0.4))", verify.Unsat},
		{"another relation, found", both + "(assert (<= (+ A[0] (* 2 C[0])) -2))(assert (> D[0] -0.6))", verify.Sat},
		{"an input and outputs", both + "(assert (> (+ A[0] 0.001) (+ B[0] 0.002)))", verify.Unsat},
		{"one network into the other", both + "(assert (== C[0] B[0]))(assert (< D[0] -0.1))", verify.Unsat},
		{"a choice", both + "(assert (or (== A[0] C[0]) (>= A[0] (+ C[0] 1))))(assert (< B[0] (- D[0] 0.1)))", verify.Unsat},
		{"strictly", both + "(assert (> A[0] C[0]))(assert (== D[0] 1))", verify.Unknown},
	} {
		if r, _ := askAll(t, about(1, "", c.asserted), 400, absolute(), line); r.Answer != c.want {
			t.Errorf("%s: %s after %d cells, want %s", c.name, r.Answer, r.Cells, c.want)
		}
	}
	first := []posterior.Layer{layer(2, 1, network.Activation{}, []float64{1, 0}, []float64{0})}
	unit := ""
	for _, x := range []string{"A[0]", "A[1]", "C[0]"} {
		unit += fmt.Sprintf("(assert (and (<= %s 1) (>= %s 0)))", x, x)
	}
	chain := unit + "(assert (>= A[0] C[0]))(assert (>= C[0] C[1]))(assert (>= C[1] 0.5))(assert (< B[0] 0.4))"
	if r, _ := askAll(t, about(2, "", chain), 400, first, first); r.Answer != verify.Unsat {
		t.Errorf("a chain of inputs: %s", r.Answer)
	}
	// Two inputs that are equal, of a network that takes both: y = |x_0 + x_1|.
	twice := []posterior.Layer{layer(2, 2, relu, []float64{1, -1, 1, -1}, []float64{0, 0}), layer(2, 1, network.Activation{}, []float64{1, 1}, []float64{0})}
	equal := unit + "(assert (and (== A[0] A[1]) (== C[0] C[1]) (>= C[1] 0)))(assert (> B[0] 1.5))"
	if r, _ := askAll(t, about(2, "", equal), 400, twice, twice); r.Answer != verify.Sat {
		t.Errorf("two equal inputs of one network: %s", r.Answer)
	}
	r, _ := askAll(t, about(1, "(equal-to f)", both+"(assert (<= A[0] C[0]))(assert (> (- B[0] D[0]) 0.9))"), 400, absolute(), absolute())
	if r.Answer != verify.Sat || r.Found.Input[0].Cmp(r.Found.Input[1]) > 0 {
		t.Errorf("two copies: %s with %v", r.Answer, r.Found)
	}
}

// pairOf is a random pair of inputs, often at ends of boxes and of what relates them.
func pairOf(r *rand.Rand, box []vnnlib.Interval) []*big.Rat {
	var x []*big.Rat
	for _, side := range box {
		v := big.NewRat(int64(r.IntN(17)-8), 8)
		switch r.IntN(5) {
		case 0:
			v = side.Lo
		case 1:
			v = side.Hi
		case 2, 3:
			if len(x) > 0 {
				v = new(big.Rat).Add(x[r.IntN(len(x))], big.NewRat(int64(r.IntN(4)-1), 4))
			}
		}
		x = append(x, v)
	}
	return x
}

// TestRandomPairs: of random networks whose inputs are related, sat comes with a counterexample that an
// evaluation apart from psafe's confirms, and unsat is never contradicted by the best of many pairs, of
// which the query asks for a little less or for more.
func TestRandomPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(48, 4))
	count, cases := map[verify.Answer]int{}, testscale.Cases(t, 500)
	for round := range cases {
		weights := func(n int, spread float64) []float64 {
			w := make([]float64, n)
			for i := range w {
				w[i] = spread * r.NormFloat64()
			}
			return w
		}
		random := func() []posterior.Layer {
			return []posterior.Layer{layer(2, 4, relu, weights(8, 1), weights(4, 0.5)), layer(4, 1, network.Activation{}, weights(4, 1), weights(1, 1))}
		}
		f, g := random(), random()
		if round%3 == 0 { // no chain together
			g = []posterior.Layer{g[0], layer(4, 3, relu, weights(12, 1), weights(3, 0.5)), layer(3, 1, network.Activation{}, weights(3, 1), weights(1, 1))}
		}
		var b strings.Builder
		for _, x := range []string{"A[0]", "A[1]", "C[0]", "C[1]"} {
			fmt.Fprintf(&b, "(assert (and (%s %s 1) (>= %s %.1f)))", []string{"<=", "<"}[r.IntN(2)], x, x, r.Float64()-1)
		}
		for range 1 + r.IntN(3) {
			a, c := []string{"A[0]", "A[1]", "C[1]"}[r.IntN(3)], []string{"C[0]", "C[1]", "A[1]"}[r.IntN(3)]
			if a == c {
				continue
			}
			fmt.Fprintf(&b, [...]string{"(assert (== %s %s))", "(assert (>= %s %s))", "(assert (<= (* 2 %s) (+ (* 2 %s) 0.5)))", "(assert (and (<= (- %s %s) 0.5) (>= (- %[1]s %[2]s) -0.25)))",
				"(assert (or (>= %s 0) (<= (+ %[1]s %s) 0.5)))", "(assert (> (+ %s (* 3 %s) (* 0.5 B[0])) -0.5))", "(assert (> %s %s))"}[r.IntN(7)], a, c)
		}
		region, err := vnnlib.Read([]byte(about(2, "", b.String()+"(assert (> B[0] -1000))")))
		if err != nil { // no pair is in the box
			continue
		}
		pair := func(x []*big.Rat) []*big.Rat { return append(evaluate(f, x[:2]), evaluate(g, x[2:])...) }
		var most *big.Rat
		for range 1500 {
			x := pairOf(r, region.Cases[r.IntN(len(region.Cases))].Box)
			if !slices.ContainsFunc(region.Cases, func(c vnnlib.Case) bool { return holds(&c, x) }) {
				continue
			}
			if y := pair(x); unsafe(region, x, y) {
				if d := y[0].Sub(y[0], y[1]); most == nil || d.Cmp(most) > 0 {
					most = d
				}
			}
		}
		if most == nil {
			continue
		}
		limit, _ := most.Float64()
		less := r.IntN(2) == 0
		if limit += 0.4; less {
			limit -= 0.4 + 1.0/64
		}
		text := about(2, "(isomorphic-to f)", fmt.Sprintf("%s(assert (>= (- B[0] D[0]) %.9f))", b.String(), limit))
		got, q := askAll(t, text, 1000, f, g)
		count[got.Answer]++
		if got.Answer == verify.Unsat && less {
			t.Fatalf("%s: unsat, but a pair reaches %v", text, most)
		}
		if got.Answer == verify.Sat {
			y := pair(got.Found.Input)
			if !unsafe(q, got.Found.Input, y) || y[0].Cmp(got.Found.OutputLo[0]) != 0 || y[1].Cmp(got.Found.OutputHi[1]) != 0 {
				t.Fatalf("%s: %v with outputs %v is no counterexample", text, got.Found.Input, y)
			}
		}
	}
	t.Logf("%v", count)
	if count[verify.Sat] < cases/5 || count[verify.Unsat] < cases/5 {
		t.Errorf("%v: too few of one kind", count)
	}
}

// holds reports whether inputs are in the box of a case.
func holds(c *vnnlib.Case, x []*big.Rat) bool {
	for j := range x {
		if !c.Box[j].Contains(x[j]) {
			return false
		}
	}
	return true
}

// TestContradiction: what relations say that no pair fulfils is told, and nothing is proved of it.
func TestContradiction(t *testing.T) {
	sum := &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{layer(2, 1, network.Activation{}, []float64{1, 1}, []float64{0})}}
	box := "(assert (> B[0] D[0]))"
	for _, x := range []string{"A[0]", "A[1]", "C[0]", "C[1]"} {
		box += fmt.Sprintf("(assert (and (<= %s 1000) (>= %s -1000)))", x, x)
	}
	for asserted, want := range map[string]string{
		"(assert (== A[0] C[0]))(assert (>= (- A[0] C[0]) 0.01))":                          "no input is in this box",
		"(assert (== A[0] C[0]))(assert (== A[1] C[0]))(assert (>= (- A[1] A[0]) 0.01))":   "no variable left",
		"(assert (== A[0] C[0]))(assert (or (<= A[0] 0) (<= (+ A[0] 0.01) (* 1.0 C[0]))))": "no variable left",
	} {
		q, err := vnnlib.Read([]byte(about(2, "", box+asserted)))
		if err != nil {
			t.Fatal(err)
		}
		question := &verify.Question{Query: q, Networks: []*posterior.Posterior{sum, sum}, Cells: 1}
		if _, err := question.Tasks(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", asserted, err, want)
		}
	}
}
