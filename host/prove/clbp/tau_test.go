package clbp

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/prove/slack"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/internal/testkit/provetest"
	"psafe/internal/testscale"
)

// TestTauIsGood: where a cell fails with much, most by its rows, no tau of a list is better by
// more than five percent than the one that judge finds: a step may gain little and the next as
// much again.
func TestTauIsGood(t *testing.T) {
	hard := 0
	for seed := range testscale.Cases(t, 400) {
		r := rand.New(rand.NewPCG(uint64(seed), 39))
		params := func(n int, size, spread float64) posterior.Params {
			mean, sd := make([]float64, n), make([]float64, n)
			for i := range mean {
				mean[i], sd[i] = size*r.NormFloat64(), size*spread
			}
			return posterior.NewParams(mean, sd, posterior.ScaleSD)
		}
		in, units, spread := 1+r.IntN(20), 4+r.IntN(28), math.Exp(-3+2.5*r.Float64())
		relu := network.Activation{Kind: network.ReLU}
		e := engineOf(t, bound.Float64,
			posterior.Layer{Layer: network.DenseLayer(in, units, relu), Weight: params(in*units, 1/math.Sqrt(float64(in)), spread), Bias: params(units, 0.5, spread)},
			posterior.Layer{Layer: network.DenseLayer(units, 1, network.Activation{}), Weight: params(units, 1/math.Sqrt(float64(units)), spread), Bias: params(1, 1, spread)})
		task := provetest.AtLeast(-0.5 - r.Float64())
		x := make([]float64, in)
		for i := range x {
			x[i] = r.NormFloat64()
		}
		box := property.Box{Lo: x, Hi: x}
		task.T = []property.Box{box}
		m, found := method{e: e}, &cell{task: &task, box: box, fail: 1}
		if err := m.judge(t.Context(), []*cell{found}); err != nil {
			t.Fatal(err)
		}
		listed := &cell{task: &task, box: box, fail: 1}
		for tau := leastTau; tau < mostTau; tau *= 3 {
			if err := m.judgeAt(t.Context(), []*cell{listed}, tau); err != nil {
				t.Fatal(err)
			}
		}
		if listed.fail > 2*worthPolish && listed.fail < 0.7 {
			hard++
			if found.fail > 1.05*listed.fail {
				t.Errorf("seed %d: fails with %v at tau %v, but with %v at %v", seed, found.fail, found.tau, listed.fail, listed.tau)
			}
		}
	}
	if hard == 0 {
		t.Error("no cell fails with much")
	}
	t.Logf("%d hard cells", hard)
}

// engineOf is an engine of a network with these layers on the fallback.
func engineOf(t *testing.T, p bound.Precision, layers ...posterior.Layer) *engine.Engine {
	t.Helper()
	e, err := engine.New(fallback.New(p), nil, &posterior.Posterior{Scale: posterior.ScaleSD, Layers: layers}, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// TestBestMaskedTau: the budget of masks whose failure falls with it for ever is one that psafe check takes.
func TestBestMaskedTau(t *testing.T) {
	fail, tau := bestMaskedTau(func(tau float64) float64 { return tau })
	if fail != tau || !(tau >= slack.LeastTau && tau < maskedStep*slack.LeastTau) {
		t.Errorf("failure %g with tau %g, want the least of at least %g", fail, tau, slack.LeastTau)
	}
	if fail, _ = bestMaskedTau(func(float64) float64 { return 1 }); fail != 1 {
		t.Errorf("failure %g where every budget fails", fail)
	}
}
