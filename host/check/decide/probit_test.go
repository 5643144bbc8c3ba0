package decide

import (
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/check/noise"
	net "psafe/host/model/network"
	"psafe/host/read/property"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// TestProbitBounds: nothing that the checker proves of the probit rule is beyond its values at points of
// the cell.
func TestProbitBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 44))
	told := 0
	cases := testscale.Cases(t, 200)
	for i := range cases {
		post := sumtest.RandomOnTop(rng, net.Activation{Kind: net.ReLU}, []float64{0.05, 0.4, 2}[rng.IntN(3)], [][]int{{2, 5, 3}, {1, 4, 4, 2}, {3, 4}}[i%3]...)
		n, err := noise.New(post)
		if err != nil {
			t.Fatal(err)
		}
		if n.Top == nil {
			continue
		}
		x, width := make([]float64, post.Inputs()), []float64{0, 0.02, 0.3}[i/2%3]
		var cell property.Box
		for j := range x {
			x[j] = rng.NormFloat64()
			cell.Lo, cell.Hi = append(cell.Lo, x[j]-width), append(cell.Hi, x[j]+width)
		}
		class := rng.IntN(post.Outputs())
		is := predictiveOf(n.TopPass(cell, uint64(i%2)).Probit(class), 0)
		for range 6 {
			pi := sumtest.Probit(post, x)
			if is.Lower > pi[class]+1e-9 {
				t.Errorf("%d: lower %v, at %v it is %v", i, is.Lower, x, pi[class])
			}
			for k, p := range slices.Delete(slices.Clone(pi), class, class+1) {
				if is.Rivals[k] < p-1e-9 || is.Gaps[k] > pi[class]-p+1e-9 {
					t.Errorf("%d: rival %v and gap %v, they are %v and %v", i, is.Rivals[k], is.Gaps[k], p, pi[class]-p)
				}
			}
			if width == 0 && pi[class]-is.Lower < 1e-6 {
				told++
			}
			for j := range x {
				x[j] = []float64{cell.Lo[j], cell.Hi[j], cell.Lo[j] + rng.Float64()*(cell.Hi[j]-cell.Lo[j])}[rng.IntN(3)]
			}
		}
	}
	if told == 0 && cases > 20 {
		t.Error("at no point the probability was found")
	}
}
