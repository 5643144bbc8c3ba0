package prove

import (
	"context"

	"psafe/host/read/property"
)

// drawnPhases is how many sub-problems of phases a drawn network may take that lines do not decide.
const drawnPhases = 128

// networkDraws are networks that are drawn and decided.
type networkDraws struct {
	// networks is how many, seed that of the generator, and confidence that of the statement, in
	// (0, 1).
	networks   int
	seed       uint64
	confidence float64
	// cells is how many cells T may be cut into to decide one of them; 0 leaves it to mostPieces.
	cells int
}

// statistical draws networks from the posterior, of whatever kind, and counts how
// many are proved safe and how many proved unsafe (docs/concentration.md, section 5).
func statistical(ctx context.Context, e *Engine, d networkDraws, tasks []property.Task) ([]*Result, error) {
	safe, unsafe := make([]int, len(tasks)), make([]int, len(tasks))
	draw := func(i int) drawn {
		w := e.posterior.NewWeights()
		e.posterior.Draw(d.seed, i, w)
		return w
	}
	all := census{e: e, cells: mostPieces(d.cells, e.normal.Inputs()), phases: drawnPhases, n: d.networks, net: draw}
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
	results := make([]*Result, len(tasks))
	for t := range tasks {
		results[t] = newResult(&tasks[t], "statistical")
		results[t].Samples, results[t].Statistic = d.networks, newStatistic(d.networks, safe[t], unsafe[t], d.confidence)
	}
	return results, nil
}
