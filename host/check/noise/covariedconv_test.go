package noise

import (
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testkit/convtest"
	"psafe/internal/testscale"
)

// TestCovariedConv: of convolutional networks with Kronecker covariances, what certify claims is proved again,
// and as many drawn networks as can be are within the bounds of both.
func TestCovariedConv(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 62))
	lower, upper, draws, cases := 0, 0, 300, 240
	if testscale.Deep(t) {
		draws, cases = 10000, 1000
	}
	for i := range testscale.Costly(t, cases) {
		post := convtest.Random(rng, convtest.Shape{Blocks: 1 + rng.IntN(3), Outputs: 2 + rng.IntN(2)})
		post = convtest.Kronecker(rng, post, []float64{0.03, 0.1, 0.2}[rng.IntN(3)])
		task := checktest.KeptClass(rng, post, []float64{0, 1.0 / 64, 1.0 / 16}[rng.IntN(3)])
		p := []bound.Precision{bound.Float32, bound.Float64}[i%2]
		r := checktest.Certified(t, p, post, prove.Config{Method: prove.CLBP, Cells: 1 + i%2*3}, []property.Task{task})[0]
		low, up := againstDraws(t, i, post, &task, r, draws)
		if low {
			lower++
		}
		if up {
			upper++
		}
	}
	t.Logf("%d lower bounds, %d upper", lower, upper)
	if testscale.Factor(t) >= 0.1 && lower == 0 {
		t.Error("nothing was tested")
	}
}
