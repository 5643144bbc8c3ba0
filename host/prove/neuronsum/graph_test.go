package neuronsum

import (
	"strings"
	"testing"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
)

// TestRefusesGraphs: weights that are shared, and inputs that go past the hidden layer.
func TestRefusesGraphs(t *testing.T) {
	params := func(n int) posterior.Params {
		return posterior.NewParams(make([]float64, n), make([]float64, n), posterior.ScaleSD)
	}
	one := [2]int{1, 1}
	relu := network.Activation{Kind: network.ReLU}
	conv := network.Layer{Activation: relu, Map: network.Conv{In: network.Image{Height: 1, Width: 2, Channels: 1}, Window: network.Window{Size: one, Stride: one, Dilation: one}, Filters: 1, Groups: 1}}
	past := network.DenseLayer(4, 1, network.Activation{})
	past.Sources = []int{0, -1}
	for want, net := range map[string]network.Network{
		"layer 0 is a network.Conv":      {conv, network.DenseLayer(2, 1, network.Activation{})},
		"fed by the hidden layer alone":  {network.DenseLayer(2, 2, relu), past},
		"exactly one hidden layer, this": {network.DenseLayer(2, 2, relu), conv, network.DenseLayer(2, 1, network.Activation{})},
	} {
		p := &posterior.Posterior{Scale: posterior.ScaleSD}
		for _, l := range net {
			p.Layers = append(p.Layers, posterior.Layer{Layer: l, Weight: params(l.Weights()), Bias: params(l.Biases())})
		}
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		if _, err := New(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}
