package prove

import (
	"context"
	"fmt"

	"psafe/host/model/posterior"
	"psafe/host/prove/claim"
	"psafe/host/prove/clbp"
	"psafe/host/prove/decide"
	"psafe/host/prove/engine"
	"psafe/host/prove/probability"
	"psafe/host/prove/slack"
	"psafe/host/read/property"
)

// The decision of the posterior predictive (docs/theory.md, section 9), which is bounded beside P_safe.

// Decides returns in one line why the decision of a posterior's predictive cannot be bounded; nil
// if it can.
func Decides(p *posterior.Posterior) error {
	if p.Networks() != nil {
		return nil
	}
	if p.About() != nil { // a witness is one of drawn networks, and laws are of rows of networks
		return fmt.Errorf("decisions are bounded for networks; this is %s: leave --target or --predictive out", p.Describe())
	}
	if err := p.RequireRows(); err != nil {
		return fmt.Errorf("the decision of the predictive is bounded for finite sets of networks, and by concentration LBP: %w", err)
	}
	return nil
}

// DecidesByProbit returns in one line why the probit rule cannot be bounded; nil if it can.
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
	if err := drawnLower(ctx, e, cfg, results); err != nil {
		return err
	}
	return decideConfined(ctx, e, cfg, results)
}

// drawnLower adds what the drawn networks have of the class of each task, if any are drawn and T is one box.
func drawnLower(ctx context.Context, e *engine.Engine, cfg Config, results []*claim.Result) error {
	if cfg.Samples == 0 || e.Posterior.Networks() != nil || cfg.Rule.Probit {
		return nil
	}
	var tasks []property.Task
	var of []*claim.Decision
	for _, r := range results {
		if len(r.Task.T) == 1 {
			tasks, of = append(tasks, *r.Task), append(of, r.Decision)
		}
	}
	if len(tasks) == 0 {
		return nil
	}
	lower, err := decide.DrawnSoftmax(ctx, e, decide.Draws{Networks: cfg.Samples, Seed: cfg.Seed}, tasks)
	if err != nil {
		if e.Cut(err) { // the time is up: nothing is said of the draws
			return nil
		}
		return err
	}
	for i, d := range of {
		d.DrawnLower = &lower[i]
	}
	return nil
}

// confinedMargin is the lower bound to prove of all margins for all networks whose noise is confined: as good as
// 0 where margins are some units, and enough for a decision to follow.
const confinedMargin = 1.0 / 64

// decideConfined decides by phases what is not decided, where P_safe was proved by them: on the event that noise
// is confined all margins are above 0 then, for all of T, and it is asked whether they are above confinedMargin
// (docs/theory.md (101)).
func decideConfined(ctx context.Context, e *engine.Engine, cfg Config, results []*claim.Result) error {
	if cfg.Rule.Costs != nil || cfg.Rule.Probit { // (101) is about classes, and about averages
		return nil
	}
	cfg.Cells = 1 // the proof of a decision names none for this
	var tasks []property.Task
	var of []*claim.Decision
	for _, r := range results {
		if r.Proof.Phases != nil && r.Task.Ball == nil && r.Decision.Verdict() == claim.DecisionUnknown {
			task := *r.Task
			task.S = claim.AheadBy(task.S, confinedMargin)
			tasks, of = append(tasks, task), append(of, r.Decision)
		}
	}
	if len(tasks) == 0 {
		return nil
	}
	found, err := byConfinement(ctx, e, cfg, tasks)
	for i, r := range found {
		if r.Proof.Phases != nil {
			confined(of[i], r, confinedMargin)
		}
	}
	return err
}

// confined takes in a bound of the probability that all margins are so large on all of T, as phases prove it.
func confined(d *claim.Decision, r *claim.Result, margin float64) {
	p := probability.AheadPredictive(r.Lower(), margin, len(r.Task.S.Rows))
	d.Lower = max(d.Lower, slack.ChanceDown(p.LowerDown))
	for k, u := range p.RivalsUp {
		p.RivalsUp[k] = slack.ChanceUp(u)
	}
	d.BoundRivals(r.Task.Label, p.RivalsUp)
	d.Gap, d.Vote = max(d.Gap, slack.ChanceDown(p.LeastGap())), max(d.Vote, slack.ChanceDown(r.Lower()))
	d.Proof.Margin, d.Proof.PhasesTau, d.Proof.Phases = margin, r.Tau, r.Proof.Phases
}
