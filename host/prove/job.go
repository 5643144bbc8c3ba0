package prove

import (
	"context"
	"slices"

	"psafe/host/prove/claim"
	"psafe/host/prove/confine"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/internal/fault"
)

// job holds what Run was asked for.
type job struct {
	*engine.Run
	way *way
	cfg Config
}

// runner hands the tasks of a job to its engines.
type runner interface {
	run(ctx context.Context, j *job) error
}

// together is a runner whose engines work on every task at the same time.
type together func(ctx context.Context, j *job) error

func (f together) run(ctx context.Context, j *job) error { return f(ctx, j) }

// groupMethod certifies tasks that have as many input boxes each, on one engine.
type groupMethod func(ctx context.Context, e *engine.Engine, cfg Config, tasks []property.Task) ([]*claim.Result, error)

// groups is a runner that cuts the tasks into groups, each of which one engine certifies by itself.
type groups struct {
	certify groupMethod
	// most is how many tasks a group may have. No result depends on it.
	most func(e *engine.Engine, cfg Config) int
	// lanes reports whether tasks keep about one core busy, so that several go on beside each other.
	lanes func(e *engine.Engine) bool
	// cores reports whether the processor's cores beside a device (engine.Engine.Beside) may take groups: it is the
	// device's work mostly that takes time, where the cores would gain nothing by doing the host's twice.
	cores func(e *engine.Engine) bool
}

func (g groups) run(ctx context.Context, j *job) error {
	e := j.Engines[0]
	if lanes := g.lanesOf(j); lanes != nil {
		j.Engines = lanes
		defer fault.Beside()()
		defer func() {
			for _, l := range lanes {
				l.Close()
			}
		}()
	}
	most := func(e *engine.Engine) int { return g.most(e, j.cfg) }
	return j.InGroups(ctx, most, firstCost(e, j.cfg), func(ctx context.Context, e *engine.Engine, tasks []property.Task) ([]*claim.Result, error) {
		return g.full(ctx, j, e, tasks)
	})
}

// full certifies tasks with all that was asked for beside.
func (g groups) full(ctx context.Context, j *job, e *engine.Engine, tasks []property.Task) ([]*claim.Result, error) {
	results, err := g.certify(ctx, e, j.cfg, tasks)
	if err != nil {
		return nil, err
	}
	return results, j.beside(ctx, e, results)
}

// lanesOf returns the engines that work on tasks in the place of a job's only one, nil if that
// does: also where the time of a task is limited, in which it has all cores.
func (g groups) lanesOf(j *job) []*engine.Engine {
	e := j.Engines[0]
	if len(j.Engines) > 1 || j.cfg.TimeLimit > 0 || !g.lanes(e) {
		return nil
	}
	rows := e.Normal.Outputs()
	for i := range j.Tasks {
		rows = max(rows, len(j.Tasks[i].S.Rows))
	}
	return e.Lanes(len(j.Tasks), max(e.Model.CLBPFootprint(rows), confine.BytesApprox(e)))
}

// never and always are answers of methods that give the same for every posterior.
func never(*engine.Engine) bool  { return false }
func always(*engine.Engine) bool { return true }

// enginesFor are those of engines that are of use to a method: where the time of a task is limited the cores beside
// devices are not, which may do less in it.
func (w *way) enginesFor(cfg Config, engines []*engine.Engine) []*engine.Engine {
	if g, cut := w.run.(groups); cut && cfg.TimeLimit == 0 && g.cores(engines[0]) {
		return engines
	}
	return slices.DeleteFunc(slices.Clone(engines), func(e *engine.Engine) bool { return e.Beside })
}
