package noise

import (
	"math/rand/v2"
	"testing"

	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testscale"
)

// TestGraphSafeUp: no more networks satisfy S at a point than the upper bound says.
func TestGraphSafeUp(t *testing.T) {
	said := 0
	checktest.Kinds(t, 40/testscale.By(t, 2), func(t *testing.T, rng *rand.Rand, kind string) {
		const draws = 300
		post := checktest.Sketched(rng, kind, checktest.Activations[1+rng.IntN(2)], 1.0/32)
		x := checktest.BallOf(rng, 16, 0)
		task := property.Task{T: []property.Box{x}, S: property.ArgmaxIs(0, 2)}
		n, err := New(post)
		if err != nil {
			t.Fatal(err)
		}
		safe, err := n.SafeUp(t.Context(), &task, x, 1e-5, checktest.AtMost(0))
		if err != nil {
			t.Fatal(err)
		}
		holds, w := 0, post.NewWeights()
		for d := range draws {
			pre := checktest.DrawnNetwork(post, d, w)(x.Lo)
			if y := pre[len(pre)-1]; y[0] >= y[1] {
				holds++
			}
		}
		if holds > checktest.Allows(safe, draws) {
			t.Errorf("%d of %d networks are safe at a point, the bound is %v", holds, draws, safe)
		}
		if safe < 0.5 {
			said++
		}
	})
	if testscale.Factor(t) >= 0.1 && said == 0 {
		t.Error("no bound says anything")
	}
}
