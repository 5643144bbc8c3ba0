package certify

import (
	"context"

	"psafe/host/property"
)

// What auto is content with: a lower bound from which on nothing dearer is tried,
// and one from which on the search for a weight box is left out.
const (
	content      = 0.9999
	contentBoxes = 0.99
	// noRoom is a gap between the bounds that is not worth closing.
	noRoom = 0.01
)

// auto tries what is cheap first and keeps the best bound of each task: concentration
// LBP, the sum over neurons where there is one hidden layer, a centred box. Each is a
// lower bound of the same probability, so the largest is one too.
func (e *Engine) auto(ctx context.Context, cfg Config, tasks []property.Task) ([]*Result, error) {
	best, err := e.clbp(ctx, cfg, tasks)
	if err != nil {
		return nil, err
	}
	// Upper bounds first: what they leave no room for is not looked for.
	if err := e.uppers(ctx, cfg, best); err != nil {
		return nil, err
	}
	if len(e.normal.Layers) == 2 && e.normal.Inputs() <= sumInputsAuto {
		if err := e.improve(ctx, cfg, best, content, (*Engine).neuronSum); err != nil {
			return nil, err
		}
	}
	return best, e.improve(ctx, cfg, best, contentBoxes, (*Engine).centred)
}

// improve tries another method on the tasks whose lower bound is below enough.
func (e *Engine) improve(ctx context.Context, cfg Config, best []*Result, enough float64, method groupMethod) error {
	var at []int
	var tasks []property.Task
	for i, r := range best {
		if r.Lower() < enough && r.Upper()-r.Lower() > noRoom {
			at, tasks = append(at, i), append(tasks, *r.Task)
		}
	}
	// Methods want tasks with as many input boxes each.
	for len(tasks) > 0 {
		n := groupSize(tasks, len(tasks))
		results, err := method(e, ctx, cfg, tasks[:n])
		if err != nil {
			return err
		}
		for i, r := range results {
			old := best[at[i]]
			if r.Lower() > old.Lower() || r.Lower() == old.Lower() && r.LogP > old.LogP {
				r.Task, r.UnsafeDown = old.Task, old.UnsafeDown
				best[at[i]] = r
			}
		}
		at, tasks = at[n:], tasks[n:]
	}
	return nil
}

// uppers looks for upper bounds, where they are wanted.
func (e *Engine) uppers(ctx context.Context, cfg Config, results []*Result) error {
	if cfg.NoUpper || !e.posterior.Independent() {
		return nil
	}
	if err := e.upper(ctx, results); err != nil {
		return err
	}
	return e.upperBySums(ctx, results)
}

// beside adds what was asked for beside the method's own bound: an upper bound, and
// an interval from drawn networks.
func (e *Engine) beside(ctx context.Context, cfg Config, results []*Result) error {
	if cfg.Strategy != Auto { // which has them already
		if err := e.uppers(ctx, cfg, results); err != nil {
			return err
		}
	}
	if cfg.Derived && e.posterior.Independent() {
		for _, r := range results {
			r.Derived = derive(e.normal, r)
		}
	}
	if cfg.Samples == 0 || cfg.Strategy == Statistical || cfg.Strategy == Sampled {
		return nil
	}
	var tasks []property.Task
	for _, r := range results {
		tasks = append(tasks, *r.Task)
	}
	drawn, err := e.statistical(ctx, cfg, tasks)
	if err != nil {
		return err
	}
	for i, r := range results {
		r.Statistic = drawn[i].Statistic
	}
	return nil
}
