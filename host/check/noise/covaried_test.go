package noise

import (
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	"psafe/host/check/covary"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testscale"
)

// TestCovaried: of chains with covariances in any layers, of SWAG and of one covariance of all layers, what certify claims is proved again,
// and as many drawn networks as can be are within the bounds of both.
func TestCovaried(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 40))
	lower, upper, draws := 0, 0, 400
	if testscale.Deep(t) {
		draws = 10000
	}
	for i := range testscale.Costly(t, 2000/testscale.By(t, 2)) {
		sizes := [][]int{{2, 4, 3}, {2, 5, 4, 3}, {1, 6, 2}, {2, 3, 3}}[rng.IntN(4)]
		if i%40 == 8 {
			sizes = []int{covary.MostFormedInputs + 2, 3, 2} // by factors
		}
		post := checktest.RandomCovaried(rng, i%3, i%len(checktest.Activations), []float64{0.03, 0.1, 0.2}[rng.IntN(3)], sizes...)
		task := checktest.RandomTask(rng, post, 0)
		p := []bound.Precision{bound.Float32, bound.Float64}[i/2%2]
		r := checktest.Certified(t, p, post, prove.Config{Method: prove.CLBP, Cells: 1 + i%3*4}, []property.Task{task})[0]
		low, up := againstDraws(t, i, post, &task, r, draws)
		if low {
			lower++
		}
		if up {
			upper++
		}
	}
	t.Logf("%d lower bounds, %d upper", lower, upper)
	if !testing.Short() && (lower == 0 || upper == 0) {
		t.Error("nothing was tested")
	}
}
