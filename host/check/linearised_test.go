package check

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	"psafe/host/check/record"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testscale"
)

// TestLinearisedPoint: at a point a row is normal, and its tail is that of the mean network's margin over the
// deviation of the derivative in all weights.
func TestLinearisedPoint(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 96))
	for i := range testscale.Cases(t, 100) {
		about := checktest.RandomAbout(rng, i%3, 0.3, 3, 5, 4, 2)
		post, err := about.Linearised()
		if err != nil {
			t.Fatal(err)
		}
		x := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
		y := post.LogitsApprox(x)
		row := property.Row{CLo: []float64{1, -1}, CHi: []float64{1, -1}}
		if y[1] > y[0] {
			row = property.Row{CLo: []float64{-1, 1}, CHi: []float64{-1, 1}}
		}
		s := property.Safe{Rows: []property.Row{row}, Any: [][]int{{0}}}
		task := property.Task{Label: -1, T: []property.Box{{Lo: x, Hi: x}}, Inner: []property.Box{{Lo: x, Hi: x}}, S: s}
		r := checktest.Certified(t, bound.Float64, post, prove.Config{Method: prove.CLBP}, []property.Task{task})[0]
		// The variance of drawn functions' margins, which are normal.
		const draws = 2000
		square := 0.0
		for d := range draws {
			f := post.DrawLinearised(3, d)(x)
			m := f[0] - f[1] - (y[0] - y[1])
			square += m * m / draws
		}
		want := 0.5 * math.Erfc(math.Abs(y[0]-y[1])/math.Sqrt(2*square))
		if got := -math.Expm1(r.LogP); want > 0.05 && math.Abs(got-want) > 0.25*want {
			t.Errorf("%d: fails %v, drawn %v", i, got, want)
		}
	}
}

// TestNoDecisionOfFunctions: decisions are of networks.
func TestNoDecisionOfFunctions(t *testing.T) {
	post, err := checktest.RandomAbout(rand.New(rand.NewPCG(33, 94)), 0, 0.1, 2, 4, 3).Linearised()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&question{Record: new(record.Record), post: post}).predictor(new(record.DecisionProof)); err == nil {
		t.Fatal("decisions of functions that are no networks")
	}
}
