package relax

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	net "psafe/host/model/network"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
)

// TestDepth: rows of the checker end where those of certify do, in chains too: what a record with
// --depth claims is no more than is proved with that, and what is claimed without may be more.
func TestDepth(t *testing.T) {
	rng := rand.New(rand.NewPCG(30, 5))
	less := 0
	for i := range 12 {
		post := checktest.Gaussian(rng, net.Activation{Kind: net.ReLU}, 3, 6, 6, 6, 2)
		x := property.Box{}
		for range 3 {
			c := rng.NormFloat64()
			x.Lo, x.Hi = append(x.Lo, c-1.0/16), append(x.Hi, c+1.0/16)
		}
		rows := property.ArgmaxIs(0, 2).Rows
		var got [3]float64
		for depth := range got {
			want, box := propagatedTo(t, depth, post, bound.Float64, bound.LBP, 1, x, rows)
			n, err := (&WeightBox{box.Lo, box.Hi}).Network(post)
			if err != nil {
				t.Fatal(err)
			}
			n.Lines, n.Graph.Depth = true, depth
			lo := n.RowsLo(x, rows)
			if got[depth] = lo[0]; math.Abs(lo[0]-want[0]) > 1e-9*max(1, math.Abs(want[0])) {
				t.Errorf("%d: depth %d: certify has %v, check %v", i, depth, want[0], lo[0])
			}
		}
		if got[1] != got[0] {
			less++
		}
		if got[2] != got[0] {
			t.Errorf("%d: depth 2 of three hidden layers: %v, all %v", i, got[2], got[0])
		}
	}
	if less == 0 {
		t.Error("a depth of 1 changes nothing")
	}
}
