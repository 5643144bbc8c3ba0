package engine

import (
	"context"
	"errors"
	"psafe/host/prove/claim"
	"time"
)

// Results leave in order, and only when rechecks that came after them have agreed, of every
// kind of work that they rest on.

// held is a group of tasks whose results wait for that.
type held struct {
	span
	// after is the number of the last chunk that they rest on.
	after uint64
	// results is nil if they have to be computed again.
	results []*claim.Result
	// since is when the group was done.
	since time.Time
}

// careful has engines certify groups and emits what is confirmed.
type careful struct {
	order *order
	queue *queue
	// group certifies a group, which is given up with errTooLong after guard, if that is above
	// 0. If its error is a *Dropped, everything that is not confirmed has to be computed again,
	// which the engine then does on its spare device.
	group func(ctx context.Context, e *Engine, s span, guard time.Duration) ([]*claim.Result, error)
}

// do certifies a group on an engine.
func (c *careful) do(ctx context.Context, e *Engine, s span) error {
	r := &e.recheck
	start := time.Now()
	results, err := c.group(ctx, e, s, s.guard())
	switch {
	case errors.Is(err, errTooLong):
		c.queue.back(e, s)
		return nil
	case err == nil:
		c.queue.done(e, s, time.Since(start))
	}
	if err == nil || IsDropped(err) {
		r.held = append(r.held, held{s, r.launched, results, time.Now()})
		c.order.Did(s.first, len(results))
	}
	if err == nil {
		err = e.Confirm(r.overdue())
	}
	return c.settle(ctx, e, err)
}

// finish is called when an engine has no more groups to do, also where that is because the
// context ended: what an honest device has finished is kept.
func (c *careful) finish(ctx context.Context, e *Engine) error {
	if len(e.recheck.held) == 0 {
		return nil
	}
	e.timing.last = true
	err := e.Confirm(true)
	e.timing.last = false
	return c.settle(ctx, e, err)
}

// settle emits what is confirmed. If err says that the device was dropped, all that the
// engine holds is computed again.
func (c *careful) settle(ctx context.Context, e *Engine, err error) error {
	r := &e.recheck
	if IsDropped(err) {
		for k := range r.held {
			r.held[k].results = nil
		}
		err = nil
	}
	for k := range r.held {
		h := &r.held[k]
		if h.results != nil {
			continue
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			h.results, err = c.group(ctx, e, h.span, 0)
			c.order.Did(h.first, len(h.results))
		}
	}
	if failed := c.release(e); err == nil {
		err = failed
	}
	return err
}

// release emits the groups that are confirmed, in the order in which they were done.
func (c *careful) release(e *Engine) error {
	r := &e.recheck
	doubted := r.doubted()
	for len(r.held) > 0 && r.held[0].results != nil && (doubted == nil || r.held[0].after < doubted.since) {
		if err := c.order.Put(r.held[0].first, r.held[0].results); err != nil {
			return err
		}
		r.held = r.held[1:]
	}
	return nil
}
