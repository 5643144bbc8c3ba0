package prove

import (
	"context"

	"psafe/host/read/property"
)

// beside adds what was asked for beside the strategy's own bound: upper bounds, what
// follows from both, and an interval from drawn networks.
func (j *job) beside(ctx context.Context, e *Engine, results []*Result) error {
	if j.strategy.uppers == beside {
		if err := uppers(ctx, e, j.cfg, results); err != nil {
			return err
		}
	}
	if j.cfg.Derived && e.posterior.Independent() {
		for _, r := range results {
			r.Derived = derive(e.normal, r)
		}
	}
	if j.strategy.drawn != beside || j.cfg.Samples == 0 {
		return nil
	}
	var tasks []property.Task
	for _, r := range results {
		tasks = append(tasks, *r.Task)
	}
	drawn, err := byDraws(ctx, e, j.cfg, tasks)
	if err != nil {
		return err
	}
	for i, r := range results {
		r.Statistic = drawn[i].Statistic
	}
	return nil
}
