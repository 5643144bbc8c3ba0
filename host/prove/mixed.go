package prove

import (
	"context"

	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/prove/mixture"
	"psafe/host/read/property"
)

// withMixtures is certify, and then, of the tasks whose safe set has mixtures of alternatives and of
// which something is left to be proved, certify with a mixture in S (property.Safe.Mixed). Both
// are lower bounds of the same probability, and the larger counts: a search for the larger set
// of proofs may end at a smaller bound. All else about a task is said of its own S.
func withMixtures(certify groupMethod) groupMethod {
	return func(ctx context.Context, e *engine.Engine, cfg Config, tasks []property.Task) ([]*claim.Result, error) {
		best, err := certify(ctx, e, cfg, tasks)
		if err != nil {
			return nil, err
		}
		var left []*property.Task
		var at []int
		for i, r := range best {
			switch {
			case r.Lower() >= content || r.Task.S.Mixable() == nil:
			case cfg.Decided != nil && cfg.Decided(r):
				r.Stopped = claim.Decided
			default:
				left, at = append(left, r.Task), append(at, i)
			}
		}
		var mixed []property.Task
		var chosen []*mixture.Mixture
		mixtures, err := mixture.Choose(ctx, e, left)
		if e.Cut(err) {
			return best, nil
		}
		if err != nil {
			return nil, err
		}
		for k, m := range mixtures {
			if m != nil {
				at[len(mixed)] = at[k]
				mixed, chosen = append(mixed, m.Task), append(chosen, m)
			}
		}
		if err := ctx.Err(); len(mixed) == 0 || e.Cut(err) {
			return best, nil
		}
		if cfg.known != nil {
			cfg.known = nil
			for k := range mixed {
				cfg.known = append(cfg.known, best[at[k]].Lower())
			}
		}
		results, err := certify(ctx, e, cfg, mixed)
		if e.Cut(err) {
			return best, nil
		}
		if err != nil {
			return nil, err
		}
		for k, r := range results {
			best[at[k]] = chosen[k].Better(best[at[k]], r)
		}
		return best, nil
	}
}
