package phases

import (
	"context"

	"psafe/host/model/posterior"
	"psafe/host/prove/decide"
	"psafe/host/read/property"
)

const (
	// draws is how many networks are looked at, of the seed drawSeed, and leastPromise what they have
	// to leave for a search to begin.
	draws        = 32
	drawSeed     = 0x6c65
	leastPromise = 1.0 / 8
)

// promise is about which share of what is not proved yet may be proved: none of what drawn networks
// were seen to fail with. lower is what is proved. They decide how long to search, and nothing of a proof.
func promise(ctx context.Context, post *posterior.Posterior, t *property.Task, lower float64) float64 {
	net, unsafe := post.Network(), 0
	w := post.NewWeights()
	for i := range draws {
		post.Draw(drawSeed, i, w)
		for b := range t.T {
			at := decide.Target{Net: net, Weights: w, Box: t.T[b], Safe: &t.S}
			if _, margin := decide.AttackApprox(at, decide.Effort{Steps: 8, Starts: 2, Seed: uint64(i), Over: decide.Over(ctx)}); margin < 0 {
				unsafe++
				break
			}
		}
	}
	return (1 - lower - float64(unsafe)/draws) / (1 - lower)
}
