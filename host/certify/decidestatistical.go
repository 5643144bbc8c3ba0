package certify

import (
	"context"
	"math"
	"math/big"

	"psafe/host/measure"
	"psafe/host/property"
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

// netBytes is how much host memory drawn networks may take at a time.
const netBytes = 256 << 20

// rule decides n networks on the tasks, as many at a time as memory likes, and calls
// count with the number of a network and its rulings.
func (e *Engine) rule(ctx context.Context, cfg Config, tasks []property.Task, n int, net func(i int) drawn, count func(i int, rulings []ruling)) error {
	most := max(1, netBytes/(8*e.normal.Weights()))
	// Input boxes of all pairs are held too.
	most = max(1, min(most, (1<<22)/max(1, len(tasks)*e.normal.Inputs())))
	for from := 0; from < n; from += most {
		var nets []drawn
		for i := from; i < min(from+most, n); i++ {
			nets = append(nets, net(i))
		}
		rulings, err := e.decide(ctx, nets, tasks, cfg.mostPieces(e.normal.Inputs()))
		if err != nil {
			return err
		}
		for i := range nets {
			count(from+i, rulings[i*len(tasks):(i+1)*len(tasks)])
		}
	}
	return nil
}

// mostPieces is how many cells T may be cut into to decide one network.
func (c *Config) mostPieces(inputs int) int {
	switch {
	case c.Cells > 0:
		return c.Cells
	case inputs <= 8:
		return 256
	}
	return 1
}

// statistical draws networks from the posterior, of whatever kind, and counts how
// many are proved safe and how many proved unsafe (theory section 7).
func (e *Engine) statistical(ctx context.Context, cfg Config, tasks []property.Task) ([]*Result, error) {
	safe, unsafe := make([]int, len(tasks)), make([]int, len(tasks))
	draw := func(i int) drawn {
		w := e.posterior.NewWeights()
		e.posterior.Draw(cfg.Seed, i, w)
		return w
	}
	err := e.rule(ctx, cfg, tasks, cfg.Samples, draw, func(_ int, rulings []ruling) {
		for t, r := range rulings {
			switch r {
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

// finite decides every network of a posterior that is a finite set of them: the
// counts of those proved safe add up to a certified lower bound, and those proved
// unsafe take from 1 a certified upper bound (theory section 7).
func (e *Engine) finite(ctx context.Context, cfg Config, tasks []property.Task) ([]*Result, error) {
	s := e.posterior.Samples()
	safe, unsafe := make([]int64, len(tasks)), make([]int64, len(tasks))
	results := make([]*Result, len(tasks))
	for t := range tasks {
		results[t] = newResult(&tasks[t], "samples")
		results[t].Samples = s.N()
	}
	err := e.rule(ctx, cfg, tasks, s.N(), s.Weights, func(i int, rulings []ruling) {
		for t, r := range rulings {
			switch r {
			case provedSafe:
				safe[t] += s.Counts[i]
				results[t].SafeSamples++
			case provedUnsafe:
				unsafe[t] += s.Counts[i]
				results[t].UnsafeSamples++
			}
		}
	})
	if err != nil {
		return nil, err
	}
	for t, r := range results {
		r.PLower = shareDown(safe[t], s.Total())
		if !cfg.NoUpper {
			r.UnsafeDown = shareDown(unsafe[t], s.Total())
		}
		r.LogP = measure.LogComplementDown(math.Nextafter(1-r.PLower, math.Inf(1)))
		switch r.PLower {
		case 0:
			r.LogP = minusInf
		case 1:
			r.LogP = 0
		}
	}
	return results, nil
}

// shareDown is a/total, rounded down.
func shareDown(a, total int64) float64 {
	exact := big.NewRat(a, total)
	f, same := exact.Float64()
	if !same && new(big.Rat).SetFloat64(f).Cmp(exact) > 0 {
		return math.Nextafter(f, math.Inf(-1))
	}
	return f
}
