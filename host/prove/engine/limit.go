package engine

import (
	"context"
	"errors"
	"time"
)

// ErrTimeUp is the error of work whose time is up: that of its task, of its group, or of a Part of these. What
// is given a Part for its context ends with it, and so does the device. If the run has ended, that is another error:
// so whoever gets an error need not know which context it is of.
var ErrTimeUp = errors.New("prove: the time of this work is up")

// Part is the time of a task or a group, or a share of that, as the context of the work that has to be done in it.
type Part struct {
	context.Context
	expire context.CancelCauseFunc
	// Of holds what it is a share of; nil for the time of a task or a group.
	Of *Part
	t  *timing
}

// Err is ErrTimeUp once the time is up, of this part or of one that it is a share of; if the run has ended before,
// the error of that.
func (p *Part) Err() error {
	if p.t.seen != nil {
		p.t.seen(p.t.within)
	}
	return p.ended()
}

// ended is Err without a look.
func (p *Part) ended() error {
	err := p.Context.Err()
	if err != nil && context.Cause(p.Context) == ErrTimeUp {
		return ErrTimeUp
	}
	return err
}

// Expire ends the part as if its time were up.
func (p *Part) Expire() { p.expire(ErrTimeUp) }

// timing is how long an engine may work on what it has, and how much it gets next.
type timing struct {
	// run ends all work but the last rechecks of what has been finished.
	run  context.Context
	last bool
	// within ends the work under way, also inside of a pass; nil if nothing limits it.
	within *Part
	// end is when that is.
	end time.Time
	// seen is called at every look at the time of limited work, if it is not nil.
	seen func(within *Part)
	// whole reports whether what is cut short is worth nothing: a group of several tasks, which
	// are done again in smaller ones.
	whole bool
	// stopped reports whether something was cut short since the work began.
	stopped bool
	// next is how many tasks the engine gets next, 0 if nothing is known yet.
	next int
	// slow is how long a task of late groups took, of slower ones more than of faster ones.
	slow time.Duration
}

// over returns what the device fails with once the time is up, or the run has ended.
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

// begin begins a part of the work that ends at some time.
func (t *timing) begin(ctx context.Context, by time.Time) (end func()) {
	before, until := t.within, t.end
	ctx, expire := context.WithCancelCause(ctx)
	ctx, cancel := context.WithDeadlineCause(ctx, by, ErrTimeUp)
	t.within, t.end = &Part{ctx, expire, before, t}, by
	return func() {
		t.within, t.end = before, until
		cancel()
		expire(nil)
	}
}

// Seen has see called at every look at whether the time of limited work is up, with the part under way, which it may
// end: for tests, which end it at a look, and not at a time.
func (e *Engine) Seen(see func(within *Part)) { e.timing.seen = see }

// Stopped reports whether some of the work that began last was cut short.
func (e *Engine) Stopped() bool { return e.timing.stopped }

// Limit begins work that may take so long, 0 for as long as it takes; several says that it is on several tasks, which
// are done again if it does not suffice. end must be called.
func (e *Engine) Limit(ctx context.Context, limit time.Duration, several bool) (within context.Context, end func()) {
	t := &e.timing
	t.stopped, t.whole = false, several
	if limit <= 0 {
		return ctx, func() {}
	}
	end = t.begin(ctx, time.Now().Add(limit))
	return t.within, end
}

// Part limits work to a share of the time that is left, where a task's time is limited. end must
// be called, and not before work that began inside has ended.
func (e *Engine) Part(ctx context.Context, share float64) (within context.Context, end func()) {
	t := &e.timing
	if t.within == nil || t.whole || share >= 1 {
		return ctx, func() {}
	}
	done := t.begin(ctx, time.Now().Add(time.Duration(share*float64(time.Until(t.end)))))
	part := t.within
	return part, func() {
		if part.ended() != nil { // whoever saw it may have left things out
			t.stopped = true
		}
		done()
	}
}

// Cut reports whether a search that ended with err is to go on with what it has: its time is up, or that of a
// part of it. Whatever a search has taken in is proved, so that is sound. Of a group of several tasks nothing is kept.
func (e *Engine) Cut(err error) bool {
	if e.timing.whole || !errors.Is(err, ErrTimeUp) {
		return false
	}
	e.timing.stopped = true
	return true
}

// Limited reports whether something ends the work under way before the run: the time of its task, or the
// guard of its group, which is given up then.
func (e *Engine) Limited() bool { return e.timing.within != nil }
