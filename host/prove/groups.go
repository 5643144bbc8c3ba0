package prove

import (
	"context"
	"time"

	"psafe/host/read/property"
)

// taskRun is tasks that engines certify.
type taskRun struct {
	engines []*Engine
	tasks   []property.Task
	// timeLimit, above 0, is how long a task may take.
	timeLimit time.Duration
	// progress gets the number of tasks done, emit a result for each, in the order of tasks; one call
	// at a time.
	progress func(done int)
	emit     func(*Result) error
}

// certifier certifies tasks that have as many input boxes each, on one engine.
type certifier func(ctx context.Context, e *Engine, tasks []property.Task) ([]*Result, error)

// grouping is tasks that are certified in groups.
type grouping struct {
	*taskRun
	certify certifier
}

// inGroups certifies the tasks in groups, each of which one engine certifies by itself, of up to most
// tasks, where one task costs about so many multiplications. No result depends on either. How large
// groups are, the time decides (pace.go).
func (j *taskRun) inGroups(ctx context.Context, most int, cost float64, certify certifier) error {
	g := grouping{j, certify}
	if n := len(j.engines); n > 1 {
		most = min(most, max(1, (len(j.tasks)+2*n-1)/(2*n)))
	}
	q := newQueue(j, most, cost)
	all := names(j.engines)
	c := &careful{newOrder(j), q, func(ctx context.Context, e *Engine, s span, guard time.Duration) ([]*Result, error) {
		start := time.Now()
		e.begin()
		tasks := j.tasks[s.first:s.end]
		results, err := g.timed(ctx, e, tasks, guard)
		if err == nil {
			err = door([]*Engine{e}, results, func(t *property.Task) ([]*Result, error) {
				return g.timed(ctx, e, []property.Task{*t}, 0)
			})
		}
		if err != nil {
			return nil, err
		}
		// Which of several devices was free is chance, and no part of a result.
		device := e.Name()
		if e.moved == 0 && e.recheck.off == nil {
			device = all
		}
		stamp(results, device, time.Since(start))
		return results, nil
	}}
	return share(ctx, j.engines, q.take, c.do, c.finish)
}

// timed certifies tasks within the time that each may take. Several are cut short by guard
// too, if it is above 0: the error is errTooLong then, and nothing is proved.
func (g grouping) timed(ctx context.Context, e *Engine, tasks []property.Task, guard time.Duration) ([]*Result, error) {
	limit := g.timeLimit
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
	var results []*Result
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
func (g grouping) within(ctx context.Context, e *Engine, tasks []property.Task, limit time.Duration) ([]*Result, error) {
	ctx, end := e.timing.limited(ctx, limit, len(tasks) > 1)
	defer end()
	results, err := g.certify(ctx, e, tasks)
	if err == nil && context.Cause(ctx) == ErrTimeUp { // whoever saw it may have left things out
		if len(tasks) > 1 {
			return nil, errTooLong
		}
		e.timing.stopped = true
	}
	switch {
	case err != nil && len(tasks) > 1 && isTimeUp(ctx, err):
		return nil, errTooLong
	case err == nil && e.Stopped():
		for _, r := range results {
			r.Stopped = TimeLimit
		}
	}
	return results, err
}

// groupSize is how many tasks from the first on, up to most, have as many input
// boxes as it.
func groupSize(tasks []property.Task, most int) int {
	n := 1
	for n < len(tasks) && n < most && len(tasks[n].T) == len(tasks[0].T) {
		n++
	}
	return n
}
