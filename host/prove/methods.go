package prove

import (
	"context"
	"time"

	"psafe/host/model/posterior"
	"psafe/host/prove/chernoff"
	"psafe/host/prove/claim"
	"psafe/host/prove/clbp"
	"psafe/host/prove/confine"
	"psafe/host/prove/decide"
	"psafe/host/prove/engine"
	"psafe/host/prove/phases"
	"psafe/host/read/property"
)

// Methods that have rooms of their own, by what Config says of them.

// byCLBP is concentration LBP.
func byCLBP(ctx context.Context, e *engine.Engine, cfg Config, tasks []property.Task) ([]*claim.Result, error) {
	return clbp.Certify(ctx, e, cfg.Cells, tasks)
}

// byPhases confines noise, and decides all networks at once by phases; where that proves nothing it adds up tails
// over the leaves of trees of phases.
func byPhases(ctx context.Context, e *engine.Engine, cfg Config, tasks []property.Task) ([]*claim.Result, error) {
	results, err := byConfinement(ctx, e, cfg, tasks)
	if err != nil {
		return nil, err
	}
	sums := rung{certify: withMixtures(byLeaves), enough: nextToNothing, share: 1}
	return results, improve(ctx, e, cfg, results, sums)
}

// byConfinement confines noise, and decides all networks at once.
func byConfinement(ctx context.Context, e *engine.Engine, cfg Config, tasks []property.Task) ([]*claim.Result, error) {
	within, end := e.Part(ctx, shareOfRung)
	defer end()
	return confine.Certify(within, e, confine.How{Limited: cfg.TimeLimit > 0, Cells: cfg.Cells}, tasks)
}

// byLeaves adds up tails over the leaves of trees of phases.
func byLeaves(ctx context.Context, e *engine.Engine, cfg Config, tasks []property.Task) ([]*claim.Result, error) {
	return phases.Certify(ctx, e, phases.How{Limited: cfg.TimeLimit > 0, Cells: cfg.Cells, Known: cfg.known, Decided: cfg.Decided}, tasks)
}

// byMoments bounds points by exact moments, and boxes by these at their middles and by differences.
func byMoments(ctx context.Context, e *engine.Engine, cfg Config, tasks []property.Task) ([]*claim.Result, error) {
	results, err := atPoints(ctx, e, cfg, tasks)
	if err != nil {
		return nil, err
	}
	return results, chernoff.Boxes(ctx, e, cfg.Cells, cfg.known, results)
}

// atPoints bounds points by exact moments, and nothing else.
func atPoints(ctx context.Context, e *engine.Engine, _ Config, tasks []property.Task) ([]*claim.Result, error) {
	return chernoff.Certify(ctx, e, tasks)
}

// onBoxes bounds by exact moments what is no point.
func onBoxes(ctx context.Context, e *engine.Engine, cfg Config, tasks []property.Task) ([]*claim.Result, error) {
	results := make([]*claim.Result, len(tasks))
	for i := range tasks {
		results[i] = claim.NewResult(&tasks[i], chernoff.Method)
	}
	return results, chernoff.Boxes(ctx, e, cfg.Cells, cfg.known, results)
}

// byDraws decides drawn networks.
func byDraws(ctx context.Context, e *engine.Engine, cfg Config, tasks []property.Task) ([]*claim.Result, error) {
	if err := e.Posterior.RequireNetworks(); err != nil {
		return nil, err
	}
	return decide.Statistical(ctx, e, decide.Draws{Networks: cfg.Samples, Seed: cfg.Seed, Confidence: cfg.Confidence, Cells: cfg.Cells}, tasks)
}

// bySet decides every network of a finite set.
func bySet(ctx context.Context, e *engine.Engine, cfg Config, tasks []property.Task) ([]*claim.Result, error) {
	return decide.Finite(ctx, e, cfg.Cells, !cfg.NoUpper, cfg.Confidence, tasks)
}

// QuickMomentsTime is about how long QuickMomentsDown takes on one processor. It is an error if the method does not fit.
func QuickMomentsTime(p *posterior.Posterior, t *property.Task) (time.Duration, error) {
	return chernoff.QuickTime(p, t)
}

// QuickMomentsDown bounds P_safe of a task at points from below, by exact moments and a short search (Chernoff takes
// longer and finds more); 0 where nothing is found. It is an error if the method does not fit or ctx has no time for it.
func QuickMomentsDown(ctx context.Context, p *posterior.Posterior, t *property.Task) (float64, error) {
	return chernoff.QuickDown(ctx, p, t)
}
