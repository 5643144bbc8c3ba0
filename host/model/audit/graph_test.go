package audit

import (
	"math/rand/v2"
	"strings"
	"testing"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/internal/testkit/networktest"
	"psafe/internal/testscale"
)

// TestGraphs: references of networks of every kind of map are compared; what does not fit is
// refused, whatever is tried to explain it.
func TestGraphs(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 41))
	for range testscale.Cases(t, 100) {
		n := networktest.Random(r, network.Activation{Kind: network.ReLU}, network.Activation{Kind: network.Tanh})
		weights := networktest.Weights(r, n)
		p := &posterior.Posterior{Scale: posterior.ScaleSD, Source: posterior.Source{Format: "psafe"}}
		for k, l := range n {
			params := func(mean []float64) posterior.Params {
				return posterior.NewParams(mean, make([]float64, len(mean)), posterior.ScaleSD)
			}
			p.Layers = append(p.Layers, posterior.Layer{Layer: l, Weight: params(weights[2*k]), Bias: params(weights[2*k+1])})
		}
		p.Reference = &posterior.Reference{}
		for range 6 {
			x := make([]float64, n.Inputs())
			for j := range x {
				x[j] = r.NormFloat64()
			}
			p.Reference.Inputs = append(p.Reference.Inputs, x...)
			for _, y := range n.OutputsApprox(weights, x) {
				p.Reference.Logits = append(p.Reference.Logits, float64(float32(y)))
			}
		}
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		if c, err := Compare(p); err != nil || c.Compared != 6 {
			t.Fatalf("%+v, %v, of %v", c, err, n)
		}
		Doubts(p)
		for i := range p.Reference.Logits {
			p.Reference.Logits[i] += 1 + r.Float64()*float64(i)
		}
		if _, err := Compare(p); err == nil || !strings.Contains(err.Error(), "reference.logits") {
			t.Fatalf("logits of nothing fit: %v", err)
		}
	}
}
