package clbp

import (
	"context"
	"math"

	"psafe/host/arith"
	"psafe/host/prove/claim"
	"psafe/host/prove/decide"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/internal/fault"
)

// Uppers sets UnsafeDown where concentration LBP shows that the network is unsafe
// at a point of T with some probability. Where the mean network is safe at the worst point that is
// known that cannot be: with the mean weights no row fails by more than its bound, so that all
// tails of some alternative are 1. Of those the first is bounded once all the same, because a
// device that proves S and its opposite is found by it, unless it lies of later tasks alone.
//
// The points are returned, for other bounds there.
func Uppers(ctx context.Context, e *engine.Engine, results []*claim.Result) ([]Attacked, error) {
	var cells, probes []*cell
	owner := map[*cell]*claim.Result{}
	at, err := witnesses(ctx, e, results)
	if err != nil {
		return nil, err
	}
	shown := map[*cell]claim.Witness{}
	for i, w := range at {
		if w.Box.Lo == nil {
			continue
		}
		c := &cell{task: decide.Negated(results[i].Task), box: w.Box, fail: 1, dual: true}
		owner[c], shown[c] = results[i], w.Point
		switch {
		case !(w.MarginApprox > 0) || !meanDecides(e):
			cells = append(cells, c)
		case probes == nil:
			probes = []*cell{c}
		}
	}
	if err := of(e).prepareNoise(); err != nil {
		return nil, err
	}
	m := method{e: e}
	err = m.judgeAt(ctx, probes, m.firstTau())
	if err == nil && len(cells) > 0 {
		err = m.judge(ctx, cells)
	}
	if err != nil && !e.Cut(err) {
		return nil, err
	}
	for _, c := range append(cells, probes...) {
		// c.fail bounds Prob(S holds at the point) from above.
		unsafe := 1.0
		if c.fail > 0 {
			unsafe = math.Nextafter(1-c.fail, math.Inf(-1))
		}
		owner[c].ShowUnsafe(unsafe, claim.UpperProof{Method: "clbp", Witness: shown[c], Tau: c.tau})
	}
	return at, nil
}

// Attacked is the worst point of T that is known, its witness box, if it has one, and the mean
// network's margin there.
type Attacked struct {
	Point        claim.Witness
	Box          property.Box
	MarginApprox float64
}

// almostOne is above what p_lower an upper bound could say next to nothing.
const almostOne = 1 - 1e-6

// witnesses attacks the mean network in the boxes of T, on all cores: with restarts where p_lower
// leaves something to find. Where concentration LBP leaves nothing the mean network is safe on all of
// T (meanDecides): of such tasks the first alone is attacked, to be the probe of Uppers.
func witnesses(ctx context.Context, e *engine.Engine, results []*claim.Result) ([]Attacked, error) {
	net, mean := e.Normal.Network(), e.Normal.Mean()
	at := make([]Attacked, len(results))
	var worth []int
	decides, probe := meanDecides(e), false
	for i, r := range results {
		if decides && r.Method == "clbp" && arith.ExpDown(r.LogP) > almostOne {
			if probe {
				continue
			}
			probe = true
		}
		worth = append(worth, i)
	}
	err := fault.OnCores(ctx, len(worth), func(k int) {
		i := worth[k]
		w := &at[i]
		w.Point, w.Box, w.MarginApprox = decide.Witness(ctx, net, mean, results[i].Task, true, results[i].Lower() <= almostOne)
	})
	return at, err
}

// dualUp bounds the probability that S holds at a point, from above: where certain rows fail S does,
// so one of them has to hold. tails[r] bounds the probability that row
// r holds, beside the budget of the hidden bounds.
func dualUp(s *property.Safe, tails []float64) float64 {
	dual := s.Dual()
	return impliedUp(&dual, tails)
}
