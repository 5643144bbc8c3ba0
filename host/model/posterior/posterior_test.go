package posterior

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"psafe/host/model/network"
)

func TestLogitsApprox(t *testing.T) {
	// Worked by hand: zeta = (1*1+(-4)*2, -2*1+5*2+0.25, 3*1-6*2-0.25)
	// = (-7, 8.25, -9.25), after leaky ReLU with slope 0.01 (-0.07, 8.25, -0.0925).
	p := small(ScaleSD)
	p.Layers[1].Weight.Mean = []float64{1, 0, 0, 1, 2, 3}
	got := p.LogitsApprox([]float64{1, 2})
	want := []float64{-0.07 - 2*0.0925 + 7, 8.25 - 3*0.0925 + 8}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-12 {
			t.Errorf("logit %d is %v, want %v", i, got[i], want[i])
		}
	}
}

func TestActivationApprox(t *testing.T) {
	for _, test := range []struct {
		kind    network.Kind
		t, want float64
	}{
		{network.Identity, -2, -2}, {network.ReLU, -2, 0}, {network.ReLU, 2, 2}, {network.LeakyReLU, -2, -0.5}, {network.LeakyReLU, 2, 2},
		{network.Tanh, math.Log(3) / 2, 0.5}, {network.Sigmoid, math.Log(3), 0.75},
	} {
		a := network.Activation{Kind: test.kind}
		if test.kind == network.LeakyReLU {
			a.Slope = 0.25
		}
		if got := a.Approx(test.t); math.Abs(got-test.want) > 1e-15 {
			t.Errorf("%v(%v) is %v, want %v", a, test.t, got, test.want)
		}
	}
}

func TestSpreadSummary(t *testing.T) {
	s := small(ScaleSD).SpreadSummary()
	if len(s) != 2 || s[0].Weight != (Spread{[5]float64{0, 0.125, 0.75, 1.75, 4}, 6, 4}) || s[0].Bias != (Spread{N: 3}) || s[1].Bias.Quantiles[4] != 0.75 {
		t.Errorf("%+v", s)
	}
}

func TestValidate(t *testing.T) {
	for want, change := range map[string]func(p *Posterior){
		"no layers":        func(p *Posterior) { p.Layers = nil },
		"is empty":         func(p *Posterior) { p.Layers[0].Map = network.Dense{In: 0, Out: 3} },
		"do not chain":     func(p *Posterior) { p.Layers[1].Map = network.Dense{In: 2, Out: 2} },
		"5 means":          func(p *Posterior) { g := &p.Layers[0].Weight; g.Mean = g.Mean[:5] },
		"2 sd bounds":      func(p *Posterior) { g := &p.Layers[0].Bias; g.SdLo = g.SdLo[:2] },
		"has activation":   func(p *Posterior) { p.Layers[1].Activation.Kind = network.ReLU },
		"mean[2] is NaN":   func(p *Posterior) { p.Layers[0].Bias.Mean[2] = math.NaN() },
		"deviation[1] is ": func(p *Posterior) { p.Layers[0].Bias.SdLo[1] = 2 },
	} {
		p := small(ScaleSD)
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		change(p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// small is a 2-3-2 network. All its numbers are float32.
func small(scale Scale) *Posterior {
	return &Posterior{
		Scale: scale,
		Layers: []Layer{
			{Layer: network.DenseLayer(2, 3, network.Activation{Kind: network.LeakyReLU, Slope: 0.01}), Weight: NewParams([]float64{1, -2, 3, -4, 5, -6}, []float64{0, .5, 1, 2, 4, 0}, scale), Bias: NewParams([]float64{0, 0.25, -0.25}, []float64{0, 0, 0}, scale)},
			{Layer: network.DenseLayer(3, 2, network.Activation{}), Weight: NewParams([]float64{1e-30, math.MaxFloat32, 0, 1, 2, 3}, []float64{1, 1, 1, 1, 1, 0.125}, scale), Bias: NewParams([]float64{7, 8}, []float64{0.5, 0.75}, scale)},
		},
		Source: Source{Note: "by hand \"quoted\" <&>"},
	}
}

// random is a 4-5-3 network of numbers that need float64.
func random(scale Scale) *Posterior {
	r := rand.New(rand.NewPCG(5, 6))
	draw := func(n int, f func() float64) []float64 {
		values := make([]float64, n)
		for i := range values {
			values[i] = f()
		}
		return values
	}
	p := &Posterior{Scale: scale}
	for _, shape := range [][2]int{{4, 5}, {5, 3}} {
		in, out := shape[0], shape[1]
		p.Layers = append(p.Layers, Layer{Layer: network.DenseLayer(in, out, network.Activation{Kind: network.Tanh}), Weight: NewParams(draw(in*out, r.NormFloat64), draw(in*out, r.ExpFloat64), scale), Bias: NewParams(draw(out, r.NormFloat64), draw(out, r.ExpFloat64), scale)})
	}
	p.Layers[1].Activation = network.Activation{}
	return p
}
