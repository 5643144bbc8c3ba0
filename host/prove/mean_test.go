package prove_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	"psafe/host/lab/testkit/provetest"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// meansApprox are the means of the outputs at x: of a set over its networks, of one hidden layer of ReLU
// by E max(t, 0) = m Phi(m/s) + s phi(m/s).
func meansApprox(post *posterior.Posterior, x []float64) []float64 {
	mean := make([]float64, post.Outputs())
	if s := post.Networks(); s != nil {
		for n, count := range s.Counts {
			for i, y := range post.Network().OutputsApprox(s.Weights(n), x) {
				mean[i] += float64(count) / float64(s.Total()) * y
			}
		}
		return mean
	}
	first, last := post.Layers[0], post.Layers[1]
	copy(mean, last.Bias.Mean)
	in, hidden := first.Inputs(), first.Outputs()
	for j := range hidden {
		m, v := first.Bias.Mean[j], first.Bias.SdHi[j]*first.Bias.SdHi[j]
		for i := range in {
			m += first.Weight.Mean[i*hidden+j] * x[i]
			v += math.Pow(first.Weight.SdHi[i*hidden+j]*x[i], 2)
		}
		relu := max(m, 0)
		if s := math.Sqrt(v); s > 0 {
			relu = m*0.5*math.Erfc(-m/s/math.Sqrt2) + s*math.Exp(-m*m/s/s/2)/math.Sqrt(2*math.Pi)
		}
		for i := range mean {
			mean[i] += last.Weight.Mean[j*len(mean)+i] * relu
		}
	}
	return mean
}

// TestMeans: bounds of means hold on a grid of T and are near what is there; a box that holds the means
// is safe, and one that does not is refuted.
func TestMeans(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 7))
	verdicts := map[string]int{}
	for n := range testscale.Cases(t, 200) {
		var post *posterior.Posterior
		if n%2 == 0 {
			post = setOf(t, r, 5, network.Activation{Kind: network.Tanh}, [][]int{{1, 4, 2}, {2, 3, 1}}[n/2%2]...)
		} else {
			post = provetest.Noisy(r, []float64{0.05, 1}[n/2%2], false, [][]int{{1, 6, 1}, {2, 4, 2}}[n/4%2]...)
		}
		box := randomBox(r, post.Inputs())
		words := "output_box:[-0.5,1e3]"
		if post.Outputs() == 2 {
			words = "output_box:[-1e3,0.7],[,]"
		}
		s, _, err := property.ParseSpec(words, post.Outputs())
		if err != nil {
			t.Fatal(err)
		}
		task := property.Task{Index: n, Label: -1, T: []property.Box{box}, Inner: []property.Box{box}, S: s}
		cfg := prove.Config{Method: prove.CLBP, Mean: true, Cells: 60}
		if post.Networks() != nil {
			cfg.Method = prove.Finite
		}
		m := run(t, []bound.Precision{bound.Float32, bound.Float64}[n%2], post, cfg, task)[0].Mean
		verdicts[m.Verdict(&s)]++
		least, most := make([]float64, post.Outputs()), make([]float64, post.Outputs())
		for i := range least {
			least[i], most[i] = math.Inf(1), math.Inf(-1)
		}
		size := 0.0
		for _, x := range gridOf(12, box) {
			for i, y := range meansApprox(post, x) {
				least[i], most[i], size = min(least[i], y), max(most[i], y), max(size, math.Abs(y))
			}
		}
		for i := range least {
			if off := 1e-12 * (1 + size); m.Lower[i] > least[i]+off || m.Upper[i] < most[i]-off {
				t.Errorf("%d: output %d is said to be in [%v, %v], it is in [%v, %v]", n, i, m.Lower[i], m.Upper[i], least[i], most[i])
			}
			if wide := (m.Upper[i] - m.Lower[i]) - (most[i] - least[i]); post.Inputs() == 1 && wide > 0.2*(1+size) {
				t.Errorf("%d: output %d: [%v, %v] is %v wider than the means", n, i, m.Lower[i], m.Upper[i], wide)
			}
			if w := m.Proof.Witness; w != nil {
				x, err := box.DecodePoint(w.At)
				if err != nil {
					t.Fatal(err)
				}
				if y := meansApprox(post, x); claim.HoldsOn(&s, y, y) {
					t.Errorf("%d: at the witness the mean %v is in the box", n, y)
				}
			}
		}
	}
	t.Log(verdicts)
	if verdicts[claim.MeanSafe] < 1 || verdicts[claim.MeanUnsafe] < 2 {
		t.Errorf("%v", verdicts)
	}
}
