package prove

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/fault"
	"psafe/internal/fpcontrol"
)

// job is what Run was asked for.
type job struct {
	way      *way
	engines  []*Engine
	cfg      Config
	tasks    []property.Task
	progress func(done int)
	emit     func(*Result) error
}

// runner hands the tasks of a job to its engines.
type runner interface {
	run(ctx context.Context, j *job) error
}

// together is a runner whose engines work on every task at the same time.
type together func(ctx context.Context, j *job) error

func (f together) run(ctx context.Context, j *job) error { return f(ctx, j) }

// groupMethod certifies tasks that have as many input boxes each, on one engine.
type groupMethod func(ctx context.Context, e *Engine, cfg Config, tasks []property.Task) ([]*Result, error)

// groups is a runner that cuts the tasks into groups, each of which one engine
// certifies by itself. How large they are, the time decides (pace.go).
type groups struct {
	certify groupMethod
	// most is how many tasks a group may have. No result depends on it.
	most func(e *Engine, cfg Config) int
}

func (g groups) run(ctx context.Context, j *job) error {
	most := g.most(j.engines[0], j.cfg)
	if n := len(j.engines); n > 1 {
		most = min(most, max(1, (len(j.tasks)+2*n-1)/(2*n)))
	}
	q := newQueue(j, most)
	all := names(j.engines)
	c := &careful{newOrder(j), q, func(ctx context.Context, e *Engine, s span, guard time.Duration) ([]*Result, error) {
		start := time.Now()
		e.begin()
		tasks := j.tasks[s.first:s.end]
		results, err := g.timed(ctx, j, e, tasks, guard)
		if err == nil {
			err = door([]*Engine{e}, results, func(t *property.Task) ([]*Result, error) {
				return g.timed(ctx, j, e, []property.Task{*t}, 0)
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
func (g groups) timed(ctx context.Context, j *job, e *Engine, tasks []property.Task, guard time.Duration) ([]*Result, error) {
	limit := j.cfg.TimeLimit
	if len(tasks) == 1 {
		return g.within(ctx, j, e, tasks, limit)
	}
	if guard > 0 {
		if limit > 0 {
			guard = min(guard, limit)
		}
		return g.within(ctx, j, e, tasks, guard)
	}
	if limit == 0 {
		return g.within(ctx, j, e, tasks, 0)
	}
	var results []*Result
	for i := range tasks { // each has its own time
		one, err := g.within(ctx, j, e, tasks[i:i+1], limit)
		if err != nil {
			return nil, err
		}
		results = append(results, one...)
	}
	return results, nil
}

// within certifies tasks until a limit, if it is above 0.
func (g groups) within(ctx context.Context, j *job, e *Engine, tasks []property.Task, limit time.Duration) ([]*Result, error) {
	ctx, end := e.timing.limited(ctx, limit, len(tasks) > 1)
	defer end()
	results, err := g.full(ctx, j, e, tasks)
	if err == nil && context.Cause(ctx) == errTimeUp { // whoever saw it may have left things out
		if len(tasks) > 1 {
			return nil, errTooLong
		}
		e.timing.stopped = true
	}
	switch {
	case err != nil && len(tasks) > 1 && isTimeUp(ctx, err):
		return nil, errTooLong
	case err == nil && e.timing.stopped:
		for _, r := range results {
			r.Stopped = TimeLimit
		}
	}
	return results, err
}

// full certifies tasks with all that was asked for beside.
func (g groups) full(ctx context.Context, j *job, e *Engine, tasks []property.Task) ([]*Result, error) {
	results, err := g.certify(ctx, e, j.cfg, tasks)
	if err != nil {
		return nil, err
	}
	return results, j.beside(ctx, e, results)
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

// mostTasks is how many tasks are certified together at most.
const mostTasks = 128

// groupByCost is up to mostTasks, fewer of a network so large that a group would take
// long.
func groupByCost(e *Engine, cfg Config) int {
	const most = 5e10 // multiplications
	return int(max(1, min(most/max(1, taskCost(e, cfg)), mostTasks)))
}

// taskCost is about how many multiplications a task takes, at least.
func taskCost(e *Engine, cfg Config) float64 {
	cost := e.passCost()
	if cfg.Samples > 0 {
		// Drawn networks are decided one by one, and where inputs are few, T is cut. The
		// factors are measured times beside those of a multiplication.
		each := 15.0
		if e.normal.Inputs() <= fewInputs {
			each = 4000
		}
		products := 0.0
		for _, l := range e.normal.Layers {
			products += productsOf(&l)
		}
		cost = max(cost, each*products*float64(cfg.Samples))
	}
	return cost
}

// passCost is about how many multiplications it takes to bound one input box by LBP: every
// neuron is taken back to the input.
func (e *Engine) passCost() float64 { return passCost(e.normal) }

func passCost(post *posterior.Posterior) float64 {
	products, cost := 0.0, 0.0
	for _, l := range post.Layers {
		if _, fixed := l.Map.(network.Fixed); !fixed { // those need no rows of their own
			cost += float64(l.Outputs()) * products
		}
		products += productsOf(&l)
	}
	return cost
}

// productsOf is about how many products the sums of a layer have.
func productsOf(l *posterior.Layer) float64 { return float64(l.Work() - l.Outputs()) }

// WorkApprox is about how many multiplications certifying one input box takes: enough to tell a
// second from a minute, not more. Config.Samples must be set for Drawn.
func WorkApprox(post *posterior.Posterior, cfg Config) float64 {
	const search = 20 // passes of a search for the widest box, or for the best budgets
	weights, passes := float64(post.Network().Work()), float64(search)
	drawn := cfg.Boxes == Drawn
	switch {
	case drawn:
		passes = float64(cfg.Samples)
	case cfg.Method == Finite && post.Networks() != nil:
		passes = float64(post.Networks().N())
	}
	each := passCost(post) + weights
	if cfg.Method == IBP {
		each = 4 * weights
	}
	work := passes * each
	if cfg.Samples > 0 && !drawn {
		work += 15 * weights * float64(cfg.Samples)
	}
	return work
}

// fewInputs is up to how many inputs T is cut into cells unless Config.Cells says
// otherwise: with more, halves are hardly smaller.
const fewInputs = 8

// groupOfOne is for tasks that take seconds each: progress should show, and an
// interruption keep what is done.
func groupOfOne(*Engine, Config) int { return 1 }

// share hands work to the engines, each piece that next gives to whichever is free, and
// waits. An engine whose device was dropped gets no more if another is left. Each calls
// finish at its end, if there is one. The first error stops the rest and is returned.
func share[W any](ctx context.Context, engines []*Engine, next func(e *Engine) (w W, more bool), work func(ctx context.Context, e *Engine, w W) error, finish func(context.Context, *Engine) error) error {
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

// numbers gives 0..n-1, to several goroutines.
func numbers(n int) func(*Engine) (int, bool) {
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
func stamp(results []*Result, device string, d time.Duration) {
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
	results  []*Result
	next     int
	counted  []bool // tasks that are in done
	done     int
	progress func(int)
	emit     func(*Result) error
	failed   error // why nothing more is emitted
}

func newOrder(j *job) *order {
	n := len(j.tasks)
	return &order{results: make([]*Result, n), counted: make([]bool, n), progress: j.progress, emit: j.emit}
}

// did counts n tasks from number first on as done. They count once.
func (o *order) did(first, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := o.done
	for i := first; i < first+n; i++ {
		if !o.counted[i] {
			o.counted[i] = true
			o.done++
		}
	}
	if o.done > before {
		o.progress(o.done)
	}
}

// put takes in the results of tasks from number first on and emits what is complete up to
// them. Nothing is emitted after an error, nor once foreign code is found to have changed
// how the processor rounds.
func (o *order) put(first int, results []*Result) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	copy(o.results[first:], results)
	if err := fpcontrol.Err(); err != nil && o.failed == nil {
		o.failed = err
	}
	for o.failed == nil && o.next < len(o.results) && o.results[o.next] != nil {
		o.failed = o.emit(o.results[o.next])
		o.results[o.next] = nil // what is written is not needed any more
		o.next++
	}
	return o.failed
}
