package prove

import (
	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove/clbp"
	"psafe/host/prove/confine"
	"psafe/host/prove/decide"
	"psafe/host/prove/engine"
)

// mostTasks is the greatest number of tasks certified together, mostOnWide that on a device that
// is at its best with many at a time.
const (
	mostTasks  = 128
	mostOnWide = 16384
)

// groupByCost is up to mostTasks, fewer of a network so large that a group would take
// long. On a wide device how long tasks take, the first groups tell (engine.Run.InGroups); its memory
// may take them in several parts, and what these leave open is refined together.
func groupByCost(e *engine.Engine, cfg Config) int {
	if bound.Wide(e.Device) {
		return mostOnWide
	}
	const most = 5e10 // multiplications
	return int(max(1, min(most/max(1, taskCost(e, cfg)), mostTasks)))
}

// taskCost is about how many multiplications a task takes, at least.
func taskCost(e *engine.Engine, cfg Config) float64 {
	cost := engine.PassCost(e.Normal)
	if cfg.Samples > 0 {
		cost = max(cost, networkCost(e.Normal)*float64(cfg.Samples))
	}
	return cost
}

// attacked is how many times as long as its bounds a drawn network takes at least: some are attacked, most are
// proved before.
const attacked = 5

// networkCost is about how many multiplications it takes to decide a drawn network, at least: one
// that lines leave open takes many times as long. Where inputs are few, T is cut. The factors are
// measured times beside those of a multiplication.
func networkCost(post *posterior.Posterior) float64 {
	each := 15.0
	if post.Inputs() <= decide.FewInputs {
		each = 4000
	}
	products := 0.0
	for _, l := range post.Layers {
		products += engine.Products(&l)
	}
	return each * products
}

// firstCost is taskCost, or more where T is cut into many cells.
func firstCost(e *engine.Engine, cfg Config) float64 {
	cost := taskCost(e, cfg)
	if e.Normal.Inputs() <= decide.FewInputs {
		cost = max(cost, engine.PassCost(e.Normal)*float64(clbp.MostCells(e, cfg.Cells, 1)))
	}
	return cost
}

// WorkApprox is about how many multiplications certifying one input box takes, at least: enough to
// tell a second from a minute, not more. Config.Samples must be set for IBP and LBP.
func WorkApprox(post *posterior.Posterior, cfg Config) float64 {
	const search = 20 // passes of a search for the best budgets
	weights, passes := float64(post.Network().Work()), float64(search)
	drawn := cfg.Method.OfBoxes()
	switch {
	case drawn:
		passes = float64(cfg.Samples)
	case post.Networks() != nil && (cfg.Method == Finite || cfg.Method == Auto):
		return networkCost(post) * float64(post.Networks().N()+cfg.Samples)
	case cfg.Method == Statistical:
		passes = 0
	}
	each := engine.PassCost(post) + weights
	if cfg.Method == IBP {
		each = 4 * weights
	}
	work := passes * each
	if cfg.Samples > 0 && !drawn {
		each := networkCost(post)
		if post.Inputs() > decide.FewInputs {
			each *= attacked
		}
		work += each * float64(cfg.Samples)
	}
	return work
}

// groupOfOne is for tasks that take seconds each: progress should show, and an
// interruption keep what is done.
func groupOfOne(*engine.Engine, Config) int { return 1 }

// groupOfPhases is groupOfOne, and on a wide device, where tasks go on beside each other, as many as may, fewer of a
// network so large that a group would take long.
func groupOfPhases(e *engine.Engine, cfg Config) int {
	if !bound.Wide(e.Device) {
		return groupOfOne(e, cfg)
	}
	const most = 1e9 // multiplications of one pass each, of about a thousand
	return int(max(1, min(most/max(1, engine.PassCost(e.Normal)), confine.MostAtATime)))
}
