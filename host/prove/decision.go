package prove

import (
	"context"
	"fmt"

	"psafe/host/model/posterior"
	"psafe/host/prove/claim"
	"psafe/host/prove/clbp"
	"psafe/host/prove/decide"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
)

// The decision of the posterior predictive (docs/decisions.md), which is bounded beside P_safe.

// Decides says in one line why the decision of a posterior's predictive cannot be bounded; nil if
// it can.
func Decides(p *posterior.Posterior) error {
	if p.Networks() != nil {
		return nil
	}
	if err := p.RequireRows(); err != nil {
		return fmt.Errorf("the decision of the predictive is bounded for finite sets of networks, and by concentration LBP: %w", err)
	}
	return nil
}

// DecidesByProbit says in one line why the probit rule cannot be bounded; nil if it can.
func DecidesByProbit(p *posterior.Posterior) error {
	if p.Networks() != nil || p.OnTop() != nil {
		return fmt.Errorf("the probit rule is that of networks of which the last layer alone is random; this is %s", p.Describe())
	}
	return nil
}

// decisions bounds the decision of each result's task.
func decisions(ctx context.Context, e *engine.Engine, cfg Config, results []*claim.Result) error {
	if err := Decides(e.Posterior); err != nil {
		return err
	}
	if cfg.Rule.Probit {
		if err := DecidesByProbit(e.Posterior); err != nil {
			return err
		}
	}
	var tasks []*property.Task
	for _, r := range results {
		tasks = append(tasks, r.Task)
	}
	bound := clbp.Decide
	if e.Posterior.Networks() != nil {
		bound = decide.DecideSet
	}
	list, err := bound(ctx, e, cfg.Cells, cfg.Rule, tasks)
	if err != nil {
		return err
	}
	for i, r := range results {
		d := list[i]
		d.Vote = max(d.Vote, r.Lower())
		r.Decision, r.Proof.Decision = d, &d.Proof
	}
	return nil
}
