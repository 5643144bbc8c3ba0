package noise

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// TestStill: what certify claims of networks whose first layers, or all, are certain is proved
// again; where all are, that is 1 or 0 exactly.
func TestStill(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 1))
	safe, unsafe := 0, 0
	for i := range max(24, testscale.Cases(t, 60)) {
		post := sumtest.RandomNoisy(rng, checktest.Activations[i%len(checktest.Activations)], 0.1, [][]int{{3, 4, 3}, {2, 6, 4, 3}}[i%2]...)
		still := i/2%3 + 1
		for k := range min(still, len(post.Layers)) {
			for _, g := range []*posterior.Params{&post.Layers[k].Weight, &post.Layers[k].Bias} {
				*g = posterior.NewParams(g.Mean, make([]float64, len(g.Mean)), posterior.ScaleSD)
			}
		}
		n, err := New(post)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range checktest.Certified(t, bound.Float64, post, prove.Config{Method: prove.CLBP}, []property.Task{checktest.RandomTask(rng, post, 0)}) {
			sure := still >= len(post.Layers)
			if lo, hi := r.Lower(), r.Upper(); sure && (lo != 0 && lo != 1 || hi != 0 && hi != 1) {
				t.Errorf("%d: p_lower %v, p_upper %v of one network", i, lo, hi)
			}
			if r.Lower() > 0 {
				safe++
				enough := -math.Expm1(r.LogP)
				if fail, err := n.FailUp(t.Context(), r.Task, r.Proof.Cells, r.Proof.Tau, checktest.AtMost(enough)); err != nil || fail > enough {
					t.Errorf("%d: fails %v, certify says %v; %v", i, fail, enough, err)
				}
			}
			if u := r.Proof.Upper; u != nil && u.Method == "clbp" {
				unsafe++
				if got, err := n.SafeUp(t.Context(), r.Task, checktest.WitnessOf(t, r.Task, u.Witness), u.Tau, checktest.AtMost(r.Upper())); err != nil || got > r.Upper() {
					t.Errorf("%d: p_upper %v, certify says %v; %v", i, got, r.Upper(), err)
				}
			}
		}
	}
	if safe == 0 || unsafe == 0 {
		t.Errorf("%d lower, %d upper bounds: nothing was tested", safe, unsafe)
	}
}

// TestNoiseOfBiases: f(x) = max(0, x + b), b ~ N(0, 1), is at least 0.5 at 1 with probability 0.69.
func TestNoiseOfBiases(t *testing.T) {
	one := func(mean, sd float64) posterior.Params {
		return posterior.NewParams([]float64{mean}, []float64{sd}, posterior.ScaleSD)
	}
	post := &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{
		{Layer: net.DenseLayer(1, 1, net.Activation{Kind: net.ReLU}), Weight: one(1, 0), Bias: one(0, 1)},
		{Layer: net.DenseLayer(1, 1, net.Activation{}), Weight: one(1, 0), Bias: one(0, 0)},
	}}
	n, err := New(post)
	if err != nil {
		t.Fatal(err)
	}
	row := property.Row{CLo: []float64{1}, CHi: []float64{1}, D: -0.5, DHi: -0.5}
	task := property.Task{T: []property.Box{{Lo: []float64{1}, Hi: []float64{1}}}, S: property.Safe{Rows: []property.Row{row}, Any: [][]int{{0}}}}
	for _, tau := range []float64{1e-12, 1e-6, 1e-3} {
		if fail, err := n.FailUp(t.Context(), &task, nil, []float64{tau}, checktest.AtMost(0)); err != nil || fail < 0.3085 {
			t.Errorf("tau %v: fails %v, in truth 0.3085; %v", tau, fail, err)
		}
	}
}
