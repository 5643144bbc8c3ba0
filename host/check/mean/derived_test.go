package mean

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// TestDerived: the mean's bound is not below certify's, nor above what draws show.
func TestDerived(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 3))
	for i := range testscale.Cases(t, 200) {
		post := sumtest.RandomNoisy(rng, checktest.Activations[i%len(checktest.Activations)], 0.2, [][]int{{2, 5, 3}, {1, 4, 4, 2}, {3, 2}}[rng.IntN(3)]...)
		task := checktest.RandomTask(rng, post, 0)
		r := checktest.Certified(t, bound.Float64, post, prove.Config{Method: prove.CLBP, Cells: 1, Derived: true}, []property.Task{task})[0]
		got, known := Down(post, &task, 1-r.Lower())
		if theirs := r.Derived.MeanLower; known == math.IsNaN(theirs) || got < theirs {
			t.Errorf("%d: %v (%v), certify's %v", i, got, known, theirs)
		}
		if r.Lower() > 0 && r.Lower() < 1 {
			if more, _ := Down(post, &task, 1); known && !(more < got) {
				t.Errorf("%d: without a lower bound %v, with it %v", i, more, got)
			}
		}
		if norms := normsUp(post, task.T); len(post.Layers) == 1 && known {
			w, square := post.NewWeights(), 0.0
			const draws = 500
			for d := range draws {
				post.Draw(5, d, w)
				y := post.Network().OutputsApprox(w, task.T[0].Lo)[0]
				square += y * y / draws
			}
			if square > norms[0]*norms[0]*1.5 {
				t.Errorf("%d: E y^2 is about %v, bound %v", i, square, norms[0]*norms[0])
			}
		}
	}
}
