package engine

import (
	"context"
	"slices"
	"time"

	"psafe/host/prove/claim"
	"psafe/host/read/property"
)

// Prepare does the work that some tasks share, given by number, on all engines. What it returns then
// bounds each of them by itself.
type Prepare func(ctx context.Context, tasks []int) (func(ctx context.Context, task int) (*claim.Result, error), error)

// together is tasks on which all engines work at the same time.
type together struct {
	*Run
	prepare Prepare
	team    *team
	// rest are, for each task, it and those of its batch after it.
	rest [][]int
	// ready bounds the tasks known, as long as lost, the number of devices that were dropped, stays
	// the same: nothing is kept that a device did which is not used any more.
	ready func(ctx context.Context, task int) (*claim.Result, error)
	known map[int]bool
	lost  int
	// preparing is how long preparing took lately, and each the share of a task of that.
	preparing, each time.Duration
}

// Together certifies the tasks with all engines at work on each, in batches that share their
// preparation. Every task is in one batch.
func (j *Run) Together(ctx context.Context, batches [][]int, prepare Prepare) error {
	j.begin(ctx)
	g := &together{Run: j, prepare: prepare, team: newTeam(j.Engines...), rest: make([][]int, len(j.Tasks))}
	c := &careful{newOrder(j), func(ctx context.Context, _ *team, tasks []int) ([]*claim.Result, error) {
		results, err := g.some(ctx, tasks, 0)
		return results, err
	}}
	err := g.all(ctx, c, batches)
	if failed := c.finish(ctx, g.team); err == nil {
		err = failed
	}
	if failed := c.order.wait(); err == nil {
		err = failed
	}
	return err
}

// all certifies one batch after the other, a group of tasks at a time.
func (g *together) all(ctx context.Context, c *careful, batches [][]int) error {
	for _, b := range batches {
		for i, n := range b {
			g.rest[n] = b[i:]
		}
		for len(b) > 0 {
			results, err := g.some(ctx, b, groupTime)
			n := max(1, len(results))
			if err := c.hold(ctx, g.team, []held{{tasks: b[:n], results: results}}, err); err != nil {
				return err
			}
			b = b[n:]
		}
	}
	return nil
}

// some certifies tasks of one batch: all of them, or as many as take so long, if that is above 0.
func (g *together) some(ctx context.Context, tasks []int, long time.Duration) ([]*claim.Result, error) {
	g.preparing = 0
	start := time.Now()
	var results []*claim.Result
	for _, n := range tasks {
		if long > 0 && len(results) > 0 && time.Since(start)-g.preparing >= long {
			break
		}
		r, err := g.one(ctx, n)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	if err := door(g.Engines, results, func(t *property.Task) ([]*claim.Result, error) {
		n := tasks[slices.IndexFunc(results, func(r *claim.Result) bool { return r.Task == t })]
		alone, err := g.prepare(ctx, []int{n})
		if err != nil {
			return nil, err
		}
		r, err := alone(ctx, n)
		return []*claim.Result{r}, err
	}); err != nil {
		return nil, err
	}
	stamp(results, names(g.Engines), time.Since(start)-g.preparing+g.each*time.Duration(len(results)))
	return results, nil
}

// one bounds a task, of which all is prepared before.
func (g *together) one(ctx context.Context, n int) (*claim.Result, error) {
	lost := 0
	for _, e := range g.Engines {
		if e.recheck.off != nil {
			lost++
		}
	}
	if lost != g.lost || !g.known[n] {
		for _, e := range g.Engines {
			e.begin()
		}
		start := time.Now()
		ready, err := g.prepare(ctx, g.rest[n])
		if err != nil {
			g.known = nil
			return nil, err
		}
		g.ready, g.known, g.lost = ready, map[int]bool{}, lost
		for _, of := range g.rest[n] {
			g.known[of] = true
		}
		took := time.Since(start)
		g.preparing, g.each = g.preparing+took, took/time.Duration(len(g.known))
	}
	return g.ready(ctx, n)
}
