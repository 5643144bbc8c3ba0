package check

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/host/check/record"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testscale"
)

// TestInputNoise: bounds with noise of the inputs are those of networks and noise that are drawn, once for all points
// of T; records pass and say no more than they may, and those of another noise do not pass.
func TestInputNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 2))
	lower, upper := 0, 0
	for i := range testscale.Cases(t, 45) {
		shape := [][]int{{2, 4, 3}, {1, 3, 3, 2}}[rng.IntN(2)]
		if i%5 == 4 {
			shape = []int{2, 3, 3, 3, 2}
		}
		post := checktest.RandomAbout(rng, 0, []float64{0, 0.03}[i%2], shape...)
		sd, std, eps := make([]float64, post.Inputs()), make([]float64, post.Inputs()), []float64{0, 0.125}[rng.IntN(2)]
		x, noises, stds, means := make([]float64, len(sd)), "", "", ""
		for k := range sd {
			x[k], std[k], sd[k] = math.Round(8*rng.NormFloat64())/8, []float64{0.25, 1, 2}[rng.IntN(3)], math.Ldexp(float64(1+rng.IntN(8)), -4)
			noises, stds, means = fmt.Sprintf("%s,%v", noises, sd[k]), fmt.Sprintf("%s,%v", stds, std[k]), means+",0.5"
		}
		j := jobOf(t, post, strings.ReplaceAll(strings.Trim(fmt.Sprint(x), "[]"), " ", ",")+"\n", []bound.Precision{bound.Float32, bound.Float64}[i/2%2])
		p := &j.Tasks.Points
		p.Eps, p.InputNoise, p.Mean, p.Std = fmt.Sprint(eps), "["+noises[1:]+"]", "["+means[1:]+"]", "["+stds[1:]+"]"
		if i%4 > 1 {
			p.Property = "argmax_is:0"
		}
		j.Method.By = new([]prove.Method{prove.CLBP, prove.Auto}[i%2])
		a, b := onlyTrue(t, j)
		lower, upper = lower+a, upper+b
		line := written(t, j)[0]
		r, err := record.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		more := changed(t, line, `"input_noise":"[^"]*",`, `"input_noise":"1000",`)
		loud := slices.Repeat([]float64{1000}, len(sd))
		if safe, _ := drawnSafe(rng, post, r, x, loud, std, eps, 200); r.PLower.Lo > 0.9 && safe < 150 && passes(t, more) == nil {
			t.Errorf("case %d: much more noise passes: %s", i, line)
		}
		const draws = 2000
		everywhere, here := drawnSafe(rng, post, r, x, sd, std, eps, draws)
		if allowed := checktest.Allows(1-r.PLower.Lo, draws); draws-everywhere > allowed {
			t.Errorf("case %d: p_lower %v, %d of %d leave S: %s", i, r.PLower.Lo, draws-everywhere, draws, line)
		}
		if allowed := checktest.Allows(r.PUpper.Hi, draws); eps == 0 && here > allowed {
			t.Errorf("case %d: p_upper %v, %d of %d are in S: %s", i, r.PUpper.Hi, here, draws, line)
		}
	}
	if t.Logf("%d lower bounds, %d upper", lower, upper); testscale.Factor(t) >= 0.1 && (lower == 0 || upper == 0) {
		t.Errorf("%d lower bounds, %d upper", lower, upper)
	}
}

// drawnSafe counts drawn networks, with noise that is drawn once for each, that keep the class at the corners of T and
// its middle, and at the middle.
func drawnSafe(rng *rand.Rand, post *posterior.Posterior, r *record.Record, x, sd, std []float64, eps float64, draws int) (everywhere, here int) {
	w, n := post.NewWeights(), len(x)
	z, xi := make([]float64, n), make([]float64, n)
	for d := range draws {
		post.Draw(7, d, w)
		for k := range xi {
			xi[k] = sd[k] * rng.NormFloat64()
		}
		pass, all := post.Network().NewPass(w), true
		for corner := range 1 + 1<<n {
			for k := range z {
				side := eps
				if corner>>k&1 == 1 {
					side = -eps
				}
				if corner == 1<<n {
					side = 0
				}
				z[k] = (x[k] + side + xi[k] - 0.5) / std[k]
			}
			y := pass.Forward(z)
			best := slices.Index(y, slices.Max(y))
			all = all && best == *r.Label
			if corner == 1<<n && best == *r.Label {
				here++
			}
		}
		if all {
			everywhere++
		}
	}
	return everywhere, here
}

// TestInputNoiseExact: of one certain unit y = x + xi, bounds of a box of outputs are the normal law's, also where
// noise takes inputs out of the interval that T is cut to.
func TestInputNoiseExact(t *testing.T) {
	post := checktest.OfLayers(posterior.Layer{Layer: checktest.RandomAbout(rand.New(rand.NewPCG(1, 1)), 0, 0, 1, 1).Layers[0].Layer, Weight: checktest.WeightsOf(1, 0, 1), Bias: checktest.WeightsOf(0, 0, 1)})
	for _, side := range []struct {
		s string
		p float64
	}{{"output_box:[-inf,1.5]", 0.9772498680518208}, {"output_box:[-inf,1.25]", 0.8413447460685429}, {"output_box:[0.25,inf]", 0.9986501019683699}, {"output_box:[1.25,inf]", 0.15865525393145707}} {
		j := jobOf(t, post, "1\n", bound.Float64)
		p := &j.Tasks.Points
		p.Property, p.InputNoise, p.Clip = side.s, "0.25", []string{"0", "1"}
		line := written(t, j)[0]
		r, err := record.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		if err := passes(t, line); err != nil || r.PLower.Lo > side.p || r.PUpper.Hi < side.p || min(side.p-r.PLower.Lo, r.PUpper.Hi-side.p) > 1e-9 {
			t.Errorf("%s: [%v, %v], %v; the probability is %v", side.s, r.PLower.Lo, r.PUpper.Hi, err, side.p)
		}
	}
}
