package posterior

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"psafe/host/lab/testkit/networktest"
	"psafe/host/model/network"
	"psafe/internal/testscale"
)

// randomGraph is a random network of every kind of map with normal weights.
func randomGraph(r *rand.Rand) *Posterior {
	n := networktest.Random(r, network.Activation{Kind: network.ReLU})
	weights := networktest.Weights(r, n)
	p := &Posterior{Scale: ScaleSD}
	for k, l := range n {
		params := func(mean []float64) Params {
			return NewParams(mean, slices.Repeat([]float64{0.5}, len(mean)), ScaleSD)
		}
		p.Layers = append(p.Layers, Layer{Layer: l, Weight: params(weights[2*k]), Bias: params(weights[2*k+1])})
	}
	return p
}

// TestGraphs: posteriors of graphs are valid, drawn with one number for each shared weight, and
// summarised; layers without weights have no numbers.
func TestGraphs(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 31))
	for range testscale.Cases(t, 500) {
		p := randomGraph(r)
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		w := p.NewWeights()
		p.Draw(3, 1, w)
		count := 0
		for a, g := range p.Params() {
			l := p.Layers[a/2]
			if want := []int{l.Weights(), l.Biases()}[a%2]; len(w[a]) != want || len(g.Mean) != want {
				t.Fatalf("%d numbers for %d parameters", len(w[a]), want)
			}
			for i, v := range w[a] {
				if v == g.Mean[i] || math.Abs(v-g.Mean[i]) > 4 {
					t.Errorf("draw %v of N(%v, 1/4)", v, g.Mean[i])
				}
			}
			count += len(g.Mean)
		}
		if p.Weights() != count || p.Random() != count || len(p.SpreadSummary()) != len(p.Layers) {
			t.Errorf("%d weights, %d random, of %d", p.Weights(), p.Random(), count)
		}
		if y := p.LogitsApprox(make([]float64, p.Inputs())); len(y) != p.Outputs() {
			t.Errorf("%d logits", len(y))
		}
	}
}

// TestGraphDropout: rates are refused where layers are not dense; elsewhere weights stay.
func TestGraphDropout(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 32))
	for range testscale.Cases(t, 500) {
		g := randomGraph(r)
		rates := make([]float64, len(g.Layers))
		rates[len(rates)-1] = 0.5
		p, err := FromDropout(g.Layers, rates)
		if err != nil {
			t.Fatal(err)
		}
		w := p.NewWeights()
		p.Draw(3, 1, w)
		for a := range w[:len(w)-2] {
			if !slices.Equal(w[a], p.Mean()[a]) {
				t.Errorf("layer %d was dropped", a/2)
			}
		}
		for _, v := range w[len(w)-2] {
			if v != 0 && !slices.Contains(p.Mean()[len(w)-2], v/2) {
				t.Errorf("weight %v", v)
			}
		}
		k := r.IntN(len(rates) - 1)
		rates[k] = 0.25
		if _, err := FromDropout(g.Layers, rates); err == nil || !strings.Contains(err.Error(), "dropout is for dense layers") {
			t.Errorf("dropout of a %T: %v", g.Layers[k].Map, err)
		}
	}
}
