package noise

import (
	"testing"

	"psafe/host/bound"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
)

// TestStillZero: where nothing is drawn and a row is exactly 0, S holds, and neither certify nor
// check may say that it surely fails: lower bounds of the row negated are below 0, never 0.
func TestStillZero(t *testing.T) {
	one := func(mean float64) posterior.Params {
		return posterior.NewParams([]float64{mean}, []float64{0}, posterior.ScaleSD)
	}
	for _, w := range [][2]float64{{1, 0}, {0, 1}, {1, 1}} {
		post := &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{
			{Layer: net.DenseLayer(1, 1, net.Activation{Kind: net.ReLU}), Weight: one(w[0]), Bias: one(0)},
			{Layer: net.DenseLayer(1, 1, net.Activation{}), Weight: one(w[1]), Bias: one(0)},
		}}
		n, err := New(post)
		if err != nil {
			t.Fatal(err)
		}
		zero := property.Box{Lo: []float64{0}, Hi: []float64{0}}
		task := property.Task{T: []property.Box{zero}, Inner: []property.Box{zero},
			S: property.Safe{Rows: []property.Row{{CLo: []float64{1}, CHi: []float64{1}}}, Any: [][]int{{0}}}}
		if safe, err := n.SafeUp(t.Context(), &task, zero, 1e-6, checktest.AtMost(0)); err != nil || safe < 1 {
			t.Errorf("weights %v: check bounds P_safe, which is 1, by %v; %v", w, safe, err)
		}
		for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
			if r := checktest.Certified(t, p, post, prove.Config{Method: prove.CLBP}, []property.Task{task})[0]; r.Upper() < 1 {
				t.Errorf("weights %v %v: certify bounds P_safe, which is 1, by %v", w, p, r.Upper())
			}
		}
	}
}
