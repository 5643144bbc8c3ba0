package prove

import (
	"context"
	"math"

	"psafe/host/read/property"
	"psafe/internal/fault"
)

// Upper bounds (docs/concentration.md, section 6): for any x of the true T, P_safe <= Prob(f(x) in S).
// The point is found by attack on the mean network; whatever it is, the bound holds.

// uppers looks for upper bounds, where they are wanted.
func uppers(ctx context.Context, e *Engine, cfg Config, results []*Result) error {
	if cfg.NoUpper || !e.posterior.Independent() {
		return nil
	}
	err := ctx.Err()
	if err == nil {
		err = upperByNoise(ctx, e, results)
	}
	if err == nil {
		err = upperBySums(ctx, e, results)
	}
	if e.cut(ctx, err) {
		return nil
	}
	return err
}

// upperByNoise sets UnsafeDown where concentration LBP shows that the network is unsafe
// at a point of T with some probability.
func upperByNoise(ctx context.Context, e *Engine, results []*Result) error {
	var cells []*cell
	owner := map[*cell]*Result{}
	at, boxes, err := witnesses(ctx, e, results)
	if err != nil {
		return err
	}
	shown := map[*cell]Witness{}
	for i, box := range boxes {
		if box.Lo != nil {
			c := &cell{task: negated(results[i].Task), box: box, fail: 1, dual: true}
			cells, owner[c], shown[c] = append(cells, c), results[i], at[i]
		}
	}
	if len(cells) == 0 {
		return nil
	}
	if err := (clbp{e: e}).judge(ctx, cells); err != nil && !e.cut(ctx, err) {
		return err
	}
	for _, c := range cells {
		// c.fail bounds Prob(S holds at the point) from above.
		unsafe := 1.0
		if c.fail > 0 {
			unsafe = math.Nextafter(1-c.fail, math.Inf(-1))
		}
		owner[c].showUnsafe(unsafe, UpperProof{Method: "clbp", Witness: shown[c], Tau: c.tau})
	}
	return nil
}

// witnesses attacks the mean network in every box of T, on all cores, and returns
// for each result the worst point and its witness box, if it knows one. It knows none where p_lower
// leaves an upper bound nothing to say.
func witnesses(ctx context.Context, e *Engine, results []*Result) (at []Witness, boxes []property.Box, err error) {
	net, mean := e.normal.Network(), e.normal.Mean()
	at, boxes = make([]Witness, len(results)), make([]property.Box, len(results))
	err = fault.OnCores(ctx, len(results), func(i int) {
		if results[i].Lower() >= 1-enough {
			return
		}
		at[i], boxes[i] = witness(ctx, net, mean, results[i].Task, true)
	})
	return at, boxes, err
}

// negated is the task with every row negated: bounds from below of its rows are
// bounds from above of the task's.
func negated(t *property.Task) *property.Task {
	n := *t
	n.S.Rows = nil
	for _, row := range t.S.Rows {
		n.S.Rows = append(n.S.Rows, row.Negated())
	}
	return &n
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
