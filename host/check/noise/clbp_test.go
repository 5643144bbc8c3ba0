package noise

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/bound"
	"psafe/host/check/cases"
	"psafe/host/check/law"
	net "psafe/host/model/network"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// asProved is the task of a result with the mixtures of its proof among the alternatives.
func asProved(t *testing.T, r *claim.Result) *property.Task {
	t.Helper()
	task := *r.Task
	if r.Proof.Mixtures != nil {
		var err error
		if task.S, err = cases.Mixed(&task.S, r.Proof.Mixtures); err != nil {
			t.Fatal(err)
		}
	}
	return &task
}

// TestGenuine: everything that certify claims by concentration LBP is proved again.
func TestGenuine(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	lower, upper, retried := 0, 0, 0
	for i := range testscale.Costly(t, 400/testscale.By(t, 2)) {
		act := checktest.Activations[i%len(checktest.Activations)]
		sizes := [][]int{{3, 4, 3}, {2, 8, 6, 3}, {10, 3}, {4, 6, 5, 4, 3}, {1, 6, 2}}[rng.IntN(5)]
		post := sumtest.RandomNoisy(rng, act, []float64{0.01, 0.1, 0.3}[rng.IntN(3)], sizes...)
		tasks := []property.Task{checktest.RandomTask(rng, post, 0), checktest.RandomTask(rng, post, 1)}
		n, err := New(post)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
			for _, r := range checktest.Certified(t, p, post, prove.Config{Method: prove.CLBP, Cells: []int{0, 1, 10}[i%3]}, tasks) {
				if r.Lower() > 0 {
					lower++
					task := asProved(t, r)
					enough := -math.Expm1(r.LogP)
					fail, err := n.FailUp(t.Context(), task, r.Proof.Cells, r.Proof.Tau, checktest.AtMost(arith.Inf))
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
						fail, _ = n.FailUp(t.Context(), task, r.Proof.Cells, r.Proof.Tau, checktest.AtMost(enough))
						t.Logf("%d %v %v %v: fail %v, retried %v, claimed %v", i, act, sizes, p, before, fail, enough)
					}
					if fail > enough {
						t.Errorf("%d %v %v %v: fails %v (%.3g more), certify says %v (%d cells)", i, act, sizes, p, fail, fail/enough-1, enough, r.Cells)
					}
				}
				if u := r.Proof.Upper; u != nil && u.Method == "clbp" {
					upper++
					got, err := n.SafeUp(t.Context(), r.Task, checktest.WitnessOf(t, r.Task, u.Witness), u.Tau, checktest.AtMost(r.Upper()))
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
		act := checktest.Activations[i%len(checktest.Activations)]
		post := sumtest.RandomNoisy(rng, act, []float64{0.05, 0.2}[rng.IntN(2)], [][]int{{2, 5, 3}, {1, 4, 4, 2}, {2, 2}}[rng.IntN(3)]...)
		task := checktest.RandomTask(rng, post, i)
		n, err := New(post)
		if err != nil {
			t.Fatal(err)
		}
		trees := []int(nil)
		for range task.T {
			trees = append(trees, 0, -1, 0, -1, -1)
		}
		tau := math.Exp(-4 - 10*rng.Float64())
		fail, err := n.FailUp(t.Context(), &task, trees, []float64{tau}, checktest.AtMost(0))
		if err != nil {
			t.Fatal(err)
		}
		at := task.Witness(0, task.T[0].Hi)
		safe, err := n.SafeUp(t.Context(), &task, at, tau, checktest.AtMost(0))
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
		n, err := New(post)
		if err != nil {
			t.Fatal(err)
		}
		fail, err := n.FailUp(t.Context(), &task, nil, []float64{0.1}, checktest.AtMost(0))
		z := math.Abs(mean) / math.Sqrt(variance)
		want := gauss.TailOfUp(arith.DDOf(z))
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
		post := sumtest.RandomNoisy(rng, checktest.Activations[i%len(checktest.Activations)], 0.1, []int{2, 6, 5, 3}...)
		task := checktest.RandomTask(rng, post, 0)
		r := checktest.Certified(t, bound.Float64, post, prove.Config{Method: prove.CLBP, Cells: 6}, []property.Task{task})[0]
		n, err := New(post)
		if err != nil {
			t.Fatal(err)
		}
		enough := -math.Expm1(r.LogP)
		if enough < 1e-12 || enough >= 1 {
			continue
		}
		try := func(what string, task *property.Task, cells []int, taus []float64) {
			t.Helper()
			fail, err := n.FailUp(t.Context(), task, cells, taus, checktest.AtMost(enough))
			if err != nil || fail > enough {
				refused[what]++
			} else {
				kept[what]++
			}
		}
		task = *asProved(t, r)
		genuine, err := n.FailUp(t.Context(), &task, r.Proof.Cells, r.Proof.Tau, checktest.AtMost(enough))
		if err != nil || genuine > enough {
			t.Fatalf("%d: fails %v, certify says %v, %v", i, genuine, enough, err)
		}
		one := checktest.Exactly(1)
		if c, p := law.Complement(genuine), one.Sub(one, checktest.Exactly(genuine)); !c.Reaches(new(big.Rat).Sub(p, checktest.Exactly(0x1p-53))) || c.Reaches(new(big.Rat).Add(p, checktest.Exactly(0x1p-80))) {
			t.Errorf("%d: the complement of %v is %v", i, genuine, c.Float())
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
