package fallback

import (
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	"psafe/host/lab/crosscheck"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/internal/testkit/convtest"
	"psafe/internal/testscale"
	"psafe/internal/vector"
)

// TestLanesConvolutions: vector loops give the bits of plain ones in whole propagations of
// convolutional networks, by every method, and bounds of both precisions do not contradict each
// other.
func TestLanesConvolutions(t *testing.T) {
	var posts []*posterior.Posterior
	for _, n := range testscale.Few(t, convtest.Tiny(), 1) {
		posts = append(posts, n.Posterior(0.5))
	}
	for i := range testscale.Cases(t, 20*len(posts)) { // in deep there are four, and 80
		r := rand.New(rand.NewPCG(41, uint64(i)))
		posts = append(posts, convtest.Random(r, convtest.Shape{Blocks: 1 + r.IntN(3), Spread: 0.1, Outputs: 1 + r.IntN(3)}))
	}
	for v := vector.None; v <= vector.Here(); v++ {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			for i, post := range posts {
				job := crosscheck.Settings{
					Posterior: post, Tasks: crosscheck.OwnTasks(post, uint64(i)), Seed: 1,
					Methods:    []prove.Method{prove.IBP, prove.LBP, prove.CLBP},
					Precisions: []bound.Precision{bound.Float32, bound.Float64},
					Open: func(p bound.Precision) (*crosscheck.Pair, error) {
						if p == bound.Float32 {
							return &crosscheck.Pair{A: withVectors[float32](vector.None), B: withVectors[float32](v), Close: func() {}}, nil
						}
						return &crosscheck.Pair{A: withVectors[float64](vector.None), B: withVectors[float64](v), Close: func() {}}, nil
					},
					Equal: func(crosscheck.Equal) {}, Overlap: func(crosscheck.Overlap) {},
				}
				if err := job.Run(t.Context()); err != nil {
					t.Errorf("case %d: %v", i, err)
				}
			}
		})
	}
}
