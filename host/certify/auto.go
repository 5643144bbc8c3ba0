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
func auto(ctx context.Context, e *Engine, cfg Config, tasks []property.Task) ([]*Result, error) {
	best, err := mixing(concentration)(ctx, e, cfg, tasks)
	if err != nil {
		return nil, err
	}
	// Upper bounds first: what they leave no room for is not looked for.
	if err := uppers(ctx, e, cfg, best); err != nil {
		return nil, err
	}
	if autoSums(e) {
		if err := improve(ctx, e, cfg, best, rung{neuronSum, content}); err != nil {
			return nil, err
		}
	}
	return best, improve(ctx, e, cfg, best, rung{mixing(centredBoxes), contentBoxes})
}

// autoSums says that auto tries sums of neurons.
func autoSums(e *Engine) bool {
	return e.chain && len(e.normal.Layers) == 2 && e.normal.Inputs() <= sumInputsAuto
}

// groupOfAuto is one where sums of neurons, which take seconds, are tried.
func groupOfAuto(e *Engine, cfg Config) int {
	if autoSums(e) {
		return groupOfOne(e, cfg)
	}
	return groupByCost(e, cfg)
}

// rung is a method that auto goes on to where the lower bound is below enough.
type rung struct {
	certify groupMethod
	enough  float64
}

// improve goes on to another method on the tasks that are worth it.
func improve(ctx context.Context, e *Engine, cfg Config, best []*Result, next rung) error {
	var at []int
	var tasks []property.Task
	for i, r := range best {
		if r.Lower() < next.enough && r.Upper()-r.Lower() > noRoom {
			at, tasks = append(at, i), append(tasks, *r.Task)
		}
	}
	if err := ctx.Err(); len(tasks) > 0 && e.cut(ctx, err) {
		return nil
	}
	// Methods want tasks with as many input boxes each.
	for len(tasks) > 0 {
		n := groupSize(tasks, len(tasks))
		results, err := next.certify(ctx, e, cfg, tasks[:n])
		if err != nil {
			return err
		}
		for i, r := range results {
			old := best[at[i]]
			if r.Lower() > old.Lower() || r.Lower() == old.Lower() && r.LogP > old.LogP {
				r.Task, r.UnsafeDown, r.Proof.Upper = old.Task, old.UnsafeDown, old.Proof.Upper
				best[at[i]] = r
			}
		}
		at, tasks = at[n:], tasks[n:]
	}
	return nil
}
