package prove_test

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/read/format"
	"psafe/host/read/property"
	"psafe/internal/testkit/provetest"
	"psafe/internal/testscale"
)

// published reads a posterior of the real data.
func published(t *testing.T, elem ...string) *posterior.Posterior {
	t.Helper()
	post, err := format.Read(shared(t, append([]string{"data"}, elem...)...), format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return post
}

// TestRealMeans: means of a regression network are inside of the intervals of BNN-DP, and at most a tenth wider
// than what draws show.
func TestRealMeans(t *testing.T) {
	post := published(t, "bnndp", "noisy_sine_1_256.npz")
	text, err := os.ReadFile(shared(t, "expected", "bnndp.json"))
	if err != nil {
		t.Fatal(err)
	}
	var known struct {
		Sine struct {
			Boxes []struct {
				Centre, Radius float64
				BNNDP, Sampled [2]float64
			}
		} `json:"noisy_sine_1_256"`
	}
	if err := json.Unmarshal(text, &known); err != nil || len(known.Sine.Boxes) != 3 {
		t.Fatal(err, known)
	}
	s, _, err := property.ParseSpec("output_box:[-9,9]", 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range known.Sine.Boxes {
		task := property.Task{Label: -1, T: []property.Box{provetest.BoxAround([]float64{b.Centre}, b.Radius)}, S: s}
		task.Inner = task.T
		m := run(t, bound.Float64, post, prove.Config{Method: prove.CLBP, Mean: true, NoUpper: true}, task)[0].Mean
		lo, hi, share := m.Lower[0], m.Upper[0], 0.1*(b.Sampled[1]-b.Sampled[0])
		const digits = 1e-4 // of their intervals; what draws show is off by some thousandths
		if lo < b.BNNDP[0]-digits || hi > b.BNNDP[1]+digits {
			t.Errorf("around %v: from %v to %v, BNN-DP has %v", b.Centre, lo, hi, b.BNNDP)
		}
		if lo < b.Sampled[0]-share || hi > b.Sampled[1]+share || lo > b.Sampled[0]+0.004 || hi < b.Sampled[1]-0.004 {
			t.Errorf("around %v: from %v to %v, drawn are %v", b.Centre, lo, hi, b.Sampled)
		}
	}
}

// TestRealSets: decisions and means of the HMC samples of published networks are known, and are what enumeration
// says at the points.
func TestRealSets(t *testing.T) {
	hcas, running := published(t, "journal", "hcas_hmc_125"), published(t, "journal", "running_hmc_tanh")
	average := func(post *posterior.Posterior, x []float64, of func(y []float64) []float64) []float64 {
		sum := make([]float64, post.Outputs())
		set := post.Networks()
		for i, count := range set.Counts {
			for k, v := range of(post.Network().OutputsApprox(set.Weights(i), x)) {
				sum[k] += v * float64(count) / float64(set.Total())
			}
		}
		return sum
	}
	for _, x := range testscale.Few(t, [][]float64{{0, 0, 0}, {0.3, -0.2, 0.1}, {-0.4, 0.4, 0.2}, {0.1, 0.1, -0.4}}, 2) {
		for _, eps := range []float64{0.01, 0.1} {
			pi := average(hcas, x, shares)
			task := property.Task{Label: slices.Index(pi, slices.Max(pi)), T: []property.Box{provetest.BoxAround(x, eps)}}
			task.S, task.Inner = property.ArgmaxIs(task.Label, len(pi)), task.T
			d := run(t, bound.Float64, hcas, prove.Config{Method: prove.Finite, Decision: true}, task)[0].Decision
			if d.Verdict() == claim.DecisionUnknown {
				t.Errorf("hcas at %v, eps %v: %s, gap %v", x, eps, d.Verdict(), d.Gap)
			}
			if d.Lower > pi[task.Label]+1e-9 || d.Verdict() == claim.DecisionSafe && eps == 0.01 && d.Lower < pi[task.Label]-0.1 {
				t.Errorf("hcas at %v, eps %v: lower %v, enumeration has %v", x, eps, d.Lower, pi[task.Label])
			}
		}
	}
	s, _, err := property.ParseSpec("output_box:[-99,99]", 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []float64{-0.5, 0, 0.4, 1} {
		for _, eps := range []float64{0.01, 0.1} {
			box := provetest.BoxAround([]float64{x}, eps)
			task := property.Task{Label: -1, T: []property.Box{box}, Inner: []property.Box{box}, S: s}
			m := run(t, bound.Float64, running, prove.Config{Method: prove.Finite, Mean: true}, task)[0].Mean
			lo, hi := math.Inf(1), math.Inf(-1)
			for _, p := range gridOf(101, box) {
				y := average(running, p, func(y []float64) []float64 { return y })[0]
				lo, hi = min(lo, y), max(hi, y)
			}
			if over := max(lo-m.Lower[0], m.Upper[0]-hi); m.Lower[0] > lo+1e-9 || m.Upper[0] < hi-1e-9 || over > 5e-3*eps {
				t.Errorf("running at %v, eps %v: from %v to %v, on a grid from %v to %v", x, eps, m.Lower[0], m.Upper[0], lo, hi)
			}
		}
	}
}
