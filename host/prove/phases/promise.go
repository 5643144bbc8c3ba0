package phases

import (
	"context"
	"sync"

	"psafe/host/prove/decide"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
)

const (
	// draws is how many networks are looked at, of the seed drawSeed, and leastPromise what they have
	// to leave for a search to begin.
	draws        = 32
	drawSeed     = 0x6c65
	leastPromise = 1.0 / 8
	// mostKept is up to how many weights the networks are kept for the next tasks.
	mostKept = 4 << 20
)

// drawn are the networks, by number; lanes have them in common.
type drawn [draws]func() [][]float64

var keepDrawn engine.Keep[drawn]

func init() { keepDrawn.New = newDrawn }

func newDrawn(e *engine.Engine) *drawn {
	if of := e.Of(); of != nil {
		return keepDrawn.Of(of)
	}
	list := new(drawn)
	for i := range list {
		list[i] = func() [][]float64 {
			w := e.Normal.NewWeights()
			e.Normal.Draw(drawSeed, i, w)
			return w
		}
		if draws*e.Normal.Weights() <= mostKept {
			list[i] = sync.OnceValue(list[i])
		}
	}
	return list
}

// promise is about which share of what is not proved yet may be proved: none of what drawn networks
// were seen to fail with. lower is what is proved. They decide how long to search, and nothing of a proof.
func promise(ctx context.Context, e *engine.Engine, t *property.Task, lower float64) float64 {
	net, unsafe := e.Normal.Network(), 0
	for i, network := range keepDrawn.Of(e) {
		w := network()
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
