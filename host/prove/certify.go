// Package prove decides how P_safe is bounded: by weight boxes, concentration LBP, sums
// of neurons, a finite set of networks or drawn ones (the table of ways).
//
// With weight boxes a result is a lower bound of P_safe(T, S) = Prob_w(for all x in T: f^w(x) in S)
// (docs/theory.md (1)), whatever the search did: a weight box counts only if
// bound.Propagate proved S on it for every input box of T, and what is measured
// is the set of exactly the end-points that were propagated.
package prove

import (
	"context"
	"errors"
	"fmt"
	"time"

	"psafe/host/prove/claim"
	"psafe/host/prove/decide"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
)

// Config describes how to certify.
type Config struct {
	Method Method
	// Samples and Seed are for IBP and LBP, where Task.Samples replaces a Samples of 0,
	// and for Statistical; with other methods Samples above 0 asks for the
	// Statistic beside the certified bounds.
	Samples int
	Seed    uint64
	// Gamma is the half-width of boxes in standard deviations; Task.Gamma replaces 0.
	Gamma float64
	// Cells is how many cells T may be cut into; 0 leaves it to the method.
	Cells int
	// Derived asks for Result.Derived.
	Derived bool
	// Each asks for Result.Each.
	Each bool
	// Quantile, if not nil, asks for Result.Quantile of this level, in (0, 1).
	Quantile *property.Exact
	// Decision asks for Result.Decision, of tasks whose safe set is that of property.ArgmaxIs.
	Decision bool
	// Rule is how the posterior predictive decides.
	Rule decide.Rule
	// Mean asks for Result.Mean, with the deviation of the noise of the data if Noise is not nil.
	Mean  bool
	Noise *property.Decimal
	// NoUpper leaves upper bounds out.
	NoUpper bool
	// Confidence is for Statistical and for what draws say of their posterior, in (0, 1).
	Confidence float64
	// TimeLimit, above 0, is how long a task may take: what was proved until then is its
	// result, which says Stopped. Not for IBP and LBP, whose tasks share their boxes.
	TimeLimit time.Duration
	// Decided, if set, says that the bounds of a result are all that is wanted: Auto tries nothing
	// more then, and the result says so.
	Decided func(*claim.Result) bool
	// known are the lower bounds that tasks of a group have already, where a method wants to know.
	known []float64
}

// Run certifies the tasks and calls emit once for each, in the order of the
// tasks, one call at a time. progress is called with the number of tasks done,
// one call at a time; either may be nil. A task's T must fit the network
// (property.Task.Check).
//
// Several engines, on several devices, share the work: whichever is free takes
// the next chunk. Results do not depend on how many there are, as all devices of
// one precision give the same bits. Those of cores beside devices (engine.Engine.Beside) come last.
//
// It refuses a method that is none, or none for the engines' posterior, and stops
// early with ctx's error, also inside of a pass, once what has been finished had its last
// rechecks. Any other error is a device's; no result is emitted for work
// that it touched.
func Run(ctx context.Context, engines []*engine.Engine, cfg Config, tasks []property.Task, progress func(done int), emit func(*claim.Result) error) error {
	if len(engines) == 0 {
		panic("prove: Run: no engine")
	}
	if progress == nil {
		progress = func(int) {}
	}
	w, err := cfg.way()
	if err != nil {
		return err
	}
	if err := w.fits(engines[0].Posterior); err != nil {
		return err
	}
	if err := cfg.takes(engines[0].Posterior, tasks); err != nil {
		return err
	}
	if _, shared := w.run.(together); shared && cfg.TimeLimit > 0 {
		return errors.New("no time limit of a task: tasks share their boxes")
	}
	emitted := 0
	counting := func(r *claim.Result) error { emitted++; return emit(r) }
	all := &engine.Run{Engines: w.enginesFor(cfg, engines), Tasks: tasks, TimeLimit: cfg.TimeLimit, Progress: progress, Emit: counting}
	if err := w.run.run(ctx, &job{all, w, cfg}); err != nil {
		return err
	}
	return complete(emitted, len(tasks))
}

// complete returns an error if tasks have no result although nothing failed: a mistake of this
// package, which must not pass for a run that is done.
func complete(emitted, tasks int) error {
	if emitted != tasks {
		return fmt.Errorf("prove: %d of %d tasks have a result, and nothing says why the others have none: report it, and go on with --resume", emitted, tasks)
	}
	return nil
}
