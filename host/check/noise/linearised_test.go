package noise

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testscale"
)

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
		post, err := checktest.RandomAbout(rng, i%3, []float64{0.03, 0.1, 0.3}[rng.IntN(3)], sizes...).Linearised()
		if err != nil {
			t.Fatal(err)
		}
		task := checktest.RandomTask(rng, post, 0)
		p := []bound.Precision{bound.Float32, bound.Float64}[i/2%2]
		r := checktest.Certified(t, p, post, prove.Config{Method: prove.CLBP, Cells: 1 + i%3*4}, []property.Task{task})[0]
		low, up := againstDraws(t, i, post, &task, r, draws)
		if low {
			lower++
			// Check is as strict as certify is: in float64 both say about the same, mostly.
			n, err := New(post)
			if err != nil {
				t.Fatal(err)
			}
			fails := -math.Expm1(r.LogP)
			got, err := n.FailUp(t.Context(), asProved(t, r), r.Proof.Cells, r.Proof.Tau, checktest.AtMost(fails))
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
