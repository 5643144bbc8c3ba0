package engine

import (
	"context"
	"errors"
	"time"
)

// ErrTimeUp is the cause that ends a context when the time of a task, or of a group, is up.
var ErrTimeUp = errors.New("prove: the time of this work is up")

// timing is how long an engine may work on what it has, and how much it gets next.
type timing struct {
	// run ends all work but the last rechecks of what has been finished.
	run  context.Context
	last bool
	// within ends the work under way, also inside of a pass; nil if nothing limits it.
	within context.Context
	// end is when that is.
	end time.Time
	// whole says that what is cut short is worth nothing: a group of several tasks, which
	// are done again in smaller ones.
	whole bool
	// stopped says that something was cut short since the work began.
	stopped bool
	// next is how many tasks the engine gets next, 0 if nothing is known yet.
	next int
	// slow is how long a task of late groups took, of slower ones more than of faster ones.
	slow time.Duration
}

// over is what the device fails with once the time is up, or the run has ended.
func (t *timing) over() error {
	switch {
	case t.last:
		return nil
	case t.within != nil:
		return t.within.Err()
	case t.run != nil:
		return t.run.Err()
	}
	return nil
}

// Until begins work that ends when within does, also inside of a pass, by about then. What is cut
// short has ErrTimeUp as the cause of its end.
func (e *Engine) Until(within context.Context, by time.Time) {
	e.timing.within, e.timing.end, e.timing.whole, e.timing.stopped = within, by, false, false
}

// Stopped says that some of the work that began last was cut short.
func (e *Engine) Stopped() bool { return e.timing.stopped }

// limited begins work that may take so long; 0 for as long as it takes. end must be called.
func (t *timing) limited(ctx context.Context, limit time.Duration, whole bool) (within context.Context, end func()) {
	t.stopped, t.whole = false, whole
	if limit <= 0 {
		return ctx, func() {}
	}
	by := time.Now().Add(limit)
	within, cancel := context.WithDeadlineCause(ctx, by, ErrTimeUp)
	t.within, t.end = within, by
	return within, func() {
		t.within = nil
		cancel()
	}
}

// Part limits work to a share of the time that is left, where a task's time is limited. end must
// be called, and not before work that began inside has ended.
func (e *Engine) Part(ctx context.Context, share float64) (within context.Context, end func()) {
	t := &e.timing
	if t.within == nil || t.whole || share >= 1 {
		return ctx, func() {}
	}
	outer, until := t.within, t.end
	t.end = time.Now().Add(time.Duration(share * float64(time.Until(until))))
	within, cancel := context.WithDeadlineCause(ctx, t.end, ErrTimeUp)
	t.within = within
	return within, func() {
		if within.Err() != nil { // whoever saw it may have left things out
			t.stopped = true
		}
		t.within, t.end = outer, until
		cancel()
	}
}

// isTimeUp says that err is of work whose time, and not that of the run, is up.
func isTimeUp(ctx context.Context, err error) bool {
	return err != nil && context.Cause(ctx) == ErrTimeUp && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrTimeUp))
}

// Cut says that a search that ended with err is to go on with what it has: its time is up.
// Whatever a search has taken in is proved, so that is sound.
func (e *Engine) Cut(ctx context.Context, err error) bool {
	if e.timing.whole || !isTimeUp(ctx, err) && !errors.Is(err, ErrShort) {
		return false
	}
	e.timing.stopped = true
	return true
}

// ErrShort says that the time that is left is needed to prove what a search has found.
var ErrShort = errors.New("prove: the time left is needed elsewhere")

// Short says that less time than this is left.
func (e *Engine) Short(need time.Duration) bool {
	t := &e.timing
	return t.within != nil && !t.whole && time.Until(t.end) < need
}

// Limited says that something ends the work under way before the run: the time of its task, or the
// guard of its group, which is given up then.
func (e *Engine) Limited() bool { return e.timing.within != nil }
