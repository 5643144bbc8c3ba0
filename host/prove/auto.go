package prove

import (
	"context"
	"slices"

	"psafe/host/prove/chernoff"
	"psafe/host/prove/claim"
	"psafe/host/prove/clbp"
	"psafe/host/prove/confine"
	"psafe/host/prove/decide"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
)

// What auto is content with: a lower bound from which on nothing dearer is tried, and ones from
// which on the search for trees of leaves is left out.
const (
	content = 0.9999
	// contentLeaves holds the content leaves of sums over leaves, which take up to some seconds.
	contentLeaves = 0.999
	// noRoom is a gap between the bounds that is not worth closing, noRoomDear one that is not
	// worth minutes, if no verdict is asked for.
	noRoom     = 0.01
	noRoomDear = 0.05
	// leastByPhases is a little below what phases prove, if they prove anything.
	leastByPhases = 0.999
	// nextToNothing is a lower bound that tells nobody anything.
	nextToNothing = 0.01
)

// Shares of the time that is left, where a task's time is limited: what comes first must not take
// the time of what may prove more.
const (
	// shareOfCells is for concentration LBP, with all cells that it cuts T into.
	shareOfCells = 0.6
	// shareOfRung is for each method after it but the last that is wanted.
	shareOfRung = 0.4
	// shareOfDrawn is left for networks that are drawn beside the bounds.
	shareOfDrawn = 0.25
)

// auto tries what is cheap first and keeps the best bound of each task: concentration LBP,
// phases, sums over neurons where there is one hidden layer, moments. Each is a lower bound of the same
// probability, so the largest is one too. A task that Config.Decided is content with is not worked
// on any more.
func auto(ctx context.Context, e *engine.Engine, cfg Config, tasks []property.Task) ([]*claim.Result, error) {
	if cfg.Samples > 0 {
		within, end := e.Part(ctx, 1-shareOfDrawn)
		defer end()
		ctx = within
	}
	best, rest, err := firstBounds(ctx, e, cfg, tasks)
	if err != nil {
		return nil, err
	}
	// Upper bounds first: what they leave no room for is not looked for.
	if err := uppers(ctx, e, cfg, best); err != nil {
		return nil, err
	}
	rungs := slices.Concat(rest, ballRungs(tasks), momentRungs(e, atPoints), rungsOf(e, &cfg))
	if !autoSums(e, &cfg) {
		// On boxes moments come last: others, which they would leave no room for, may show more. Sums of neurons
		// do so with all the time that there is.
		rungs = append(rungs, momentRungs(e, onBoxes)...)
	}
	for i, next := range rungs {
		if !wanted(rungs[i+1:], best) {
			next.share = 1
		}
		if err := improve(ctx, e, cfg, best, next); err != nil {
			return nil, err
		}
	}
	return best, nil
}

// firstBounds returns the first bounds of concentration LBP: where tasks may be decided early, on the boxes of T
// as they are, and what is left to do on cells of them.
func firstBounds(ctx context.Context, e *engine.Engine, cfg Config, tasks []property.Task) (best []*claim.Result, rest []rung, err error) {
	within, end := e.Part(ctx, shareOfCells)
	defer end()
	method := withMixtures(byCLBP)
	if cfg.Decided == nil || clbp.MostCells(e, cfg.Cells, 1) == 1 {
		best, err = method(within, e, cfg, tasks)
		return best, nil, err
	}
	whole := cfg
	whole.Cells = 1
	best, err = method(within, e, whole, tasks)
	return best, []rung{{certify: method, enough: 1 - clbp.Enough, share: shareOfCells}}, err
}

// ballRungs returns what concentration LBP shows of the box around a ball, which may be cut.
func ballRungs(tasks []property.Task) []rung {
	if !slices.ContainsFunc(tasks, func(t property.Task) bool { return t.Ball != nil }) {
		return nil
	}
	return []rung{{certify: withMixtures(byCLBP), enough: 1 - clbp.Enough, share: shareOfRung, balls: true}}
}

// boxed is a task with the box around its ball for T: what is proved of that is true of the ball. Of many
// inputs the box holds so much more that nothing is shown of it, unless both are one point.
func boxed(t property.Task) (box property.Task, worth bool) {
	if t.Ball == nil {
		return t, true
	}
	t.Ball = nil
	b := t.T[0]
	return t, len(b.Lo) <= decide.FewInputs || slices.Equal(b.Lo, b.Hi)
}

// momentRungs are exact moments, which take up to a second where they may gain something.
func momentRungs(e *engine.Engine, method groupMethod) []rung {
	if chernoff.Fits(e.Posterior) != nil {
		return nil
	}
	return []rung{{certify: method, enough: content, share: shareOfRung}}
}

// rungsOf returns what is tried after concentration LBP: what takes seconds, and what may take minutes
// only if it is said when that is to end.
func rungsOf(e *engine.Engine, cfg *Config) []rung {
	if !e.Posterior.Independent() {
		return nil // all else is for independent weights
	}
	room, dear := noRoom, noRoomDear
	if cfg.Decided != nil { // the smallest room may have the probability that is asked for
		room, dear = 0, 0
	}
	if autoPhases(e) {
		// What confinement proves is next to certain, so that nothing is left for others.
		confined := rung{certify: byConfinement, enough: content, least: leastByPhases, share: shareOfRung}
		if len(e.Normal.Layers) < 3 { // what is lost there is lost to noise
			return []rung{confined}
		}
		return []rung{confined, {certify: withMixtures(byLeaves), enough: contentLeaves, share: shareOfRung}}
	}
	if !autoSums(e, cfg) {
		return nil
	}
	cells := rung{certify: cellSums, enough: content, room: room, share: shareOfRung}
	grids := rung{certify: gridSums, enough: content, room: dear, share: shareOfRung}
	if e.Normal.Inputs() > sumInputsAuto {
		cells.room = dear
		return []rung{cells, grids}
	}
	if !cfg.ends() {
		return []rung{cells}
	}
	grids.enough = nextToNothing // of so few inputs, grids show more than cells only where these show nothing
	return []rung{cells, grids}
}

// autoPhases reports whether auto confines noise: with many inputs, or with more than one hidden layer, as one
// with few inputs is for sums of neurons; and of chains of dense layers, as graphs have so many units that rows pay
// more for confined noise than by tails.
func autoPhases(e *engine.Engine) bool {
	return e.Chain && (e.Normal.Inputs() > decide.FewInputs || len(e.Normal.Layers) > 2) && confine.Fits(e.Normal) == nil
}

// autoCores reports whether it is concentration LBP that takes auto's time: as of graphs, which moments, phases and
// sums are not for.
func autoCores(e *engine.Engine) bool { return !e.Chain }

// sumInputsDear is up to how many inputs auto tries sums of neurons that may take minutes.
const sumInputsDear = 5

// autoSums reports whether auto tries sums of neurons: of one or two inputs, which take seconds on cells;
// of a few more, if it is said when that is to end.
func autoSums(e *engine.Engine, cfg *Config) bool {
	inputs := e.Normal.Inputs()
	return e.Chain && len(e.Normal.Layers) == 2 && (inputs <= sumInputsAuto || inputs <= sumInputsDear && cfg.ends())
}

// ends says that it is said when auto is to end, so that it may take minutes where seconds tell
// little.
func (c *Config) ends() bool { return c.TimeLimit > 0 || c.Decided != nil }

// groupOfAuto is one where sums of neurons, which take seconds, are tried, and a few where phases
// are, which take up to a second.
func groupOfAuto(e *engine.Engine, cfg Config) int {
	const few = 8
	switch {
	case autoSums(e, &cfg):
		return groupOfOne(e, cfg)
	case autoPhases(e):
		return max(groupOfPhases(e, cfg), min(few, groupByCost(e, cfg)))
	}
	return groupByCost(e, cfg)
}

// rung is a method that auto goes on to where the lower bound is below enough, and the bounds are
// further apart than room.
type rung struct {
	certify      groupMethod
	enough, room float64
	// least holds what the method proves if it proves anything.
	least float64
	// share is how much of the time that is left it may take, if time is limited.
	share float64
	// balls reports whether it is for tasks with balls alone.
	balls bool
}

// open reports whether the method is worth trying.
func (g *rung) open(r *claim.Result) bool {
	return r.Lower() < g.enough && r.Upper()-r.Lower() > g.room && r.Upper() >= g.least
}

// wanted reports whether one of the methods may yet be tried: bounds only get better.
func wanted(rungs []rung, best []*claim.Result) bool {
	return slices.ContainsFunc(rungs, func(g rung) bool { return slices.ContainsFunc(best, g.open) })
}

// improve goes on to another method on the tasks that are worth it. Those of which enough is known
// say so.
func improve(ctx context.Context, e *engine.Engine, cfg Config, best []*claim.Result, next rung) error {
	var at []int
	var tasks []property.Task
	var known []float64
	for i, r := range best {
		box, worth := boxed(*r.Task) // nothing else knows of balls
		switch {
		case !next.open(r) || !worth || next.balls && r.Task.Ball == nil:
		case cfg.Decided != nil && cfg.Decided(r):
			r.Stopped = claim.Decided
		default:
			at, tasks, known = append(at, i), append(tasks, box), append(known, r.Lower())
		}
	}
	if err := ctx.Err(); len(tasks) > 0 && e.Cut(err) {
		return nil
	}
	ctx, end := e.Part(ctx, next.share)
	defer end()
	// Methods want tasks with as many input boxes each.
	for len(tasks) > 0 {
		n := engine.GroupSize(tasks, len(tasks))
		cfg.known = known[:n]
		results, err := next.certify(ctx, e, cfg, tasks[:n])
		if e.Cut(err) {
			return nil
		}
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
		at, tasks, known = at[n:], tasks[n:], known[n:]
	}
	return nil
}
