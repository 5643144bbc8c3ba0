package posterior

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"psafe/host/model/network"
	"psafe/internal/testkit/networktest"
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

// TestMaskedCut: what is below the first layer of masks is certain, and feeds nothing else from there on.
func TestMaskedCut(t *testing.T) {
	relu := network.Activation{Kind: network.ReLU}
	layers := []Layer{{Layer: network.DenseLayer(2, 3, relu)}, {Layer: network.DenseLayer(3, 3, relu)}, {Layer: network.DenseLayer(3, 3, relu)},
		{Layer: network.Layer{Map: network.Add{N: 3, Terms: 2}}}, {Layer: network.DenseLayer(3, 2, network.Activation{})}}
	for k := range layers {
		layers[k].Weight.Mean, layers[k].Bias.Mean = make([]float64, layers[k].Weights()), make([]float64, layers[k].Biases())
	}
	for source, want := range map[int]int{-1: 0, 0: 1, 1: 2} { // what the sum takes beside layer 2
		layers[3].Sources = []int{2, source}
		if source < 0 {
			layers[0].Layer, layers[0].Weight.Mean = network.DenseLayer(3, 3, relu), make([]float64, 9)
		} else {
			layers[0].Layer, layers[0].Weight.Mean = network.DenseLayer(2, 3, relu), make([]float64, 6)
		}
		p, err := FromDropout(layers, []float64{0, 0, 0.5, 0, 0.5})
		if err != nil {
			t.Fatal(err)
		}
		if first, err := p.Masked(); err != nil || first != want {
			t.Errorf("beside %d: masks begin at layer %d, %v, want %d", source, first, err, want)
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
		p, err = FromDropout(g.Layers, rates)
		if c, conv := g.Layers[k].Map.(network.Conv); conv && c.Gain() {
			if err != nil {
				t.Fatal(err)
			}
			p.Draw(4, 1, w)
			for c, v := range w[2*k] { // a channel is dropped everywhere, or nowhere
				if mean := p.Mean()[2*k][c]; v != 0 && v != mean/0.75 {
					t.Errorf("gain %v of channel %d, the mean is %v", v, c, mean)
				}
			}
			if first, err := p.Masked(); err != nil || first > k {
				t.Errorf("masks begin at layer %d, layer %d has some, %v", first, k, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), "dropout is for dense layers") {
			t.Errorf("dropout of a %T: %v", g.Layers[k].Map, err)
		}
	}
}
