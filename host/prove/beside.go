package prove

import (
	"context"

	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
)

// beside adds what was asked for beside the method's own bound: upper bounds, what
// follows from both, and an interval from drawn networks.
func (j *job) beside(ctx context.Context, e *engine.Engine, results []*claim.Result) error {
	if j.way.uppers == beside {
		if err := uppers(ctx, e, j.cfg, results); err != nil {
			return err
		}
	}
	if j.cfg.Derived && e.Posterior.Independent() {
		for _, r := range results {
			r.Derived = claim.Derive(e.Normal, r)
		}
	}
	if j.cfg.Each {
		if err := eachPoint(ctx, e, j.cfg, results); err != nil {
			return err
		}
	}
	if j.cfg.Quantile != nil {
		if err := quantiles(ctx, e, j.cfg, results); err != nil {
			return err
		}
	}
	if j.cfg.Decision {
		if err := decisions(ctx, e, j.cfg, results); err != nil {
			return err
		}
	}
	if j.cfg.Mean {
		if err := means(ctx, e, j.cfg, results); err != nil {
			return err
		}
	}
	if j.way.drawn != beside || j.cfg.Samples == 0 {
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
