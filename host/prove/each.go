package prove

import (
	"context"
	"errors"
	"fmt"

	"psafe/host/model/posterior"
	"psafe/host/prove/claim"
	"psafe/host/prove/clbp"
	"psafe/host/prove/decide"
	"psafe/host/prove/engine"
)

// HasEach says in one line why inf over x in T of Prob(f(x) in S) is not bounded for a posterior with what was asked
// for; nil if it is.
func (c *Config) HasEach(p *posterior.Posterior) error {
	switch {
	case c.Method == Statistical:
		return errors.New("networks that are drawn prove no bound of the worst point: leave --method out, or --target")
	case p.Networks() == nil && p.About() != nil:
		return fmt.Errorf("the worst point is bounded for networks; this is %s: leave --target or --predictive out", p.Describe())
	case p.Networks() == nil && clbpFits(p) != nil:
		return fmt.Errorf("the worst point is bounded for finite sets of networks, and by concentration LBP: %w", clbpFits(p))
	}
	return nil
}

// eachPoint bounds Prob(f(x) in S) at the worst x of each result's T.
func eachPoint(ctx context.Context, e *engine.Engine, cfg Config, results []*claim.Result) error {
	if err := cfg.HasEach(e.Posterior); err != nil {
		return err
	}
	if e.Posterior.Networks() != nil {
		return decide.EachOfSet(ctx, e, cfg.Cells, results)
	}
	return clbp.Each(ctx, e, cfg.Cells, results)
}
