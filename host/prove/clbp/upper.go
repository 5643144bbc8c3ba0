package clbp

import (
	"context"
	"math"

	"psafe/host/prove/claim"
	"psafe/host/prove/decide"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/internal/fault"
)

// Uppers sets UnsafeDown where concentration LBP shows that the network is unsafe
// at a point of T with some probability.
func Uppers(ctx context.Context, e *engine.Engine, results []*claim.Result) error {
	var cells []*cell
	owner := map[*cell]*claim.Result{}
	at, boxes, err := witnesses(ctx, e, results)
	if err != nil {
		return err
	}
	shown := map[*cell]claim.Witness{}
	for i, box := range boxes {
		if box.Lo != nil {
			c := &cell{task: decide.Negated(results[i].Task), box: box, fail: 1, dual: true}
			cells, owner[c], shown[c] = append(cells, c), results[i], at[i]
		}
	}
	if len(cells) == 0 {
		return nil
	}
	if err := (method{e: e}).judge(ctx, cells); err != nil && !e.Cut(ctx, err) {
		return err
	}
	for _, c := range cells {
		// c.fail bounds Prob(S holds at the point) from above.
		unsafe := 1.0
		if c.fail > 0 {
			unsafe = math.Nextafter(1-c.fail, math.Inf(-1))
		}
		owner[c].ShowUnsafe(unsafe, claim.UpperProof{Method: "clbp", Witness: shown[c], Tau: c.tau})
	}
	return nil
}

// witnesses attacks the mean network in every box of T, on all cores, and returns
// for each result the worst point and its witness box, if it knows one.
func witnesses(ctx context.Context, e *engine.Engine, results []*claim.Result) (at []claim.Witness, boxes []property.Box, err error) {
	net, mean := e.Normal.Network(), e.Normal.Mean()
	at, boxes = make([]claim.Witness, len(results)), make([]property.Box, len(results))
	err = fault.OnCores(ctx, len(results), func(i int) {
		at[i], boxes[i] = decide.Witness(ctx, net, mean, results[i].Task, true)
	})
	return at, boxes, err
}

// dualUp bounds the probability that S holds at a point, from above: some alternative
// has to hold, and with it each of its rows. tails[r] bounds the probability that row
// r holds, beside the budget of the hidden bounds.
func dualUp(s *property.Safe, tails []float64) float64 {
	sum := 0.0
	for _, all := range s.Any {
		least := 1.0
		for _, r := range all {
			least = min(least, tails[r])
		}
		sum = plusUp(sum, least)
	}
	return sum
}
