package engine

import (
	"context"
	"errors"
	"math"
)

// The processor's cores beside devices (Engine.Beside) take groups from the same queue. Bits are equal, so
// who does a task is chance. Which of the two is faster, and by how much, is measured: a device leaves the
// cores their share of what is left. When nothing is left, the cores do again, from its end, what a device is
// still at, and a device what the cores are at. What is done first counts, and who is at nothing else is
// stopped: so the slower of them keeps nobody waiting, however slow it is.

// errElsewhere ends work that has been done by another engine.
var errElsewhere = errors.New("prove: others have done this work")

// hand is what an engine is at; stop, if it is set, ends that.
type hand struct {
	span
	stop context.CancelCauseFunc
}

// devicesFirst is take, where devices have their first spans before the cores get any: a short job is theirs.
func (q *queue) devicesFirst() func(e *Engine) (span, bool) {
	first := map[*Engine]span{}
	for _, e := range q.job.Engines {
		if e.Beside || e.recheck.off != nil {
			continue
		}
		if s, more := q.take(e); more {
			first[e] = s
		}
	}
	return func(e *Engine) (span, bool) {
		if s, has := first[e]; has {
			delete(first, e)
			return s, true
		}
		return q.take(e)
	}
}

// fair is how many of the tasks that are left a device may take: its share by what tasks take, if that is
// known of all engines. Groups of cores are short.
func (q *queue) fair(e *Engine) int {
	rest, mine, all := 0, 0.0, 0.0
	for _, s := range q.rest {
		rest += s.end - s.first
	}
	beside := false
	for _, o := range q.job.Engines {
		if o.timing.slow == 0 {
			return math.MaxInt
		}
		rate := 1 / float64(o.timing.slow)
		if all += rate; o == e {
			mine = rate
		}
		beside = beside || o.Beside
	}
	if !beside || e.Beside || rest == 0 {
		return math.MaxInt
	}
	return max(1, int(math.Ceil(float64(rest)*mine/all)))
}

// twice returns tasks that one engine of the other kind is at, and no more than that: the last ones. Cores of
// which nothing is known, as the job was short, get none.
func (q *queue) twice(e *Engine, size int) (s span, more bool) {
	if e.Beside && e.timing.slow == 0 {
		return span{}, false
	}
	for _, o := range q.job.Engines {
		h := q.hands[o]
		if h == nil || o.Beside == e.Beside {
			continue
		}
		open := func(i int) bool { return i >= h.first && q.at[i] == 1 && !q.did[i] }
		s.end = h.end
		for s.end > h.first && !open(s.end-1) {
			s.end--
		}
		for s.first = s.end; s.end-s.first < size && open(s.first-1); {
			s.first--
		}
		if s.first < s.end {
			return s, true
		}
	}
	return span{}, false
}

// begin is the time of an engine's span, which ends when others have done all of it.
func (q *queue) begin(ctx context.Context, e *Engine) (within context.Context, end func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	within, stop := context.WithCancelCause(ctx)
	q.hands[e].stop, e.timing.run = stop, within
	q.stopDone()
	return within, func() {
		e.timing.run = ctx
		stop(nil)
	}
}

// leave takes a span from an engine. It returns, if that is done, what of it was not before; if not, what
// nobody else is at, which is still to be done.
func (q *queue) leave(e *Engine, done bool) (parts []span) {
	q.mu.Lock()
	defer q.mu.Unlock()
	h := q.hands[e]
	delete(q.hands, e)
	for i := h.first; i < h.end; i++ {
		q.at[i]--
		if q.did[i] || !done && q.at[i] > 0 {
			continue
		}
		q.did[i] = done
		if n := len(parts); n > 0 && parts[n-1].end == i {
			parts[n-1].end++
		} else {
			parts = append(parts, span{i, i + 1})
		}
	}
	q.stopDone()
	return parts
}

// stopDone stops engines that are at nothing that is not done.
func (q *queue) stopDone() {
	for _, h := range q.hands {
		open := false
		for i := h.first; i < h.end; i++ {
			open = open || !q.did[i]
		}
		if !open && h.stop != nil {
			h.stop(errElsewhere)
		}
	}
}
