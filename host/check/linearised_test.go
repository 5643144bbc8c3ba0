package check

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// randomAbout is a chain with ReLU and normal weights: independent, with covariances in layers or one of all.
func randomAbout(rng *rand.Rand, kind int, sd float64, sizes ...int) *posterior.Posterior {
	switch kind {
	case 0:
		return sumtest.RandomNoisy(rng, activations[1], sd, sizes...)
	case 1:
		return sumtest.RandomCorrelated(rng, activations[1], sd, sizes...)
	}
	return sumtest.RandomJoint(rng, activations[1], sd, sizes...)
}

// TestLinearised: of networks that are linearised about the mean, what certify claims is proved again, and as
// many drawn functions as can be are within the bounds of both.
func TestLinearised(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 95))
	lower, upper, compared, less, draws := 0, 0, 0, 0, 400
	if testscale.Deep(t) {
		draws = 10000
	}
	for i := range testscale.Costly(t, 3000) {
		sizes := [][]int{{2, 4, 3}, {2, 5, 4, 3}, {1, 6, 2}, {2, 3, 3}}[rng.IntN(4)]
		post, err := randomAbout(rng, i%3, []float64{0.03, 0.1, 0.3}[rng.IntN(3)], sizes...).Linearised()
		if err != nil {
			t.Fatal(err)
		}
		task := randomTask(rng, post, 0)
		p := []bound.Precision{bound.Float32, bound.Float64}[i/2%2]
		r := certified(t, p, post, prove.Config{Method: prove.CLBP, Cells: 1 + i%3*4}, []property.Task{task})[0]
		low, up := againstDraws(t, i, post, &task, r, draws)
		if low {
			lower++
			// Check is as strict as certify is: in float64 both say about the same, mostly.
			n, err := newAnyNoise(post)
			if err != nil {
				t.Fatal(err)
			}
			fails := -math.Expm1(r.LogP)
			got, err := n.failUp(t.Context(), asProved(t, r), r.Proof.Cells, r.Proof.Tau, atMost(fails))
			if err != nil {
				t.Fatal(err)
			}
			if p == bound.Float64 && fails > 1e-4 {
				if compared++; got < 0.98*fails {
					less++
				}
			}
		}
		if up {
			upper++
		}
	}
	t.Logf("%d lower bounds, %d upper; of %d check says less for %d", lower, upper, compared, less)
	if !testing.Short() && (lower == 0 || upper == 0) {
		t.Error("nothing was tested")
	}
	if less*10 > compared+9 {
		t.Errorf("check says less than certify for %d of %d", less, compared)
	}
}

// TestLinearisedPoint: at a point a row is normal, and its tail is that of the mean network's margin over the
// deviation of the derivative in all weights.
func TestLinearisedPoint(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 96))
	for i := range testscale.Cases(t, 100) {
		about := randomAbout(rng, i%3, 0.3, 3, 5, 4, 2)
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
		r := certified(t, bound.Float64, post, prove.Config{Method: prove.CLBP}, []property.Task{task})[0]
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
	post, err := randomAbout(rand.New(rand.NewPCG(33, 94)), 0, 0.1, 2, 4, 3).Linearised()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&question{record: new(record), post: post}).predictor(new(decisionProof)); err == nil {
		t.Fatal("decisions of functions that are no networks")
	}
}
