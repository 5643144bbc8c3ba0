package prove

import (
	"psafe/host/model/posterior"
	"psafe/host/prove/clbp"
	"psafe/host/prove/decide"
	"psafe/host/prove/engine"
)

// mostTasks is how many tasks are certified together at most.
const mostTasks = 128

// groupByCost is up to mostTasks, fewer of a network so large that a group would take
// long.
func groupByCost(e *engine.Engine, cfg Config) int {
	const most = 5e10 // multiplications
	return int(max(1, min(most/max(1, taskCost(e, cfg)), mostTasks)))
}

// taskCost is about how many multiplications a task takes, at least.
func taskCost(e *engine.Engine, cfg Config) float64 {
	cost := engine.PassCost(e.Normal)
	if cfg.Samples > 0 {
		// Drawn networks are decided one by one, and where inputs are few, T is cut. The
		// factors are measured times beside those of a multiplication.
		each := 15.0
		if e.Normal.Inputs() <= decide.FewInputs {
			each = 4000
		}
		products := 0.0
		for _, l := range e.Normal.Layers {
			products += engine.Products(&l)
		}
		cost = max(cost, each*products*float64(cfg.Samples))
	}
	return cost
}

// firstCost is taskCost, or more where T is cut into many cells.
func firstCost(e *engine.Engine, cfg Config) float64 {
	cost := taskCost(e, cfg)
	if e.Normal.Inputs() <= decide.FewInputs {
		cost = max(cost, engine.PassCost(e.Normal)*float64(clbp.MostCells(e, cfg.Cells)))
	}
	return cost
}

// WorkApprox is about how many multiplications certifying one input box takes: enough to tell a
// second from a minute, not more. Config.Samples must be set for Drawn.
func WorkApprox(post *posterior.Posterior, cfg Config) float64 {
	const search = 20 // passes of a search for the widest box, or for the best budgets
	weights, passes := float64(post.Network().Work()), float64(search)
	drawn := cfg.Boxes == Drawn
	switch {
	case drawn:
		passes = float64(cfg.Samples)
	case cfg.Method == Finite && post.Networks() != nil:
		passes = float64(post.Networks().N())
	}
	each := engine.PassCost(post) + weights
	if cfg.Method == IBP {
		each = 4 * weights
	}
	work := passes * each
	if cfg.Samples > 0 && !drawn {
		work += 15 * weights * float64(cfg.Samples)
	}
	return work
}

// groupOfOne is for tasks that take seconds each: progress should show, and an
// interruption keep what is done.
func groupOfOne(*engine.Engine, Config) int { return 1 }
