package decide

import (
	"context"

	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
)

// drawnPhases is the number of sub-problems of phases for a drawn network that lines do not decide.
const drawnPhases = 128

// Draws are networks that are drawn and decided.
type Draws struct {
	// Networks is how many, seed that of the generator, and confidence that of the statement, in
	// (0, 1).
	Networks   int
	Seed       uint64
	Confidence float64
	// Cells is how many cells T may be cut into to decide one of them; 0 leaves it to mostPieces.
	Cells int
}

// mostKept is how many weights of drawn networks are kept for the next tasks: all tasks have the same draws.
const mostKept = 4 << 20

// keptDraws are the first networks of the sequence that a seed names.
type keptDraws struct {
	seed uint64
	nets []drawn
}

var keepDraws = engine.Keep[keptDraws]{New: func(*engine.Engine) *keptDraws { return new(keptDraws) }}

// Statistical draws networks from the posterior, of whatever kind, and counts how
// many are proved safe and how many proved unsafe (docs/theory.md, section 6.1).
func Statistical(ctx context.Context, e *engine.Engine, d Draws, tasks []property.Task) ([]*claim.Result, error) {
	safe, unsafe := make([]int, len(tasks)), make([]int, len(tasks))
	all := census{e: e, cells: mostPieces(d.Cells, e.Normal.Inputs()), phases: drawnPhases, n: d.Networks, net: d.from(e)}
	err := all.decide(ctx, tasks, func(_ int, rulings []decided) {
		for t, r := range rulings {
			switch r.ruling {
			case provedSafe:
				safe[t]++
			case provedUnsafe:
				unsafe[t]++
			}
		}
	})
	if err != nil {
		return nil, err
	}
	results := make([]*claim.Result, len(tasks))
	for t := range tasks {
		results[t] = claim.NewResult(&tasks[t], "statistical")
		results[t].Samples, results[t].Statistic = d.Networks, claim.NewStatistic(d.Networks, safe[t], unsafe[t], d.Confidence)
	}
	return results, nil
}

// from returns what draws network i, and keeps the first ones.
func (d Draws) from(e *engine.Engine) func(ctx context.Context, i int) (drawn, error) {
	kept := keepDraws.Of(e)
	if kept.seed != d.Seed {
		*kept = keptDraws{seed: d.Seed}
	}
	return func(ctx context.Context, i int) (drawn, error) {
		if i < len(kept.nets) {
			return kept.nets[i], nil
		}
		w := e.Posterior.NewWeights()
		err := e.Posterior.DrawUntil(d.Seed, i, w, ctx.Err)
		if err == nil && i == len(kept.nets) && (i+1)*e.Normal.Weights() <= mostKept {
			kept.nets = append(kept.nets, w)
		}
		return w, err
	}
}
