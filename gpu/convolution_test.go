package gpu

import (
	"math/rand/v2"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/lab/crosscheck"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/internal/testkit/convtest"
	"psafe/internal/testscale"
	"psafe/kernels"
)

// TestConvolutions: whole propagations of convolutional networks, by every method, have the
// fallback's bits.
func TestConvolutions(t *testing.T) {
	var posts []*posterior.Posterior
	for _, n := range testscale.Few(t, convtest.Tiny(), 1) {
		posts = append(posts, n.Posterior(0.5))
	}
	for i := range testscale.Cases(t, 20*len(posts)) { // in deep there are four, and 80
		r := rand.New(rand.NewPCG(42, uint64(i)))
		posts = append(posts, convtest.Random(r, convtest.Shape{Blocks: 1 + r.IntN(3), Spread: 0.1, Outputs: 1 + r.IntN(3)}))
	}
	onDevices(t, func(t *testing.T, info Info, p bound.Precision) {
		d := keep(t, info, p, kernels.Shape{}, "")
		for i, post := range posts {
			job := crosscheck.Settings{
				Posterior: post, Tasks: crosscheck.OwnTasks(post, uint64(i)), Seed: 1,
				Methods:    []prove.Method{prove.IBP, prove.LBP, prove.CLBP},
				Precisions: []bound.Precision{p},
				Open: func(p bound.Precision) (*crosscheck.Pair, error) {
					return &crosscheck.Pair{A: fallback.New(p), B: d, Close: func() {}}, nil
				},
				Equal: func(crosscheck.Equal) {}, Overlap: func(crosscheck.Overlap) {},
			}
			if err := job.Run(t.Context()); err != nil {
				t.Errorf("case %d: %v", i, err)
			}
		}
	})
}
