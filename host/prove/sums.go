package prove

import (
	"context"
	"math"

	"psafe/host/arith"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/prove/neuronsum"
	"psafe/host/prove/slack"
	"psafe/host/read/property"
)

// How many cells sums of neurons may cut T into, by itself: each costs a convolution
// for every vertex, of which there are 2^inputs.
const (
	sumCellsFew  = 32 // one or two inputs
	sumCellsMany = 4
	// sumPoints is how many points grids may have, by themselves, where cells show nothing.
	sumPoints = 400
	// sumInputsAuto is up to how many inputs auto tries sums of neurons.
	sumInputsAuto = 2
)

// sumCells returns how many cells a T of so many boxes may be cut into.
func (c *Config) sumCells(inputs, boxes int) int {
	switch {
	case c.Cells > 0:
		return max(c.Cells, boxes)
	case inputs <= 2:
		return max(sumCellsFew, 2*boxes)
	}
	return max(sumCellsMany, 2*boxes)
}

// gridPoints returns how many points the grids may have.
func (c *Config) gridPoints() int {
	if c.Cells > 0 {
		return c.Cells
	}
	return sumPoints
}

// neuronSum bounds each task by sums of neurons, in float64 on the host: on cells of T and, where
// these show nothing, by grids.
func neuronSum(ctx context.Context, e *engine.Engine, cfg Config, tasks []property.Task) ([]*claim.Result, error) {
	results, err := cellSums(ctx, e, cfg, tasks)
	if err != nil {
		return nil, err
	}
	for i, r := range results {
		if r.Lower() > 0 || ctx.Err() != nil { // a time limit that ended the cells
			continue
		}
		byGrids, err := gridSums(ctx, e, cfg, tasks[i:i+1])
		if err != nil {
			return nil, err
		}
		if byGrids[0].Lower() > 0 {
			results[i] = byGrids[0]
		}
	}
	return results, nil
}

// cellSums bounds each task by sums of neurons on cells of T.
func cellSums(ctx context.Context, e *engine.Engine, cfg Config, tasks []property.Task) ([]*claim.Result, error) {
	return bySums(ctx, e, tasks, func(sums *neuronsum.Sum, t *property.Task, r *claim.Result) error {
		cover, err := sums.Cover(ctx, t.T, &t.S, cfg.sumCells(e.Normal.Inputs(), len(t.T)))
		r.LogP, r.Cells = arith.LogComplementDown(cover.FailUp), cover.Cells
		r.Proof.Cells, r.Proof.Plans = claim.UncutCells(cover.Tree), cover.Plans
		return err
	})
}

// gridSums bounds each task by sums of neurons at the points of grids.
func gridSums(ctx context.Context, e *engine.Engine, cfg Config, tasks []property.Task) ([]*claim.Result, error) {
	return bySums(ctx, e, tasks, func(sums *neuronsum.Sum, t *property.Task, r *claim.Result) error {
		g, err := sums.Grids(ctx, t.T, &t.S, cfg.gridPoints())
		fail := slack.GridUp(g.FailUp, g.Points, e.Normal.Layers[0].Outputs())
		if fail < 1-neuronsum.LeastTold {
			r.LogP, r.Cells = arith.LogComplementDown(fail), g.Points
			r.Proof = claim.Proof{Grids: g.Cuts, Centres: g.Centres, Large: g.Large, Mixtures: g.Theta, Rows: g.Rows}
		}
		return err
	})
}

// bySums makes a result for each task. That the time of a task is up is no error: what is in its
// result by then is valid.
func bySums(ctx context.Context, e *engine.Engine, tasks []property.Task, bound func(sums *neuronsum.Sum, t *property.Task, r *claim.Result) error) ([]*claim.Result, error) {
	sums, err := sumsOf(e)
	if err != nil {
		return nil, err
	}
	results := make([]*claim.Result, len(tasks))
	for i := range tasks {
		r := claim.NewResult(&tasks[i], "neuronsum")
		r.Device, r.Precision = "host", "float64"
		if err := bound(sums, &tasks[i], r); err != nil && !e.Cut(err) {
			return nil, err
		}
		results[i] = r
	}
	return results, nil
}

// upperBySums improves upper bounds where there is one hidden layer and few inputs:
// at the point of each box of T where S holds least likely, about.
func upperBySums(ctx context.Context, e *engine.Engine, results []*claim.Result) error {
	if !e.Chain || len(e.Normal.Layers) != 2 || e.Normal.Inputs() > 8 {
		return nil
	}
	sums, err := sumsOf(e)
	if err != nil {
		return err
	}
	sums = sums.Until(ctx)
	for _, r := range results {
		t := r.Task
		for b := range t.T {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if len(t.Inner) == 0 || t.Inner[b].Lo == nil {
				continue
			}
			at, w := claim.NewWitness(t, b, sums.PointApprox(t.T[b], &t.S))
			// A bound of a second or two is worth it only where it can say something.
			if w.Lo == nil {
				continue
			}
			if p := sums.SafeApprox(w.Lo, &t.S); p > 0.999 || p > r.Upper() {
				continue
			}
			safeUp, plans := sums.SafeUp(w, &t.S)
			if unsafeDown := math.Nextafter(1-safeUp, math.Inf(-1)); unsafeDown > neuronsum.LeastTold {
				r.ShowUnsafe(unsafeDown, claim.UpperProof{Method: "neuronsum", Witness: at, Plans: plans})
			}
		}
	}
	return ctx.Err()
}

// keptSums is the posterior of an engine as sums of neurons need it.
type keptSums struct{ of *neuronsum.Sum }

var keepSums = engine.Keep[keptSums]{New: func(*engine.Engine) *keptSums { return new(keptSums) }}

// sumsOf prepares an engine's posterior for sums of neurons once.
func sumsOf(e *engine.Engine) (*neuronsum.Sum, error) {
	kept := keepSums.Of(e)
	if kept.of != nil {
		return kept.of, nil
	}
	n, err := neuronsum.New(e.Normal)
	kept.of = n
	return n, err
}
