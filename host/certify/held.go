package certify

import (
	"context"
)

// Results leave in order, and only when a recheck that came after all that they rest on
// has agreed.

// held is a group of tasks whose results wait for that.
type held struct {
	group int
	// after is the number of the last chunk that they rest on.
	after uint64
	// results is nil if they have to be computed again.
	results []*Result
}

// careful has engines certify groups and emits what is confirmed.
type careful struct {
	order *order
	// group certifies a group. If its error is a *Dropped, everything that is not confirmed
	// has to be computed again, which the engine then does on its spare device.
	group func(ctx context.Context, e *Engine, i int) ([]*Result, error)
}

// do certifies group i on an engine.
func (c *careful) do(ctx context.Context, e *Engine, i int) error {
	r := &e.recheck
	results, err := c.group(ctx, e, i)
	if err == nil || isDropped(err) {
		r.held = append(r.held, held{i, r.launched, results})
		c.order.did(i, len(results))
	}
	if err == nil && r.affordable() {
		err = e.confirm()
	}
	return c.settle(ctx, e, err)
}

// finish is called when an engine has no more groups to do, also where that is because the
// context ended: what an honest device has finished is kept.
func (c *careful) finish(ctx context.Context, e *Engine) error {
	if len(e.recheck.held) == 0 {
		return nil
	}
	return c.settle(ctx, e, e.confirm())
}

// settle emits what is confirmed. If err says that the device was dropped, all that the
// engine holds is computed again.
func (c *careful) settle(ctx context.Context, e *Engine, err error) error {
	r := &e.recheck
	if isDropped(err) {
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
			h.results, err = c.group(ctx, e, h.group)
			c.order.did(h.group, len(h.results))
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
	for len(r.held) > 0 && r.held[0].results != nil && (r.off != nil || r.held[0].after <= r.confirmed) {
		if err := c.order.put(r.held[0].group, r.held[0].results); err != nil {
			return err
		}
		r.held = r.held[1:]
	}
	return nil
}
