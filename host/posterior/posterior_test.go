package posterior

import (
	"math"
	"strings"
	"testing"
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
		kind    ActivationKind
		t, want float64
	}{
		{Identity, -2, -2}, {ReLU, -2, 0}, {ReLU, 2, 2}, {LeakyReLU, -2, -0.5}, {LeakyReLU, 2, 2},
		{Tanh, math.Log(3) / 2, 0.5}, {Sigmoid, math.Log(3), 0.75},
	} {
		a := Activation{Kind: test.kind}
		if test.kind == LeakyReLU {
			a.Slope = 0.25
		}
		if got := a.Approx(test.t); math.Abs(got-test.want) > 1e-15 {
			t.Errorf("%v(%v) is %v, want %v", a, test.t, got, test.want)
		}
	}
}

func TestSpreadSummary(t *testing.T) {
	s := small(ScaleSD).SpreadSummary()
	if len(s) != 2 || s[0].Weight != [5]float64{0, 0.125, 0.75, 1.75, 4} || s[0].Bias != [5]float64{} || s[1].Bias[4] != 0.75 {
		t.Errorf("%+v", s)
	}
}

func TestValidate(t *testing.T) {
	for want, change := range map[string]func(p *Posterior){
		"no layers":        func(p *Posterior) { p.Layers = nil },
		"is empty":         func(p *Posterior) { p.Layers[0].In = 0 },
		"do not chain":     func(p *Posterior) { p.Layers[1].In = 2 },
		"5 means":          func(p *Posterior) { g := &p.Layers[0].Weight; g.Mean = g.Mean[:5] },
		"2 sd bounds":      func(p *Posterior) { g := &p.Layers[0].Bias; g.SdLo = g.SdLo[:2] },
		"has activation":   func(p *Posterior) { p.Layers[1].Activation.Kind = ReLU },
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
