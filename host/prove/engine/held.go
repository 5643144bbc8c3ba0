package engine

import (
	"context"
	"time"

	"psafe/host/prove/claim"
)

// Results leave in order, and only when rechecks that came after them have agreed, of every
// kind of work that they rest on, on every engine that they rest on.

// team is engines that certify the same tasks, and what they hold back.
type team struct {
	engines []*Engine
	held    []held
}

// newTeam has engines hold back what they do together.
func newTeam(engines ...*Engine) *team {
	t := &team{engines: engines}
	for _, e := range engines {
		e.recheck.team = t
	}
	return t
}

// held is a group of tasks whose results wait for rechecks.
type held struct {
	// tasks are their numbers.
	tasks []int
	// after is, for each engine of the team, the number of the last chunk that they rest on.
	after []uint64
	// results is nil if they have to be computed again.
	results []*claim.Result
	// since is when the group was done.
	since time.Time
}

// launched returns how many chunks the devices of the team have answered, by engine.
func (t *team) launched() []uint64 {
	var all []uint64
	for _, e := range t.engines {
		all = append(all, e.recheck.launched)
	}
	return all
}

// confirm does the rechecks that results wait for, on every engine: as many as are affordable, and
// all where results have waited long enough or it is the last time.
func (t *team) confirm(last bool) error {
	for _, e := range t.engines {
		if err := e.confirm(last || e.recheck.overdue()); err != nil {
			return err
		}
	}
	return nil
}

// confirmed reports whether rechecks have agreed which came after everything that a group rests on.
func (t *team) confirmed(h *held) bool {
	for i, e := range t.engines {
		if w := e.recheck.doubted(); w != nil && h.after[i] >= w.since {
			return false
		}
	}
	return true
}

// careful emits what is confirmed.
type careful struct {
	order *order
	// again certifies the tasks of these numbers. If its error is a *Dropped, everything that is not
	// confirmed has to be computed again, which the engine then does on its spare device.
	again func(ctx context.Context, t *team, tasks []int) ([]*claim.Result, error)
}

// hold takes in tasks and their results, all before one of them is confirmed, or the error that ended them.
func (c *careful) hold(ctx context.Context, t *team, done []held, err error) error {
	if err == nil || isDropped(err) {
		for _, h := range done {
			h.after, h.since = t.launched(), time.Now()
			t.held = append(t.held, h)
			c.order.did(h.tasks[:len(h.results)])
		}
	}
	if err == nil {
		err = t.confirm(false)
	}
	return c.settle(ctx, t, err)
}

// finish is called when a team has no more tasks to do, also where that is because the
// context ended: what an honest device has finished is kept.
func (c *careful) finish(ctx context.Context, t *team) error {
	if len(t.held) == 0 {
		return nil
	}
	for _, e := range t.engines {
		e.timing.last = true
	}
	err := t.confirm(true)
	for _, e := range t.engines {
		e.timing.last = false
	}
	return c.settle(ctx, t, err)
}

// settle emits what is confirmed. If err says that a device was dropped, all that the
// team holds is computed again.
func (c *careful) settle(ctx context.Context, t *team, err error) error {
	for isDropped(err) {
		for k := range t.held {
			t.held[k].results = nil
		}
		err = c.repair(ctx, t)
	}
	if failed := c.release(t); err == nil {
		err = failed
	}
	return err
}

// repair computes again what has no results.
func (c *careful) repair(ctx context.Context, t *team) error {
	for k := range t.held {
		h := &t.held[k]
		if h.results != nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		results, err := c.again(ctx, t, h.tasks)
		if err != nil {
			return err
		}
		h.results, h.after = results, t.launched()
		c.order.did(h.tasks)
	}
	return nil
}

// release emits the groups that are confirmed, in the order in which they were done.
func (c *careful) release(t *team) error {
	for len(t.held) > 0 && t.held[0].results != nil && t.confirmed(&t.held[0]) {
		if err := c.order.put(t.held[0].tasks, t.held[0].results); err != nil {
			return err
		}
		t.held = t.held[1:]
	}
	return nil
}
