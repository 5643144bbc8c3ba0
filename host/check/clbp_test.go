package check

import (
	"context"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/fallback"
	"psafe/host/arith"
	"psafe/host/bound"
	"psafe/host/check/curves"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// asProved is the task of a result with the mixtures of its proof among the alternatives.
func asProved(t *testing.T, r *claim.Result) *property.Task {
	t.Helper()
	task := *r.Task
	if r.Proof.Mixtures != nil {
		var err error
		if task.S, err = mixed(&task.S, r.Proof.Mixtures); err != nil {
			t.Fatal(err)
		}
	}
	return &task
}

// certified returns what certify says of the tasks on the fallback.
func certified(t *testing.T, p bound.Precision, post *posterior.Posterior, cfg prove.Config, tasks []property.Task) []*claim.Result {
	t.Helper()
	return certifiedTo(t, 0, p, post, cfg, tasks)
}

// certifiedTo is certified with rows of a depth.
func certifiedTo(t *testing.T, depth int, p bound.Precision, post *posterior.Posterior, cfg prove.Config, tasks []property.Task) []*claim.Result {
	t.Helper()
	e, err := engine.NewOfDepth(fallback.New(p), nil, post, 8, depth)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var list []*claim.Result
	if err := prove.Run(context.Background(), []*engine.Engine{e}, cfg, tasks, nil, func(r *claim.Result) error {
		list = append(list, r)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

// atMost is enough.
func atMost(enough float64) func(float64) bool { return func(p float64) bool { return p <= enough } }

// randomTask asks whether the class of the mean network stays, or one of several others.
func randomTask(rng *rand.Rand, post *posterior.Posterior, index int) property.Task {
	task := property.Task{Index: index, Label: -1}
	n := post.Outputs()
	for range 1 + rng.IntN(2) {
		var b property.Box
		for range post.Inputs() {
			x, eps := rng.NormFloat64(), []float64{0, 0.02, 0.2}[rng.IntN(3)]
			b.Lo, b.Hi = append(b.Lo, x-eps), append(b.Hi, x+eps)
		}
		task.T = append(task.T, b)
	}
	task.Inner = task.T
	y := post.LogitsApprox(task.T[0].Lo)
	class := 0
	for c := range y {
		if y[c] > y[class] {
			class = c
		}
	}
	switch rng.IntN(4) {
	case 0:
		task.S = property.ArgmaxIsNever(rng.IntN(n), n)
	case 1:
		task.S = property.ArgmaxIs(rng.IntN(n), n)
	case 2:
		task.S = property.ArgmaxIs(class, n)
	default: // decimals: y_i + 0.1 >= 0.3 y_0 for each i
		task.S.Any = [][]int{nil}
		for i := 1; i < n; i++ {
			r := property.Row{CLo: make([]float64, n), CHi: make([]float64, n), D: 1.1, DHi: arith.Up(1.1)}
			r.CLo[i], r.CHi[i] = 1, 1
			r.CLo[0], r.CHi[0] = -0.3, arith.Up(-0.3)
			task.S.Any[0] = append(task.S.Any[0], len(task.S.Rows))
			task.S.Rows = append(task.S.Rows, r)
		}
	}
	return task
}

// witnessOf is the box of a proof's witness.
func witnessOf(t *testing.T, task *property.Task, w claim.Witness) property.Box {
	t.Helper()
	x, err := task.T[w.Box].DecodePoint(w.At)
	if err != nil {
		t.Fatal(err)
	}
	return task.Witness(w.Box, x)
}

// TestGenuine: everything that certify claims by concentration LBP is proved again.
func TestGenuine(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	lower, upper, retried := 0, 0, 0
	for i := range testscale.Costly(t, 400/testscale.By(t, 2)) {
		act := activations[i%len(activations)]
		sizes := [][]int{{3, 4, 3}, {2, 8, 6, 3}, {10, 3}, {4, 6, 5, 4, 3}, {1, 6, 2}}[rng.IntN(5)]
		post := sumtest.RandomNoisy(rng, act, []float64{0.01, 0.1, 0.3}[rng.IntN(3)], sizes...)
		tasks := []property.Task{randomTask(rng, post, 0), randomTask(rng, post, 1)}
		n, err := newNoisy(post)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
			for _, r := range certified(t, p, post, prove.Config{Method: prove.CLBP, Cells: []int{0, 1, 10}[i%3]}, tasks) {
				if r.Lower() > 0 {
					lower++
					task := asProved(t, r)
					enough := -math.Expm1(r.LogP)
					fail, err := n.failUp(t.Context(), task, r.Proof.Cells, r.Proof.Tau, atMost(arith.Inf))
					if err != nil {
						t.Fatal(err)
					}
					// In float64 both are the same but for roundings, and for the tails of rows below
					// 10^-6: what is much better is wrong.
					if p == bound.Float64 && fail < enough*(1-1e-6)-1e-6*float64(r.Cells*len(r.Task.S.Rows)) {
						t.Errorf("%d %v %v %v: fails %v, certify says %v, much more", i, act, sizes, p, fail, enough)
					}
					if fail > enough {
						retried++
						before := fail
						fail, _ = n.failUp(t.Context(), task, r.Proof.Cells, r.Proof.Tau, atMost(enough))
						t.Logf("%d %v %v %v: fail %v, retried %v, claimed %v", i, act, sizes, p, before, fail, enough)
					}
					if fail > enough {
						t.Errorf("%d %v %v %v: fails %v (%.3g more), certify says %v (%d cells)", i, act, sizes, p, fail, fail/enough-1, enough, r.Cells)
					}
				}
				if u := r.Proof.Upper; u != nil && u.Method == "clbp" {
					upper++
					got, err := n.safeUp(t.Context(), r.Task, witnessOf(t, r.Task, u.Witness), u.Tau, atMost(r.Upper()))
					if p == bound.Float64 && got < r.Upper()*(1-1e-6)-1e-6*float64(len(r.Task.S.Rows)) {
						t.Errorf("%d %v %v %v: p_upper %v, certify says %v, much more", i, act, sizes, p, got, r.Upper())
					}
					if err != nil || got > r.Upper() {
						t.Errorf("%d %v %v %v: p_upper %v, certify says %v, %v", i, act, sizes, p, got, r.Upper(), err)
					}
				}
			}
		}
	}
	t.Logf("%d lower, %d upper bounds, %d retried", lower, upper, retried)
}

// TestBoundsHold: whatever cells and budgets are given, as many drawn networks as can be are
// within the bounds; and they say something.
func TestBoundsHold(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 2))
	said := 0
	for i := range testscale.Costly(t, 300) {
		act := activations[i%len(activations)]
		post := sumtest.RandomNoisy(rng, act, []float64{0.05, 0.2}[rng.IntN(2)], [][]int{{2, 5, 3}, {1, 4, 4, 2}, {2, 2}}[rng.IntN(3)]...)
		task := randomTask(rng, post, i)
		n, err := newNoisy(post)
		if err != nil {
			t.Fatal(err)
		}
		trees := []int(nil)
		for range task.T {
			trees = append(trees, 0, -1, 0, -1, -1)
		}
		tau := math.Exp(-4 - 10*rng.Float64())
		fail, err := n.failUp(t.Context(), &task, trees, []float64{tau}, atMost(0))
		if err != nil {
			t.Fatal(err)
		}
		at := task.Witness(0, task.T[0].Hi)
		safe, err := n.safeUp(t.Context(), &task, at, tau, atMost(0))
		if err != nil {
			t.Fatal(err)
		}
		const draws = 400
		somewhere, here := sumtest.DrawnUnsafe(post, &task, at.Lo, draws)
		slack := func(p float64) float64 { return 4*math.Sqrt(p*(1-p)/draws) + 4.0/draws }
		if somewhere > fail+slack(min(fail, 0.5)) {
			t.Errorf("%d: %v of networks are unsafe, bound %v", i, somewhere, fail)
		}
		if 1-here > safe+slack(min(safe, 0.5)) {
			t.Errorf("%d: %v of networks are safe at a point, bound %v", i, 1-here, safe)
		}
		if fail < 1 || safe < 1 {
			said++
		}
	}
	t.Logf("%d of the bounds say something", said)
	if said == 0 {
		t.Error("no bound says anything")
	}
}

// TestLinearExactly: of a network without hidden layers at a point the bound is exact: a normal
// tail for each row.
func TestLinearExactly(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 50 {
		post := sumtest.RandomNoisy(rng, net.Activation{}, 0.3, 3, 2)
		x := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
		task := property.Task{T: []property.Box{{Lo: x, Hi: x}}, S: property.Safe{Any: [][]int{{0}}, Rows: []property.Row{{CLo: []float64{1, -1}, CHi: []float64{1, -1}, D: 1.5, DHi: 1.5}}}}
		task.Inner = task.T
		mean, variance := 1.5, 0.0
		l := &post.Layers[0]
		for i, c := range []float64{1, -1} {
			mean += c * l.Bias.Mean[i]
			variance += l.Bias.SdHi[i] * l.Bias.SdHi[i]
			for j := range x {
				mean += c * l.Weight.Mean[j*2+i] * x[j]
				variance += math.Pow(l.Weight.SdHi[j*2+i]*x[j], 2)
			}
		}
		n, err := newNoisy(post)
		if err != nil {
			t.Fatal(err)
		}
		fail, err := n.failUp(t.Context(), &task, nil, []float64{0.1}, atMost(0))
		z := math.Abs(mean) / math.Sqrt(variance)
		want := curves.TailUp(arith.DDOf(z))
		if mean <= 0 {
			if fail != 1 {
				t.Errorf("a mean of %v fails %v", mean, fail)
			}
			continue
		}
		if err != nil || math.Abs(fail-want) > 1e-9*want {
			t.Errorf("mean %v, variance %v: fails %v, want %v, %v", mean, variance, fail, want, err)
		}
	}
}

// TestForgedNoise: a certificate with other cells, budgets or regions is refused, or the bound that it
// claims is one all the same, because what is recomputed is at least as good.
func TestForgedNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	refused, kept := map[string]int{}, map[string]int{}
	for i := range testscale.Costly(t, 200/testscale.By(t, 2)) {
		post := sumtest.RandomNoisy(rng, activations[i%len(activations)], 0.1, []int{2, 6, 5, 3}...)
		task := randomTask(rng, post, 0)
		r := certified(t, bound.Float64, post, prove.Config{Method: prove.CLBP, Cells: 6}, []property.Task{task})[0]
		n, err := newNoisy(post)
		if err != nil {
			t.Fatal(err)
		}
		enough := -math.Expm1(r.LogP)
		if enough < 1e-12 || enough >= 1 {
			continue
		}
		try := func(what string, task *property.Task, cells []int, taus []float64) {
			t.Helper()
			fail, err := n.failUp(t.Context(), task, cells, taus, atMost(enough))
			if err != nil || fail > enough {
				refused[what]++
			} else {
				kept[what]++
			}
		}
		task = *asProved(t, r)
		genuine, err := n.failUp(t.Context(), &task, r.Proof.Cells, r.Proof.Tau, atMost(enough))
		if err != nil || genuine > enough {
			t.Fatalf("%d: fails %v, certify says %v, %v", i, genuine, enough, err)
		}
		one := exactly(1)
		if c, p := complement(genuine), one.Sub(one, exactly(genuine)); !c.reaches(new(big.Rat).Sub(p, exactly(0x1p-53))) || c.reaches(new(big.Rat).Add(p, exactly(0x1p-80))) {
			t.Errorf("%d: the complement of %v is %v", i, genuine, c.float())
		}
		scaled := func(f float64) (taus []float64) {
			for _, tau := range r.Proof.Tau {
				taus = append(taus, tau*f)
			}
			return taus
		}
		try("tau doubled", &task, r.Proof.Cells, scaled(2))
		try("tau halved", &task, r.Proof.Cells, scaled(0.5))
		for what, taus := range map[string][]float64{"tau negative": scaled(-1), "tau 0": scaled(0), "tau NaN": scaled(math.NaN()), "no tau": nil, "tau too many": append(scaled(1), 1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3)} {
			try(what, &task, r.Proof.Cells, taus)
		}
		for what, cells := range map[string][]int{"cell out of range": {2, -1, -1}, "cell missing": {0, -1}, "cell -2": {-2}, "no cells": {}, "cells go on": {-1, -1, -1, -1}} {
			try(what, &task, cells, r.Proof.Tau[:1])
		}
		if r.Proof.Cells != nil {
			try("not cut", &task, nil, r.Proof.Tau[:1])
		}
		wider := task
		wider.T = nil
		for _, b := range task.T {
			w := property.Box{}
			for j := range b.Lo {
				w.Lo, w.Hi = append(w.Lo, b.Lo[j]-5e-3), append(w.Hi, b.Hi[j]+5e-3)
			}
			wider.T = append(wider.T, w)
		}
		try("eps enlarged", &wider, r.Proof.Cells, r.Proof.Tau)
	}
	t.Logf("refused %v, kept %v", refused, kept)
	for _, what := range []string{"tau negative", "tau NaN", "no tau", "tau too many", "cell out of range", "cell missing", "cell -2", "no cells", "cells go on"} {
		if kept[what] > 0 || refused[what] == 0 {
			t.Errorf("%s: %d refused, %d accepted", what, refused[what], kept[what])
		}
	}
	// Where the budget is nearly all of the bound, a little more of T changes nothing.
	if refused["eps enlarged"] <= kept["eps enlarged"] {
		t.Errorf("eps enlarged: %d refused, %d accepted", refused["eps enlarged"], kept["eps enlarged"])
	}
}

// TestCellsOf: trees that end early, go on, or cut what is no coordinate are refused.
func TestCellsOf(t *testing.T) {
	box := property.Box{Lo: []float64{0.5, 0.5}, Hi: []float64{0.5, 0.5}}
	for _, trees := range [][]int{{}, {-2}, {2, -1, -1}, {0, -1}, {0, -1, -1, -1}, {-1, -1}} {
		if cells, err := cellsOf([]property.Box{box}, trees); err == nil {
			t.Errorf("%v makes %v", trees, cells)
		}
	}
}
