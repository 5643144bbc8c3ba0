package engine

import (
	"context"
	"errors"
	"time"

	"psafe/host/prove/claim"
	"psafe/host/read/property"
)

// Run is tasks that engines certify.
type Run struct {
	Engines []*Engine
	Tasks   []property.Task
	// TimeLimit, above 0, is how long a task may take.
	TimeLimit time.Duration
	// Progress gets the number of tasks done, emit a result for each, in the order of tasks; one call
	// at a time.
	Progress func(done int)
	Emit     func(*claim.Result) error
}

// begin has the engines end all work when ctx does.
func (j *Run) begin(ctx context.Context) {
	for _, e := range j.Engines {
		e.timing.run = ctx
	}
}

// Certifier certifies tasks that have as many input boxes each, on one engine.
type Certifier func(ctx context.Context, e *Engine, tasks []property.Task) ([]*claim.Result, error)

// grouping is tasks that are certified in groups.
type grouping struct {
	*Run
	certify Certifier
	// devices are the names of all that work.
	devices string
}

// InGroups certifies the tasks in groups, each of which one engine certifies by itself, of up to most
// tasks, where one task costs about so many multiplications. No result depends on either. How large
// groups are, the time decides (pace.go); what is begun last may be done twice (cores.go).
func (j *Run) InGroups(ctx context.Context, most func(e *Engine) int, cost float64, certify Certifier) error {
	g := grouping{j, certify, names(j.Engines)}
	q := newQueue(j, most, cost)
	j.begin(ctx)
	for _, e := range j.Engines {
		newTeam(e)
	}
	c := &careful{newOrder(j), func(ctx context.Context, t *team, tasks []int) ([]*claim.Result, error) {
		return g.group(ctx, t.engines[0], span{tasks[0], tasks[0] + len(tasks)}, 0)
	}}
	work := func(ctx context.Context, e *Engine, s span) error {
		start := time.Now()
		within, end := q.begin(ctx, e)
		results, err := g.group(within, e, s, s.guard(e))
		end()
		var counts []span
		switch {
		case err == nil:
			counts = q.done(e, s, time.Since(start))
		case errors.Is(err, errTooLong):
			q.back(e, s)
			return nil
		case isDropped(err):
			counts = q.leave(e, false)
		default:
			q.leave(e, false)
			if context.Cause(within) == errElsewhere && errors.Is(err, context.Canceled) {
				return nil
			}
		}
		var done []held
		for _, part := range counts {
			h := held{tasks: part.numbers()}
			if err == nil {
				h.results = results[part.first-s.first : part.end-s.first]
			}
			done = append(done, h)
		}
		if len(done) == 0 {
			return c.settle(ctx, e.recheck.team, err)
		}
		return c.hold(ctx, e.recheck.team, done, err)
	}
	finish := func(ctx context.Context, e *Engine) error { return c.finish(ctx, e.recheck.team) }
	err := Share(ctx, j.Engines, q.devicesFirst(), work, finish)
	if failed := c.order.wait(); err == nil {
		err = failed
	}
	return err
}

// group certifies a group, which is given up with errTooLong after guard, if that is above 0.
func (g grouping) group(ctx context.Context, e *Engine, s span, guard time.Duration) ([]*claim.Result, error) {
	start := time.Now()
	e.begin()
	results, err := g.timed(ctx, e, g.Tasks[s.first:s.end], guard)
	if err == nil {
		err = door([]*Engine{e}, results, func(t *property.Task) ([]*claim.Result, error) {
			return g.timed(ctx, e, []property.Task{*t}, 0)
		})
	}
	if err != nil {
		return nil, err
	}
	// Which of several devices was free is chance, and no part of a result.
	device := e.Name()
	if e.moved == 0 && e.recheck.off == nil {
		device = g.devices
	}
	stamp(results, device, time.Since(start))
	return results, nil
}

// timed certifies tasks within the time that each may take. Several are cut short by guard
// too, if it is above 0: the error is errTooLong then, and nothing is proved.
func (g grouping) timed(ctx context.Context, e *Engine, tasks []property.Task, guard time.Duration) ([]*claim.Result, error) {
	limit := g.TimeLimit
	if len(tasks) == 1 {
		return g.within(ctx, e, tasks, limit)
	}
	if guard > 0 {
		if limit > 0 {
			guard = min(guard, limit)
		}
		return g.within(ctx, e, tasks, guard)
	}
	if limit == 0 {
		return g.within(ctx, e, tasks, 0)
	}
	var results []*claim.Result
	for i := range tasks { // each has its own time
		one, err := g.within(ctx, e, tasks[i:i+1], limit)
		if err != nil {
			return nil, err
		}
		results = append(results, one...)
	}
	return results, nil
}

// within certifies tasks until a limit, if it is above 0.
func (g grouping) within(ctx context.Context, e *Engine, tasks []property.Task, limit time.Duration) ([]*claim.Result, error) {
	ctx, end := e.Limit(ctx, limit, len(tasks) > 1)
	defer end()
	results, err := g.certify(ctx, e, tasks)
	if err == nil && context.Cause(ctx) == ErrTimeUp { // whoever saw it may have left things out
		if len(tasks) > 1 {
			return nil, errTooLong
		}
		e.timing.stopped = true
	}
	switch {
	case len(tasks) > 1 && errors.Is(err, ErrTimeUp):
		return nil, errTooLong
	case err == nil && e.Stopped():
		for _, r := range results {
			r.Stopped = claim.TimeLimit
		}
	}
	return results, err
}

// GroupSize returns how many tasks from the first on, up to most, have as many input
// boxes as it.
func GroupSize(tasks []property.Task, most int) int {
	n := 1
	for n < len(tasks) && n < most && len(tasks[n].T) == len(tasks[0].T) {
		n++
	}
	return n
}
