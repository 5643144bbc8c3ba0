package engine

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"psafe/host/prove/claim"
	"psafe/internal/fault"
	"psafe/internal/fpcontrol"
)

// Share hands work to the engines, each piece that next gives to whichever is free, and
// waits. An engine whose device was dropped gets no more if another is left. Each calls
// finish at its end, if there is one. The first error stops the rest and is returned.
func Share[W any](ctx context.Context, engines []*Engine, next func(e *Engine) (w W, more bool), work func(ctx context.Context, e *Engine, w W) error, finish func(context.Context, *Engine) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	left := len(engines) // that take work
	// turn is next, unless the engine is to leave the work to others. Work may come back, so
	// one that found none does not count as another: mu makes that and leaving one step each.
	turn := func(e *Engine, counted *bool) (w W, more bool) {
		mu.Lock()
		defer mu.Unlock()
		if e.recheck.off != nil && !*counted {
			left--
			if *counted = true; left > 0 {
				return w, false
			}
		}
		if w, more = next(e); !more && !*counted {
			left--
			*counted = true
		}
		return w, more
	}
	var wait sync.WaitGroup
	for _, e := range engines {
		fault.Go(&wait, func() {
			for counted := false; ctx.Err() == nil; {
				w, more := turn(e, &counted)
				if !more {
					break
				}
				if err := work(ctx, e, w); err != nil {
					cancel(err)
					break
				}
			}
			if finish == nil {
				return
			}
			if err := finish(ctx, e); err != nil {
				cancel(err)
			}
		})
	}
	wait.Wait()
	return context.Cause(ctx)
}

// Numbers gives 0..n-1, to several goroutines.
func Numbers(n int) func(*Engine) (int, bool) {
	var given atomic.Int64
	return func(*Engine) (int, bool) {
		i := int(given.Add(1)) - 1
		return i, i < n
	}
}

// names lists the devices of engines, each once.
func names(engines []*Engine) string {
	var list []string
	for _, e := range engines {
		if !slices.Contains(list, e.Name()) {
			list = append(list, e.Name())
		}
	}
	return strings.Join(list, " + ")
}

// stamp notes which device did the work, and each task's share of the time.
func stamp(results []*claim.Result, device string, d time.Duration) {
	for _, r := range results {
		if r.Device == "" {
			r.Device = device
		}
		r.Seconds = d.Seconds() / float64(len(results))
	}
}

// order lets tasks finish in any order and emits their results in theirs.
type order struct {
	mu       sync.Mutex
	results  []*claim.Result
	next     int
	counted  []bool // tasks that are in done
	done     int
	progress func(int)
	emit     func(*claim.Result) error
	failed   error // why nothing more is emitted
	// emitting reports whether a goroutine, one of emitted, emits what is complete; calls has one call of
	// progress or emit at a time.
	emitting bool
	emitted  sync.WaitGroup
	calls    sync.Mutex
}

func newOrder(j *Run) *order {
	n := len(j.Tasks)
	return &order{results: make([]*claim.Result, n), counted: make([]bool, n), progress: j.Progress, emit: j.Emit}
}

// did counts tasks as done. They count once.
func (o *order) did(tasks []int) {
	o.calls.Lock()
	defer o.calls.Unlock()
	o.mu.Lock()
	before := o.done
	for _, i := range tasks {
		if !o.counted[i] {
			o.counted[i] = true
			o.done++
		}
	}
	done := o.done
	o.mu.Unlock()
	if done > before {
		o.progress(done)
	}
}

// put takes in the results of tasks, and has what is complete up to them emitted, beside the work on
// other tasks. Nothing is emitted after an error, which put or wait returns, nor once foreign code is
// found to have changed how the processor rounds.
func (o *order) put(tasks []int, results []*claim.Result) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for k, i := range tasks {
		o.results[i] = results[k]
	}
	if err := fpcontrol.Err(); err != nil && o.failed == nil {
		o.failed = err
	}
	if !o.emitting && o.complete() {
		o.emitting = true
		fault.Go(&o.emitted, o.emitAll)
	}
	return o.failed
}

// complete reports whether there is a result to be emitted.
func (o *order) complete() bool {
	return o.failed == nil && o.next < len(o.results) && o.results[o.next] != nil
}

// emitAll emits what is complete.
func (o *order) emitAll() {
	for {
		o.calls.Lock()
		o.mu.Lock()
		if !o.complete() {
			o.emitting = false
			o.mu.Unlock()
			o.calls.Unlock()
			return
		}
		r := o.results[o.next]
		o.results[o.next] = nil // what is written is not needed any more
		o.next++
		o.mu.Unlock()
		err := o.emit(r)
		o.calls.Unlock()
		if err != nil {
			o.mu.Lock()
			o.failed = err
			o.mu.Unlock()
		}
	}
}

// wait waits until everything complete has been emitted.
func (o *order) wait() error {
	o.emitted.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failed
}
