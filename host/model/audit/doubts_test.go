package audit_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"psafe/host/model/audit"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/format"
)

// net is a posterior of means drawn for these widths and of standard deviations sd, stored
// as a file of psafe stores them.
func net(sd float64, widths ...int) *posterior.Posterior {
	r := rand.New(rand.NewPCG(1, 9))
	p := &posterior.Posterior{Scale: posterior.ScaleSD, Source: posterior.Source{Format: "psafe"}}
	for k, out := range widths[1:] {
		params := func(n int) posterior.Params {
			mean, spread := make([]float64, n), make([]float64, n)
			for j := range mean {
				mean[j], spread[j] = r.NormFloat64()/math.Sqrt(float64(widths[k])), sd
			}
			return posterior.NewParams(mean, spread, p.Scale)
		}
		p.Layers = append(p.Layers, posterior.Layer{Layer: network.DenseLayer(widths[k], out, network.Activation{Kind: network.ReLU}), Weight: params(widths[k] * out), Bias: params(out)})
	}
	p.Layers[len(p.Layers)-1].Activation = network.Activation{}
	return p
}

// refer gives p n references from 0 to top, of its own logits.
func refer(p *posterior.Posterior, n int, top float64) *posterior.Posterior {
	r := rand.New(rand.NewPCG(2, 9))
	p.Reference = &posterior.Reference{}
	for range n {
		x := make([]float64, p.Inputs())
		for j := range x {
			x[j] = top * r.Float64()
		}
		p.Reference.Inputs = append(p.Reference.Inputs, x...)
		p.Reference.Logits = append(p.Reference.Logits, p.LogitsApprox(p.Input.NormaliseApprox(x))...)
	}
	return p
}

// bipolar normalises reference inputs of 0 to 1 as for MNIST.
func bipolar(p *posterior.Posterior) *posterior.Posterior {
	for j, x := range p.Reference.Inputs {
		p.Reference.Inputs[j] = (x - 0.1307) / 0.3081
	}
	return p
}

func TestDoubts(t *testing.T) {
	blind := refer(net(0.01, 8, 12, 12, 3), 2, 0) // at 0 with no biases, no weight matters
	for k := range blind.Layers {
		clear(blind.Layers[k].Bias.Mean)
	}
	clear(blind.Reference.Logits)
	foreign := net(0.01, 8, 12, 12, 3)
	foreign.Source.Format = "uai2020"
	again := net(0.01, 8, 12, 12, 3)
	again.Source.Origin = &posterior.Source{Format: "psafe"}
	softplus := net(0.01, 8, 12, 3)
	for _, g := range softplus.Params() {
		*g = posterior.NewParams(g.Mean, g.Spread, posterior.ScaleSoftplus)
	}
	softplus.Scale = posterior.ScaleSoftplus
	mapped := net(0.01, 8, 12, 12, 3)
	mapped.Source.Origin = &posterior.Source{Format: "npz with a map"}
	positive := refer(net(0.01, 8, 12, 3), 4, 0.01)
	for j := range positive.Layers[0].Bias.Mean { // relu never acts
		positive.Layers[0].Bias.Mean[j] = 3
	}
	positive = refer(positive, 4, 0.01)
	small := net(0.01, 8, 12, 12, 3) // what float32 shows, TF32 does not
	for _, g := range []*posterior.Params{&small.Layers[1].Weight, &small.Layers[0].Weight} {
		for e := range g.Mean {
			g.Mean[e] *= 1e-3
		}
	}
	small = refer(small, 4, 1)
	half := net(1e-6, 8, 12, 3) // its reference.spread is of one layer only
	half.Reference = &posterior.Reference{Spread: []float64{1e-6, 1e-6, math.NaN(), math.NaN()}}
	whole := net(1e-6, 8, 12, 3)
	whole.Reference = &posterior.Reference{Spread: []float64{1e-6, 1e-6, 1e-6, 1e-6}}
	symmetric := net(0.01, 8, 12, 12, 3)
	for e := range symmetric.Layers[1].Weight.Mean {
		symmetric.Layers[1].Weight.Mean[e] = float64(e%12*(e/12)) / 100
	}
	for _, test := range []struct {
		name string
		p    *posterior.Posterior
		want string
	}{
		{"nothing", net(0.01, 8, 12, 3), ""},
		{"square", net(0.01, 8, 12, 12, 3), "layer 1 is square (12 x 12), so its shape does not show whether the file has it transposed: let the file carry reference logits"},
		{"two squares", net(0.01, 12, 12, 12, 3), "layers 0, 1 are square"},
		{"square with references", refer(net(0.01, 8, 12, 12, 3), 4, 1), ""},
		{"square with blind references", blind, "its reference inputs do not show it; write others"},
		{"square of another format", foreign, ""},
		{"square, converted", again, "layer 1 is square"},
		{"square, imported with a map", mapped, "layer 1 is square"},
		{"inputs that show no activation", positive, "do not show which activation the hidden layers have, relu as well as identity, leaky_relu:0.01"},
		{"square, small weights with references", small, ""},
		{"symmetric", symmetric, ""},
		{"variances", net(1e-6, 8, 12, 3), "as if variances had been taken for standard deviations"},
		{"variances, half of them compared", half, "as if variances"},
		{"small, all compared", whole, ""},
		{"precisions", net(1e4, 8, 12, 3), "standard deviations are very large"},
		{"none", net(0, 8, 12, 3), "every standard deviation is 0"},
		{"sd as softplus", softplus, "no stored spread is negative, though the scale is softplus, which makes every standard deviation at least 0.7"},
	} {
		if err := test.p.Validate(); err != nil {
			t.Fatal(err)
		}
		list := audit.Doubts(test.p)
		if test.want == "" && len(list) > 0 || test.want != "" && (len(list) != 1 || !strings.Contains(list[0].String(), test.want) || strings.Contains(list[0].String(), "\n")) {
			t.Errorf("%s: %q, want %q", test.name, list, test.want)
		}
	}
}

func TestDoubtInputs(t *testing.T) {
	pixels := audit.Data{Lo: 0, Hi: 255, RMS: 80, Whole: true}
	normalised := net(0.01, 64, 12, 3)
	normalised.Input.Std = []float64{255}
	for _, test := range []struct {
		name string
		p    *posterior.Posterior
		d    audit.Data
		want string
	}{
		{"pixels", net(0.01, 64, 12, 3), pixels, "--input-scale 1/255"},
		{"pixels over 255", net(0.01, 64, 12, 3), audit.Data{Lo: 0, Hi: 1, RMS: 0.3}, ""},
		{"pixels that the network divides itself", normalised, pixels, ""},
		{"pixels, and reference inputs like them", refer(net(0.01, 64, 12, 3), 4, 255), pixels, ""},
		{"small table of whole numbers", net(0.01, 4, 12, 3), pixels, ""},
		{"not normalised", bipolar(refer(net(0.01, 64, 12, 3), 4, 1)), audit.Data{Lo: 0, Hi: 1, RMS: 0.3}, "--mean and --std of the training script (about 0.1"},
		{"normalised as the references", bipolar(refer(net(0.01, 64, 12, 3), 4, 1)), audit.Data{Lo: -0.4, Hi: 2.8, RMS: 1}, ""},
		{"normalised, the references not", refer(net(0.01, 64, 12, 3), 4, 1), audit.Data{Lo: -0.42, Hi: 2.8, RMS: 1}, "normalised already: give raw ones"},
		{"a table", bipolar(refer(net(0.01, 8, 12, 3), 40, 1)), audit.Data{Lo: 0, Hi: 1, RMS: 0.3}, ""},
		{"beyond the references", refer(net(0.01, 64, 12, 3), 4, 1), audit.Data{Lo: 0, Hi: 3, RMS: 1}, "inputs reach from 0 to 3, the reference inputs of the posterior only from 0."},
		{"within the references", refer(net(0.01, 64, 12, 3), 4, 1), audit.Data{Lo: 0, Hi: 1.5, RMS: 1}, ""},
		{"far smaller than the references", refer(net(0.01, 64, 12, 3), 4, 255), audit.Data{Lo: 0, Hi: 1, RMS: 0.3}, "inputs reach from 0 to 1 only"},
		{"no inputs", net(0.01, 64, 12, 3), audit.Describe(), ""},
	} {
		list := audit.DoubtInputs(test.p, test.d)
		if test.want == "" && len(list) > 0 || test.want != "" && (len(list) != 1 || !strings.Contains(list[0].String(), test.want)) {
			t.Errorf("%s: %q, want %q", test.name, list, test.want)
		}
	}
	if d := audit.Describe([]float64{0, 3}, []float64{4}); d != (audit.Data{Lo: 0, Hi: 4, RMS: math.Sqrt(25. / 3), Whole: true}) {
		t.Errorf("%+v", d)
	}
}

// No posterior of this project is doubted, not even one with a square layer, which psafe train
// has made itself; and none of the published ones, whose formats say which way round. Files of
// psafe's own format that another program wrote without reference logits do not say that.
func TestDoubtsOfGoodFiles(t *testing.T) {
	files, err := filepath.Glob("../../../testdata/*.npz")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, path := range files {
		p, err := format.Read(path, format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if list := audit.Doubts(p); len(list) > 0 {
			t.Errorf("%s: %q", path, list)
		}
	}
	dir := os.Getenv("PSAFE_DATA")
	if dir == "" {
		dir = "../../../../shared/data"
	}
	files, _ = filepath.Glob(dir + "/*/*")
	read := 0
	for _, path := range files {
		for _, opt := range []format.Options{{}, {Scale: posterior.ScaleSD}, {Scale: posterior.ScaleSD, Activations: []network.Activation{{Kind: network.ReLU}}}} {
			p, err := format.Read(path, opt)
			if err != nil {
				continue
			}
			read++
			list := audit.Doubts(p)
			if strings.HasSuffix(path, ".npz") && p.Reference == nil {
				list = slices.DeleteFunc(list, func(d audit.Doubt) bool { return strings.Contains(fmt.Sprint(d), "is square") })
			}
			if len(list) > 0 {
				t.Errorf("%s: %q", path, list)
			}
			break
		}
	}
	t.Logf("%d published posteriors", read)
}
