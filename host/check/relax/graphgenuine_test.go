package relax

import (
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testkit/convtest"
	"psafe/internal/testscale"
)

// TestGraphBoxesGenuine: of weight boxes, too.
func TestGraphBoxesGenuine(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 2))
	below := 0
	cases := testscale.Costly(t, 200)
	for i := range cases {
		post := convtest.Random(rng, convtest.Shape{Blocks: 1 + rng.IntN(4), Spread: 1.0 / 64, Outputs: 3})
		task := checktest.KeptClass(rng, post, []float64{0, 1.0 / 256, 1.0 / 32}[rng.IntN(3)])
		for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
			for _, m := range []bound.Propagation{bound.IBP, bound.LBP} {
				want, box := propagatedTo(t, i%3, post, p, m, 3*rng.Float64(), task.T[0], task.S.Rows)
				n, err := (&WeightBox{box.Lo, box.Hi}).Network(post)
				if err != nil {
					t.Fatal(err)
				}
				n.Lines, n.Graph.Depth = m == bound.LBP, i%3
				got := n.RowsLo(task.T[0], task.S.Rows)
				for r := range got {
					if got[r] >= want[r] {
						continue
					}
					below++
					for n.By.Try = 1; got[r] < want[r] && n.By.Try < Tries; n.By.Try++ {
						again := n.RowsLo(task.T[0], task.S.Rows)
						got[r] = max(got[r], again[r])
					}
					if got[r] < want[r] {
						t.Errorf("%d %v %v: row %d: certify has %v, check %v", i, p, m, r, want[r], got[r])
					}
				}
			}
		}
	}
	t.Logf("%d of %d rows needed another try", below, cases*12)
}
