package clbp

import (
	"math"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/probability"
	"psafe/host/read/property"
	"psafe/internal/testkit/provetest"
	"slices"
	"testing"
)

func nearly(a, b float64) bool { return math.Abs(a-b) <= 1e-12*math.Abs(b) }

// TestFailureBudget: two events a hidden neuron and a share of one for the variation,
// with quantiles of just these probabilities.
func TestFailureBudget(t *testing.T) {
	zeros := func(n int) posterior.Params {
		return posterior.NewParams(make([]float64, n), slices.Repeat([]float64{0.1}, n), posterior.ScaleSD)
	}
	relu := network.Activation{Kind: network.ReLU}
	e := engineOf(t, bound.Float64, posterior.Layer{Layer: network.DenseLayer(1, 3, relu), Weight: zeros(3), Bias: zeros(3)},
		posterior.Layer{Layer: network.DenseLayer(3, 4, relu), Weight: zeros(12), Bias: zeros(4)}, posterior.Layer{Layer: network.DenseLayer(4, 1, network.Activation{}), Weight: zeros(4), Bias: zeros(1)})
	const tau = 1e-4
	task := provetest.AtLeast(0, 0, 1)
	for _, c := range []struct {
		box       property.Box
		pointwise bool
		events    float64
	}{{task.T[0], false, 7 * (2 + 1.0/64)}, {property.Box{Lo: []float64{1}, Hi: []float64{1}}, false, 14}, {task.T[0], true, 14}} {
		for _, dual := range []bool{false, true} {
			// A row that is certain leaves the budget.
			n := &bound.CLBPMargins{Items: 1, Rows: 1, ByIntervals: bound.Noises{Lo: []float64{1}, Mean: [][]float64{{0}}, Var: [][]float64{{0}}},
				Events: []bound.Events{{Ends: 14, Radii: 7}}}
			got, err := method{e: e, pointwise: c.pointwise}.failUp(&cell{task: &task, box: c.box, dual: dual, fail: 1}, n, 0, tau, consider(&cell{task: &task, dual: dual}, n, 0))
			if err != nil || got < c.events*tau || !nearly(got, c.events*tau) {
				t.Errorf("box %v dual %v: %v, want %v events of %v", c.box, dual, got, c.events, tau)
			}
			if got, _ := (method{e: e, pointwise: c.pointwise}).failUp(&cell{task: &task, box: c.box, dual: dual, fail: got}, n, 0, tau, consider(&cell{task: &task, dual: dual}, n, 0)); got != 1 {
				t.Errorf("box %v dual %v: %v where the cell has as much", c.box, dual, got)
			}
		}
	}
	for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
		q := Quantiles(e, p, tau)
		for what, c := range map[string]struct{ got, tau, least float64 }{
			"Single": {q.Single, tau, 0.999}, "Radius": {q.Radius, tau / 64, 0.999},
			"Many[0]": {q.Many[0], tau, 0.999}, "Many[1]": {q.Many[1], tau, 0.2}, "Many[2]": {q.Many[2], tau, 0.05},
		} {
			variances := []float64{1}
			if what == "Many[1]" {
				variances = []float64{0.5, 0.5}
			} else if what == "Many[2]" {
				variances = []float64{0.4, 0.3, 0.3}
			}
			if tail := probability.NoiseTailUp(c.got, variances, 1); tail > c.tau || tail < c.least*c.tau || c.got != p.RoundHi(c.got) {
				t.Errorf("%v: %s is %v, with tail %v, want %v", p, what, c.got, tail, c.tau)
			}
		}
	}
}

// TestRowForms: the means of all layers lower the bound, and what no noise reaches is certain.
func TestRowForms(t *testing.T) {
	n := &bound.CLBPMargins{Items: 1, Rows: 2,
		ByIntervals: bound.Noises{Lo: []float64{0, 3}, Mean: [][]float64{{0, 0.5}}, Var: [][]float64{{0, 4}}},
		ByLines:     bound.Noises{Lo: []float64{0, 2}, Mean: [][]float64{{0, 0.25}, {0, 0.5}}, Var: [][]float64{{0, 1}, {0, 2}}}}
	got := rowForms(n, 1)
	want := []tailForm{{2.5, []float64{4}}, {1.25, []float64{1, 2}}}
	if len(got) != 2 {
		t.Fatalf("forms %v, want %v", got, want)
	}
	for i := range want {
		if g, w := got[i], want[i]; g.t > w.t || !nearly(g.t, w.t) || !slices.Equal(g.variances, w.variances) {
			t.Errorf("form %d: %v, want %v with t rounded down", i, g, w)
		}
	}
	n.ByLines = bound.Noises{}
	if got := rowForms(n, 1); len(got) != 1 || !slices.Equal(got[0].variances, []float64{4}) {
		t.Errorf("one form: %v", got)
	}
	for lo, tail := range map[float64]float64{0: 0, -1e-9: 1, 2: 0, math.NaN(): 1} {
		all := [][]tailForm{{formOf(lo, nil, nil)}}
		if up, least := tailsUp(all)[0], leastTails(all)[0]; up != tail || least != tail {
			t.Errorf("no noise above %v: tails %v and %v, want %v", lo, up, least, tail)
		}
	}
	all := [][]tailForm{want, want[:1]}
	up, least := tailsUp(all), leastTails(all)
	if up[0] != probability.NoiseTailUp(1.25, []float64{1, 2}, probability.NoiseTailUp(2.5, []float64{4}, 1)) || up[1] != probability.NoiseTailUp(2.5, []float64{4}, 1) {
		t.Errorf("tails %v: not the best of their forms", up)
	}
	if least[0] > up[0] || least[1] > up[1] || least[1] < 0.99*up[1] {
		t.Errorf("tails %v, least %v", up, least)
	}
}

// TestOthersTail: of other lower slopes those count that put the row the most standard deviations
// above 0; what no noise is told of is not taken for free of noise.
func TestOthersTail(t *testing.T) {
	lines := func(lo float64, mean, variance []float64) *bound.CLBPMargins {
		n := &bound.CLBPMargins{Items: 1, Rows: 2, ByLines: bound.Noises{Lo: []float64{9, lo}}}
		for l := range mean {
			n.ByLines.Mean, n.ByLines.Var = append(n.ByLines.Mean, []float64{0, mean[l]}), append(n.ByLines.Var, []float64{1e-9, variance[l]})
		}
		return n
	}
	n := &bound.CLBPMargins{Items: 1, Rows: 2}
	if got := sharpForms(n, 0, 1); got != nil {
		t.Errorf("no others: %v", got)
	}
	n.Others = []*bound.CLBPMargins{lines(2, nil, nil), lines(2, []float64{3, 0}, []float64{1, 1}), lines(1, []float64{math.Inf(1)}, []float64{1}), lines(1, []float64{0}, []float64{math.NaN()})}
	if got := sharpForms(n, 0, 1); got != nil {
		t.Errorf("none above 0: %v", got)
	}
	n.Others = append(n.Others, lines(4, []float64{1}, []float64{4}), lines(3, []float64{0.5, 0.5}, []float64{0.5, 0.25}), lines(8, []float64{0}, []float64{100}))
	got := sharpForms(n, 0, 1)
	if len(got) != 1 || !(got[0].t < 2) || !nearly(got[0].t, 2) || !slices.Equal(got[0].variances, []float64{0.5, 0.25}) {
		t.Errorf("%v, want 2 less the noise of 0.5 and 0.25", got)
	}
}

// TestHalves: two halves are the whole, and the sum of their failures bounds its own.
func TestHalves(t *testing.T) {
	post := &posterior.Posterior{Layers: []posterior.Layer{{Layer: network.DenseLayer(2, 1, network.Activation{}), Weight: provetest.Fixed(1, 5), Bias: provetest.Fixed(0)}}}
	task := provetest.AtLeast(0)
	c := &cell{task: &task, box: property.Box{Lo: []float64{-1, 0.1}, Hi: []float64{2, 0.9}}, fail: 0.5}
	method{}.halve(post.Network(), post.Mean(), c)
	a, b := c.parts[0], c.parts[1]
	if len(c.parts) != 2 || a.box.Hi[1] != b.box.Lo[1] || !slices.Equal(a.box.Lo, c.box.Lo) || !slices.Equal(b.box.Hi, c.box.Hi) || a.box.Hi[0] != 2 || b.box.Lo[0] != -1 {
		t.Fatalf("halves %v and %v of %v", a.box, b.box, c.box)
	}
	for _, x := range []struct {
		a, b, want float64
		each       bool
	}{{1, 1, 0.5, false}, {0.1, 0.2, 0.3, false}, {0, 0.25, 0.25, false}, {0.4, 0.3, 0.5, false}, {0.4, 0.3, 0.4, true}, {0.3, 0.4, 0.4, true}, {0.6, 0, 0.5, true}} {
		a.fail, b.fail, c.each = x.a, x.b, x.each
		if got := c.best(); got < x.want || math.Abs(got-x.want) > 1e-12 {
			t.Errorf("parts fail by %v and %v: %v, want %v", x.a, x.b, got, x.want)
		}
	}
}

// TestDualSums: for S to hold an alternative has to, and for that each of its rows.
func TestDualSums(t *testing.T) {
	s := &property.Safe{Any: [][]int{{0, 1}, {2}}}
	if got := dualUp(s, []float64{0.3, 0.2, 0.1}); !nearly(got, 0.3) {
		t.Errorf("%v, want 0.2 + 0.1", got)
	}
	if got := dualUp(&property.Safe{}, nil); got != 0 {
		t.Errorf("the empty set holds with probability %v", got)
	}
	if got := dualUp(&property.Safe{Any: [][]int{nil}}, nil); !(got >= 1) {
		t.Errorf("everything holds with probability %v", got)
	}
}
