package prove

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/prove/slack"
	"psafe/host/read/property"
)

// TestGrids: what a grid shows is a bound, claims no more than psafe check can prove again, and has
// its planes in the proof. In a run it is asked for where cells show nothing.
func TestGrids(t *testing.T) {
	e := gridsEngine(t, 1, 8)
	row := property.Row{CLo: []float64{1}, CHi: []float64{1}, D: 4, DHi: 4}
	task := property.Task{Label: -1, T: []property.Box{{Lo: []float64{-3}, Hi: []float64{3}}}, S: property.Safe{Rows: []property.Row{row}, Any: [][]int{{0}}}}
	sums, err := sumsOf(e)
	if err != nil {
		t.Fatal(err)
	}
	byGrids, err := gridSums(t.Context(), e, Config{}, []property.Task{task})
	if err != nil {
		t.Fatal(err)
	}
	r := byGrids[0]
	g, err := sums.Grids(t.Context(), task.T, &task.S, sumPoints)
	if err != nil {
		t.Fatal(err)
	}
	if claimed := 1 - slack.GridUp(g.FailUp, g.Points, 4); len(r.Proof.Grids) != 1 || r.Cells != len(r.Proof.Grids[0][0])+2 || r.Proof.Cells != nil || !(r.Lower() <= claimed && r.Lower() > claimed-1e-9) {
		t.Errorf("p_lower %v and not %v, %d points, proof %+v", r.Lower(), claimed, r.Cells, r.Proof)
	}
	const draws = 4000
	safe, w, net := 0, e.Normal.NewWeights(), e.Normal.Network()
	for d := range draws {
		e.Normal.Draw(1, d, w)
		least := math.Inf(1)
		for k := range 61 {
			least = min(least, net.OutputsApprox(w, []float64{-3 + float64(k)/10})[0]+4)
		}
		if least > 0 {
			safe++
		}
	}
	if real := float64(safe) / draws; !(r.Lower() > 0.5 && r.Lower() < real+0.02) {
		t.Errorf("p_lower %v, simulated %v", r.Lower(), real)
	}

	// Where cells show nothing, neuronsum asks for grids, auto only if it is said when to end.
	row.D, row.DHi = 2, 2
	wide, some := task, task
	wide.T, wide.S.Rows = []property.Box{{Lo: []float64{-30}, Hi: []float64{30}}}, []property.Row{row}
	some.T, some.S.Rows = []property.Box{{Lo: []float64{-6}, Hi: []float64{6}}}, wide.S.Rows
	end := func(*claim.Result) bool { return false }
	for name, c := range map[string]struct {
		task  property.Task
		cfg   Config
		grids bool
		least float64
	}{
		"auto":               {wide, Config{Method: Auto}, false, 0},
		"auto with an end":   {wide, Config{Method: Auto, Decided: end}, true, 0.1},
		"neuronsum":          {wide, Config{Method: NeuronSum}, true, 0.1},
		"auto, by cells":     {some, Config{Method: Auto, Cells: 9, Decided: end}, false, 0.5},
		"neuronsum by cells": {some, Config{Method: NeuronSum, Cells: 9}, false, 0.5},
	} {
		run := auto
		if c.cfg.Method == NeuronSum {
			run = neuronSum
		}
		got, err := run(t.Context(), e, c.cfg, []property.Task{c.task})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: p_lower %v by %s, %d grids", name, got[0].Lower(), got[0].Method, len(got[0].Proof.Grids))
		if got[0].Lower() < c.least || (len(got[0].Proof.Grids) > 0) != c.grids {
			t.Errorf("%s: p_lower %v by grids %v, want at least %v", name, got[0].Lower(), got[0].Proof.Grids, c.least)
		}
	}
}

// TestGridsBesideCells: of more than two inputs auto, if it is said when to end, asks for grids where
// cells show something too, after all that is cheaper, and until it is decided.
func TestGridsBesideCells(t *testing.T) {
	e := gridsEngine(t, 3, 5)
	row := property.Row{CLo: []float64{1}, CHi: []float64{1}, D: 4, DHi: 4}
	task := property.Task{Label: -1, T: []property.Box{{Lo: []float64{-0.7, -0.7, -0.7}, Hi: []float64{0.7, 0.7, 0.7}}}, S: property.Safe{Rows: []property.Row{row}, Any: [][]int{{0}}}}
	of := func(cfg Config) *claim.Result {
		cfg.Method = Auto
		got, err := auto(t.Context(), e, cfg, []property.Task{task})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("p_lower %v by %s, %d cells, %d grids", got[0].Lower(), got[0].Method, got[0].Cells, len(got[0].Proof.Grids))
		return got[0]
	}
	none := of(Config{})
	some := of(Config{Decided: func(r *claim.Result) bool { return r.Method == "neuronsum" }})
	all := of(Config{Decided: func(*claim.Result) bool { return false }})
	if none.Method == "neuronsum" || some.Method != "neuronsum" || len(some.Proof.Grids) > 0 || some.Stopped != claim.Decided || len(all.Proof.Grids) != 1 || !(all.Lower() > some.Lower() && some.Lower() > 0) {
		t.Errorf("%+v, %+v and %+v", none, some, all)
	}
}

// gridsEngine is one for a random network of one hidden layer with much noise.
func gridsEngine(t *testing.T, inputs, neurons int) *engine.Engine {
	t.Helper()
	rng := rand.New(rand.NewPCG(16, 32))
	params := func(n int, spread, sd float64) posterior.Params {
		mean, sds := make([]float64, n), make([]float64, n)
		for j := range mean {
			mean[j], sds[j] = spread*rng.NormFloat64(), sd
		}
		return posterior.NewParams(mean, sds, posterior.ScaleSD)
	}
	return engineOf(t, bound.Float64,
		posterior.Layer{Layer: network.DenseLayer(inputs, neurons, network.Activation{Kind: network.ReLU}), Weight: params(inputs*neurons, 1, 0.5), Bias: params(neurons, 0.5, 0.5)},
		posterior.Layer{Layer: network.DenseLayer(neurons, 1, network.Activation{}), Weight: params(neurons, 0.5, 0.5), Bias: params(1, 0, 0.1)})
}
