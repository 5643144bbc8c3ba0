package prove

import (
	"context"

	"psafe/host/prove/chernoff"
	"psafe/host/prove/claim"
	"psafe/host/prove/clbp"
	"psafe/host/prove/engine"
)

// Upper bounds (docs/theory.md, section 3.4): for any x of the true T, P_safe <= Prob(f(x) in S).
// The point is found by attack on the mean network; whatever it is, the bound holds.

// uppers looks for upper bounds, where they are wanted.
func uppers(ctx context.Context, e *engine.Engine, cfg Config, results []*claim.Result) error {
	if cfg.NoUpper || clbpFits(e.Posterior) != nil {
		return nil
	}
	err := ctx.Err()
	var at []clbp.Attacked
	if err == nil {
		at, err = clbp.Uppers(ctx, e, results)
	}
	if err == nil && e.Posterior.Independent() {
		err = upperBySums(ctx, e, results)
	}
	if err == nil && chernoff.Fits(e.Posterior) == nil {
		err = chernoff.Uppers(ctx, e, at, results)
	}
	if e.Cut(err) {
		return nil
	}
	return err
}
