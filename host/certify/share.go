package certify

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"psafe/host/property"
)

// job is what Run was asked for.
type job struct {
	strategy *entry
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
// certifies by itself.
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
	var list [][]property.Task
	for rest := j.tasks; len(rest) > 0; {
		n := groupSize(rest, most)
		list, rest = append(list, rest[:n]), rest[n:]
	}
	all := names(j.engines)
	c := &careful{newOrder(len(list), j), func(ctx context.Context, e *Engine, i int) ([]*Result, error) {
		start := time.Now()
		e.begin()
		results, err := g.full(ctx, j, e, list[i])
		if err == nil {
			err = door([]*Engine{e}, results, func(t *property.Task) ([]*Result, error) {
				return g.full(ctx, j, e, []property.Task{*t})
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
	return share(ctx, j.engines, len(list), c.do, c.finish)
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
// long, since an interruption loses the group that is under way.
func groupByCost(e *Engine, cfg Config) int {
	const most = 5e10 // multiplications
	cost := e.passCost()
	if cfg.Samples > 0 {
		// Drawn networks are decided one by one, and where inputs are few, T is cut. The
		// factors are measured times beside those of a multiplication.
		each := 15.0
		if e.normal.Inputs() <= fewInputs {
			each = 4000
		}
		weights := 0.0
		for _, l := range e.normal.Layers {
			weights += float64(l.Inputs()) * float64(l.Outputs())
		}
		cost = max(cost, each*weights*float64(cfg.Samples))
	}
	return int(max(1, min(most/max(1, cost), mostTasks)))
}

// passCost is about how many multiplications it takes to bound one input box by LBP: every
// neuron is taken back to the input.
func (e *Engine) passCost() float64 {
	weights, cost := 0.0, 0.0
	for _, l := range e.normal.Layers {
		cost += float64(l.Outputs()) * weights
		weights += float64(l.Inputs()) * float64(l.Outputs())
	}
	return cost
}

// fewInputs is up to how many inputs T is cut into cells unless Config.Cells says
// otherwise: with more, halves are hardly smaller.
const fewInputs = 8

// groupOfOne is for tasks that take seconds each: progress should show, and an
// interruption keep what is done.
func groupOfOne(*Engine, Config) int { return 1 }

// share hands the numbers 0..n-1 to the engines, each to whichever is free, and
// waits. An engine whose device was dropped gets no more if another is left. Each calls
// finish at its end, if there is one. The first error stops the rest and is returned.
func share(ctx context.Context, engines []*Engine, n int, work func(ctx context.Context, e *Engine, i int) error, finish func(context.Context, *Engine) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int, n)
	for i := range n {
		next <- i
	}
	close(next)
	var left atomic.Int32 // engines that take work
	left.Store(int32(len(engines)))
	var wait sync.WaitGroup
	for _, e := range engines {
		wait.Go(func() {
			for counted := false; ; {
				if e.recheck.off != nil && !counted {
					if counted = true; left.Add(-1) > 0 {
						break
					}
				}
				i, more := <-next
				if !more || ctx.Err() != nil {
					break
				}
				if err := work(ctx, e, i); err != nil {
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

// onCores runs f(0) ... f(n-1) on all cores and waits.
func onCores(n int, f func(i int)) {
	var wait sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range n {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			f(i)
		})
	}
	wait.Wait()
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

// order lets groups finish in any order and emits them in theirs.
type order struct {
	mu       sync.Mutex
	groups   [][]*Result
	next     int
	counted  []bool // groups that are in done
	done     int
	progress func(int)
	emit     func(*Result) error
	failed   error // what emit said
}

func newOrder(n int, j *job) *order {
	return &order{groups: make([][]*Result, n), counted: make([]bool, n), progress: j.progress, emit: j.emit}
}

// did counts the tasks of group i, n of them, as done. They count once.
func (o *order) did(i, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n > 0 && !o.counted[i] {
		o.counted[i] = true
		o.done += n
		o.progress(o.done)
	}
}

// put takes in group i and emits what is complete up to it. Nothing is emitted after an
// error.
func (o *order) put(i int, results []*Result) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.groups[i] = results
	for o.failed == nil && o.next < len(o.groups) && o.groups[o.next] != nil {
		for _, r := range o.groups[o.next] {
			if o.failed = o.emit(r); o.failed != nil {
				break
			}
		}
		o.next++
	}
	return o.failed
}
