package posterior

import (
	"slices"
	"testing"

	"psafe/host/model/network"
)

// flatPosterior has parameters of which two are random: a weight and the last bias.
func flatPosterior() *Posterior {
	relu := network.Activation{Kind: network.ReLU}
	return &Posterior{Scale: ScaleSD, Layers: []Layer{
		{Layer: network.DenseLayer(2, 1, relu), Weight: NewParams([]float64{1, 2}, []float64{0, 2}, ScaleSD), Bias: NewParams([]float64{3}, []float64{0}, ScaleSD)},
		{Layer: network.DenseLayer(1, 1, network.Activation{}), Weight: NewParams([]float64{4}, []float64{0}, ScaleSD), Bias: NewParams([]float64{5}, []float64{0.5}, ScaleSD)},
	}}
}

func TestFlat(t *testing.T) {
	p := flatPosterior()
	f := p.Flat()
	if !slices.Equal(f.Mean, []float64{1, 2, 3, 4, 5}) || !slices.Equal(f.SdLo, []float64{0, 2, 0, 0, 0.5}) || !slices.Equal(f.SdHi, f.SdLo) {
		t.Errorf("%v", f)
	}
}

func TestRandom(t *testing.T) {
	p := flatPosterior()
	if p.Random() != 2 || p.Layers[0].Random() != 1 || p.Layers[0].Bias.Random() != 0 {
		t.Errorf("%d random parameters, %d in layer 0", p.Random(), p.Layers[0].Random())
	}
	p.Layers[0].Bias.SdHi[0] = 1e-300 // may be above 0
	if p.Random() != 3 {
		t.Errorf("%d random parameters", p.Random())
	}
}

func TestAtMean(t *testing.T) {
	p, err := FromDropout(flatPosterior().Layers, []float64{0, 0.5})
	if err != nil {
		t.Fatal(err)
	}
	c := p.AtMean()
	if err := c.Validate(); err != nil || !c.Independent() || c.Random() != 0 {
		t.Errorf("%v, %d random parameters: %v", c.Kind, c.Random(), err)
	}
	for a, m := range c.Mean() {
		if !slices.Equal(m, p.Mean()[a]) {
			t.Errorf("array %d: mean %v, want %v", a, m, p.Mean()[a])
		}
	}
	if p.Layers[0].Weight.SdHi != nil || p.Kind != KindDropout {
		t.Error("the posterior itself changed")
	}
}

// TestLastRandom: the last random layers keep their standard deviations, those below have none, layers without any
// do not count, and p is as it was.
func TestLastRandom(t *testing.T) {
	some := small(ScaleSD)
	last := &some.Layers[len(some.Layers)-1]
	last.Weight = NewParams(last.Weight.Mean, make([]float64, len(last.Weight.Mean)), ScaleSD)
	last.Bias = NewParams(last.Bias.Mean, make([]float64, len(last.Bias.Mean)), ScaleSD)
	for certain, p := range []*Posterior{small(ScaleSD), some} {
		all := p.Random()
		random, layers := p.RandomLayers()
		if layers != len(p.Layers) || random != layers-certain {
			t.Fatalf("%d random layers of %d", random, layers)
		}
		for n := range random + 1 {
			cut := p.LastRandom(n)
			for k := range p.Layers {
				want := 0
				if k >= random-n {
					want = p.Layers[k].Random()
				}
				if got := cut.Layers[k].Random(); got != want {
					t.Errorf("the last %d of %d random layers: layer %d has %d random weights, want %d", n, random, k, got, want)
				}
			}
			if err := cut.Validate(); err != nil || p.Random() != all {
				t.Errorf("%v, %d of %d", err, p.Random(), all)
			}
		}
	}
}
