package certify

import (
	"context"
	"sync"
	"time"

	"psafe/host/property"
)

// share hands the numbers 0..n-1 to the engines, each to whichever is free, and
// waits. The first error stops the rest and is returned.
func share(ctx context.Context, engines []*Engine, n int, work func(ctx context.Context, e *Engine, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int, n)
	for i := range n {
		next <- i
	}
	close(next)
	var wait sync.WaitGroup
	for _, e := range engines {
		wait.Go(func() {
			for i := range next {
				if ctx.Err() != nil {
					return
				}
				if err := work(ctx, e, i); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	wait.Wait()
	return context.Cause(ctx)
}

// groupMethod certifies tasks with as many input boxes each.
type groupMethod func(*Engine, context.Context, Config, []property.Task) ([]*Result, error)

// runGroups cuts the tasks into groups that are certified together, by method.
func runGroups(ctx context.Context, engines []*Engine, method groupMethod, cfg Config, tasks []property.Task,
	progress func(int), emit func(*Result) error) error {
	most := engines[0].groupMost(cfg)
	if post := engines[0].normal; cfg.Strategy == NeuronSums || cfg.Strategy == Auto && len(post.Layers) == 2 && post.Inputs() <= sumInputsAuto {
		most = 1 // seconds each: progress should show, and an interruption keep what is done
	}
	if n := len(engines); n > 1 {
		most = min(most, max(1, (len(tasks)+2*n-1)/(2*n)))
	}
	var groups [][]property.Task
	for rest := tasks; len(rest) > 0; {
		n := groupSize(rest, most)
		groups, rest = append(groups, rest[:n]), rest[n:]
	}
	order, all := newOrder(len(groups), progress, emit), names(engines)
	err := share(ctx, engines, len(groups), func(ctx context.Context, e *Engine, i int) error {
		start := time.Now()
		e.begin()
		results, err := method(e, ctx, cfg, groups[i])
		if err == nil {
			err = e.beside(ctx, cfg, results)
		}
		if err != nil {
			return err
		}
		// Which of several devices was free is chance, and no part of a result.
		device := e.Name()
		if e.moved == 0 {
			device = all
		}
		stamp(results, device, time.Since(start))
		return order.put(i, results)
	})
	return err
}

// groupMost is how many tasks may be certified together: up to mostTasks, fewer of a
// network so large that a group would take long, since an interruption loses the
// group that is under way. No result depends on it.
func (e *Engine) groupMost(cfg Config) int {
	const most = 5e10 // multiplications
	inputs, cost := 0.0, 0.0
	for _, l := range e.normal.Layers {
		// Every neuron is taken back to the input.
		cost += float64(l.Outputs()) * inputs
		inputs += float64(l.Inputs()) * float64(l.Outputs())
	}
	if cfg.Samples > 0 && cfg.Strategy != Sampled {
		// Drawn networks are decided one by one, and where inputs are few, T is cut. The
		// factors are measured times beside those of a multiplication.
		each := 15.0
		if e.normal.Inputs() <= 8 {
			each = 4000
		}
		cost = max(cost, each*inputs*float64(cfg.Samples))
	}
	return int(max(1, min(most/max(1, cost), mostTasks)))
}

// stamp notes which device did the work, and each task's share of the time.
func stamp(results []*Result, device string, d time.Duration) {
	for _, r := range results {
		if r.Device == "" {
			r.Device = device
		}
		r.Seconds = d.Seconds() / float64(len(results))
	}
}

// order lets groups finish in any order and emits them in theirs.
type order struct {
	mu       sync.Mutex
	groups   [][]*Result
	next     int
	done     int
	progress func(int)
	emit     func(*Result) error
}

func newOrder(n int, progress func(int), emit func(*Result) error) *order {
	return &order{groups: make([][]*Result, n), progress: progress, emit: emit}
}

// put takes in group i and emits what is complete up to it.
func (o *order) put(i int, results []*Result) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.groups[i] = results
	o.done += len(results)
	for o.next < len(o.groups) && o.groups[o.next] != nil {
		for _, r := range o.groups[o.next] {
			if err := o.emit(r); err != nil {
				return err
			}
		}
		o.next++
	}
	o.progress(o.done)
	return nil
}
