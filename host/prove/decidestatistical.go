package prove

import (
	"context"
	"math"

	"psafe/host/prove/measure"
	"psafe/host/read/property"
)

// Statistic is a statement about P_safe at a level of confidence: not a certificate.
// Samples networks were drawn; Safe of them were proved safe on T, Unsafe proved
// unsafe, and the rest is undecided. With probability at least Confidence over the
// draws, Lower <= P_safe <= Upper (Clopper and Pearson 1934, each side at half of
// what Confidence leaves; undecided networks count against either side).
type Statistic struct {
	Samples, Safe, Unsafe    int
	Confidence, Lower, Upper float64
}

// drawnPhases is how many sub-problems of phases a drawn network may take that lines do not decide.
const drawnPhases = 128

// statistical draws networks from the posterior, of whatever kind, and counts how
// many are proved safe and how many proved unsafe (docs/concentration.md, section 5).
func statistical(ctx context.Context, e *Engine, cfg Config, tasks []property.Task) ([]*Result, error) {
	safe, unsafe := make([]int, len(tasks)), make([]int, len(tasks))
	draw := func(i int) drawn {
		w := e.posterior.NewWeights()
		e.posterior.Draw(cfg.Seed, i, w)
		return w
	}
	all := census{e: e, cells: cfg.mostPieces(e.normal.Inputs()), phases: drawnPhases, n: cfg.Samples, net: draw}
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
		results[t] = newResult(&tasks[t], Statistical)
		results[t].Samples, results[t].Statistic = cfg.Samples, newStatistic(cfg.Samples, safe[t], unsafe[t], cfg.Confidence)
	}
	return results, nil
}

func newStatistic(n, safe, unsafe int, confidence float64) *Statistic {
	// Rounded down: exact for a confidence from 1/2 up (Sterbenz), and half of it too.
	alpha := math.Nextafter(1-confidence, 0) / 2
	if confidence >= 0.5 {
		alpha = (1 - confidence) / 2
	}
	return &Statistic{Samples: n, Safe: safe, Unsafe: unsafe, Confidence: confidence,
		Lower: measure.ClopperPearsonDown(safe, n, alpha), Upper: measure.ClopperPearsonUp(n-unsafe, n, alpha)}
}
