package prove_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/read/property"
	"psafe/internal/testkit/provetest"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// momentsApprox are the means and deviations of the outputs at x, and what they may be off by: of a set over
// its networks; of one hidden layer of ReLU by E max(t, 0) = m Phi(m/s) + s phi(m/s), and by
// E max(t, 0)^2 = (m^2 + s^2) Phi(m/s) + m s phi(m/s); else of drawn networks.
func momentsApprox(post *posterior.Posterior, x []float64) (mean, sd, off []float64) {
	mean, sd = make([]float64, post.Outputs()), make([]float64, post.Outputs())
	off = make([]float64, post.Outputs())
	square := make([]float64, post.Outputs())
	add := func(y []float64, share float64) {
		for i, v := range y {
			mean[i] += share * v
			square[i] += share * v * v
		}
	}
	if post.Dropout() != nil {
		sumtest.EachMask(post, func(p float64, w [][]float64) { add(post.Network().OutputsApprox(w, x), p) })
	} else if s := post.Networks(); s != nil {
		for n, count := range s.Counts {
			add(post.Network().OutputsApprox(s.Weights(n), x), float64(count)/float64(s.Total()))
		}
	} else if len(post.Layers) > 2 {
		const draws = 1500
		w := post.NewWeights()
		for n := range draws {
			post.Draw(7, n, w)
			add(post.Network().OutputsApprox(w, x), 1.0/draws)
		}
		for i := range off { // tails are about normal
			off[i] = 6 * math.Sqrt(square[i]-mean[i]*mean[i]) / math.Sqrt(draws)
		}
	} else {
		first, last := post.Layers[0], post.Layers[1]
		in, hidden := first.Inputs(), first.Outputs()
		for i := range mean {
			mean[i] = last.Bias.Mean[i]
			square[i] = last.Bias.SdHi[i] * last.Bias.SdHi[i]
		}
		for j := range hidden {
			m, v := first.Bias.Mean[j], first.Bias.SdHi[j]*first.Bias.SdHi[j]
			for i := range in {
				m += first.Weight.Mean[i*hidden+j] * x[i]
				v += math.Pow(first.Weight.SdHi[i*hidden+j]*x[i], 2)
			}
			relu, both := max(m, 0), max(m, 0)*max(m, 0)
			if s := math.Sqrt(v); s > 0 {
				above, density := 0.5*math.Erfc(-m/s/math.Sqrt2), s*math.Exp(-m*m/s/s/2)/math.Sqrt(2*math.Pi)
				relu, both = m*above+density, (m*m+v)*above+m*density
			}
			for i := range mean {
				w, sd := last.Weight.Mean[j*len(mean)+i], last.Weight.SdHi[j*len(mean)+i]
				mean[i] += w * relu
				square[i] += w*w*(both-relu*relu) + sd*sd*both
			}
		}
		for i := range mean {
			square[i] += mean[i] * mean[i]
		}
	}
	for i := range mean {
		sd[i] = math.Sqrt(max(0, square[i]-mean[i]*mean[i]))
		off[i] += 1e-12 * (1 + math.Sqrt(square[i]))
	}
	return mean, sd, off
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
			sizes := [][]int{{1, 6, 1}, {2, 4, 2}, {1, 5, 4, 1}}[n/4%3]
			if post = provetest.Noisy(r, []float64{0.05, 1}[n/2%2], false, sizes...); n%4 == 1 {
				post = sumtest.RandomMasked(r, network.Activation{Kind: network.ReLU}, r.IntN(len(sizes)-1), sizes...)
			}
		}
		onTop := post.Dropout() == nil || slices.IndexFunc(post.Dropout(), func(p float64) bool { return p > 0 }) == len(post.Layers)-1
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
		points := gridOf(12, box)
		wide := n/2%2 == 1 && len(post.Layers) > 2 // means of three layers are loose then
		drawn := post.Networks() == nil && post.Dropout() == nil && len(post.Layers) > 2
		if drawn {
			points = gridOf(2, box)
		}
		for i := range post.Outputs() {
			least, most, narrow, largest, size := math.Inf(1), math.Inf(-1), math.Inf(1), 0.0, 0.0
			for _, x := range points {
				mean, sd, off := momentsApprox(post, x)
				if m.Lower[i] > mean[i]+off[i] || m.Upper[i] < mean[i]-off[i] {
					t.Errorf("%d: output %d is said to be in [%v, %v], it is %v", n, i, m.Lower[i], m.Upper[i], mean[i])
				}
				if m.DeviationLower[i] > sd[i]+math.Sqrt(off[i]*off[i]+1e-9*off[i])+1e-6*sd[i] || m.DeviationUpper[i] < sd[i]-off[i]-1e-6*sd[i] {
					t.Errorf("%d: the deviation of output %d is said to be in [%v, %v], it is %v", n, i, m.DeviationLower[i], m.DeviationUpper[i], sd[i])
				}
				least, most, narrow, largest, size = min(least, mean[i]), max(most, mean[i]), min(narrow, sd[i]), max(largest, sd[i]), max(size, math.Abs(mean[i])+sd[i])
			}
			if loose := (m.Upper[i] - m.Lower[i]) - (most - least); onTop && !wide && post.Inputs() == 1 && loose > 0.2*(1+size) {
				t.Errorf("%d: output %d: [%v, %v] is %v wider than the means", n, i, m.Lower[i], m.Upper[i], loose)
			}
			if loose := max(m.DeviationUpper[i]-largest, narrow-m.DeviationLower[i]); onTop && post.Inputs() == 1 && !drawn && loose > 0.2*(1+size) {
				t.Errorf("%d: output %d: deviations [%v, %v], they are in [%v, %v]", n, i, m.DeviationLower[i], m.DeviationUpper[i], narrow, largest)
			}
		}
		if w := m.Proof.Witness; w != nil && !drawn {
			x, err := box.DecodePoint(w.At)
			if err != nil {
				t.Fatal(err)
			}
			if y, _, _ := momentsApprox(post, x); claim.HoldsOn(&s, y, y) {
				t.Errorf("%d: at the witness the mean %v is in the box", n, y)
			}
		}
	}
	t.Log(verdicts)
	if !testing.Short() && (verdicts[claim.MeanSafe] < 1 || verdicts[claim.MeanUnsafe] < 2) { // -short is with few cases
		t.Errorf("%v", verdicts)
	}
}
