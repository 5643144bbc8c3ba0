package certify

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	"psafe/host/network"
	"psafe/host/posterior"
	"psafe/host/property"
)

// TestGrids: what a grid shows is a bound, claims no more than psafe check can prove again, and has
// its planes in the proof. In a run it is asked for where cells show nothing.
func TestGrids(t *testing.T) {
	const neurons = 8
	rng := rand.New(rand.NewPCG(16, 32))
	params := func(n int, spread, sd float64) posterior.Params {
		mean, sds := make([]float64, n), make([]float64, n)
		for j := range mean {
			mean[j], sds[j] = spread*rng.NormFloat64(), sd
		}
		return posterior.NewParams(mean, sds, posterior.ScaleSD)
	}
	e := engineOf(t, bound.Float64,
		posterior.Layer{Layer: network.DenseLayer(1, neurons, network.Activation{Kind: network.ReLU}), Weight: params(neurons, 1, 0.5), Bias: params(neurons, 0.5, 0.5)},
		posterior.Layer{Layer: network.DenseLayer(neurons, 1, network.Activation{}), Weight: params(neurons, 0.5, 0.5), Bias: params(1, 0, 0.1)})
	row := property.Row{CLo: []float64{1}, CHi: []float64{1}, D: 4, DHi: 4}
	task := property.Task{Label: -1, T: []property.Box{{Lo: []float64{-3}, Hi: []float64{3}}}, S: property.Safe{Rows: []property.Row{row}, Any: [][]int{{0}}}}
	sums, err := e.neuronSums()
	if err != nil {
		t.Fatal(err)
	}
	r := newResult(&task, "neuronsum")
	r.LogP = minusInf
	if err := sumsByGrids(t.Context(), e, &Config{}, sums, r); err != nil {
		t.Fatal(err)
	}
	g, err := sums.Grids(t.Context(), task.T, &task.S, sumPoints)
	if err != nil {
		t.Fatal(err)
	}
	if claimed := 1 - fewFactor*g.FailUp - fewMore*float64(g.Points); len(r.Proof.Grids) != 1 || r.Cells != len(r.Proof.Grids[0][0])+2 || r.Proof.Cells != nil || !(r.Lower() <= claimed && r.Lower() > claimed-1e-9) {
		t.Errorf("p_lower %v and not %v, %d points, proof %+v", r.Lower(), claimed, r.Cells, r.Proof)
	}
	const draws = 4000
	safe, w, net := 0, e.normal.NewWeights(), e.normal.Network()
	for d := range draws {
		e.normal.Draw(1, d, w)
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

	// Where cells show nothing, auto asks for grids only if it is said when to end.
	row.D, row.DHi = 2, 2
	task.T, task.S.Rows = []property.Box{{Lo: []float64{-30}, Hi: []float64{30}}}, []property.Row{row}
	for _, c := range []struct {
		cfg   Config
		least float64
	}{
		{Config{Strategy: Auto}, 0},
		{Config{Strategy: Auto, Decided: func(*Result) bool { return false }}, 0.1},
		{Config{Strategy: NeuronSums}, 0.1},
	} {
		got, err := neuronSum(t.Context(), e, c.cfg, []property.Task{task})
		if err != nil || got[0].Lower() < c.least || (len(got[0].Proof.Grids) > 0) != (c.least > 0) {
			t.Errorf("%v: p_lower %v by grids %v, want at least %v; %v", c.cfg.Strategy, got[0].Lower(), got[0].Proof.Grids, c.least, err)
		}
	}
}
