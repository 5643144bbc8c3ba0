package prove_test

import (
	"math"
	"testing"

	"psafe/host/arith"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/property"
)

// oneWeight is f(x) = w x with w ~ N(mean, sd^2).
func oneWeight(mean, sd float64) *posterior.Posterior {
	return &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{{Layer: network.DenseLayer(1, 1, network.Activation{}), Weight: posterior.NewParams([]float64{mean}, []float64{sd}, posterior.ScaleSD), Bias: posterior.NewParams([]float64{0}, []float64{0}, posterior.ScaleSD)}}}
}

// TestTinySpread: a standard deviation far below the spacing of float32 at the
// mean still gives a box with mass.
func TestTinySpread(t *testing.T) {
	task := property.Task{Label: -1, T: []property.Box{interval(1, 1)}, S: atLeast(0.5)}
	for _, sd := range []float64{1e-6, 1e-9, 1e-20, 1e-300, 5e-324} {
		for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
			if r := run(t, p, oneWeight(1, sd), prove.Config{Method: prove.IBP, Samples: 1, Gamma: 12}, task)[0]; !(r.LogP > -1e-6) {
				t.Errorf("sd %v %v: log p %v, want almost 0", sd, p, r.LogP)
			}
		}
	}
}

// TestCeilingOfRoundedBoxes: the ceiling holds for the boxes that are stored, which
// rounding may have made wider than gamma.
func TestCeilingOfRoundedBoxes(t *testing.T) {
	task := property.Task{Label: -1, T: []property.Box{interval(1, 1)}, S: atLeast(-10)}
	for _, sd := range []float64{1, 1e-3, 1e-6, 6e-8} {
		for seed := range uint64(20) {
			cfg := prove.Config{Method: prove.IBP, Samples: 1, Gamma: 1, Seed: seed}
			r := run(t, bound.Float32, oneWeight(1, sd), cfg, task)[0]
			if ten := arith.Log10Down(r.LogP); !(ten <= r.CeilingLog10) || math.IsInf(ten, -1) {
				t.Errorf("sd %v seed %d: log10 p %v, ceiling %v", sd, seed, ten, r.CeilingLog10)
			}
			if sd >= 1e-3 && r.CeilingLog10 > math.Log10(math.Erf(1/math.Sqrt2))+1e-3 {
				t.Errorf("sd %v: ceiling %v is loose", sd, r.CeilingLog10)
			}
		}
	}
}

// TestTinySquares: squares of standard deviations are rounded up where they are
// subnormal too, in concentration LBP and in upper bounds.
func TestTinySquares(t *testing.T) {
	// y = w x, w ~ N(5e-162, (2.6e-162)^2): 1e100 y at x = 1e62 is N(5, 2.6^2).
	x := interval(1e62, 1e62)
	s := property.Safe{Rows: []property.Row{{CLo: []float64{1e100}, CHi: []float64{1e100}}}, Any: [][]int{{0}}}
	for _, z := range []float64{5, 1, -1, -5} {
		task := property.Task{Label: -1, T: []property.Box{x}, Inner: []property.Box{x}, S: s}
		r := run(t, bound.Float64, oneWeight(z*1e-162, 2.6e-162), prove.Config{Method: prove.CLBP}, task)[0]
		if truth := phi(z / 2.6); r.Lower() > truth || r.Upper() < truth {
			t.Errorf("mean %v: from %v to %v, but P_safe is %v", z, r.Lower(), r.Upper(), truth)
		}
	}
}
