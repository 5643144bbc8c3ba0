package bound_test

import (
	"math/rand/v2"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/internal/testkit/convtest"
)

// TestDepth: rows that may pass as many activations as there are have the bounds of those that pass
// all, bit by bit. With fewer, so have layers with no more activations below, and the others have
// others (which need not be looser: an interval may know more than lines).
func TestDepth(t *testing.T) {
	r := rand.New(rand.NewPCG(30, 4))
	for range 5 {
		a := askOf(r, convtest.Random(r, convtest.Shape{Blocks: 3, Spread: 0.05, Outputs: 2, Side: 4}))
		want, _ := a.cut(t, fallback.New(bound.Float64), 0, 1<<10, 1)
		got, _ := a.cut(t, fallback.New(bound.Float64), len(a.post.Layers), 1<<10, 1)
		for j, x := range want {
			if got[j] != x {
				t.Fatalf("%s %d is %v, with a limit that no row meets %v", x.what, x.layer, x.v, got[j].v)
			}
		}
	}
	a := askOf(r, noisyNet(r, network.ReLU, 0.02, 4, 8, 8, 8, 8, 2))
	all, _ := a.cut(t, fallback.New(bound.Float64), 0, 1<<20, 0)
	for depth := 1; depth <= 4; depth++ {
		got, _ := a.cut(t, fallback.New(bound.Float64), depth, 1<<20, 0)
		differ := map[int]int{} // by layer
		for j, x := range all {
			if x != got[j] && (x.what == "pre.lo" || x.what == "pre.hi") {
				differ[x.layer]++
			}
		}
		for k := range a.post.Layers[1:] {
			if (differ[k] > 0) != (k > depth) {
				t.Errorf("depth %d: %d bounds of layer %d differ", depth, differ[k], k)
			}
		}
	}
}
