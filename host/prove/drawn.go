package prove

import (
	"context"
	"fmt"
	"slices"
	"time"

	"psafe/host/prove/boxes"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/prove/mixture"
	"psafe/host/read/property"
)

// boxJob is the boxes that tasks want: tasks that want the same share the draws.
type boxJob struct {
	gamma   float64
	samples int
}

// drawnBoxes is Algorithm 1 of the paper, for each task: boxes around posterior
// samples, those that verify, and a lower bound of the probability of their
// union. The engines share the boxes of a task, of which there may be very many.
func drawnBoxes(ctx context.Context, j *job) error {
	wants := map[boxJob][]int{}
	var kinds []boxJob
	for i := range j.Tasks {
		want := boxJob{j.cfg.Gamma, j.cfg.Samples}
		if want.gamma == 0 {
			want.gamma = j.Tasks[i].Gamma
		}
		if want.samples == 0 {
			want.samples = j.Tasks[i].Samples
		}
		if want.samples < 1 {
			return fmt.Errorf("%v boxes: task %d asks for %d", Drawn, j.Tasks[i].Index, want.samples)
		}
		if wants[want] == nil {
			kinds = append(kinds, want)
		}
		wants[want] = append(wants[want], i)
	}
	order := engine.NewOrder(j.Run)
	for _, want := range kinds {
		var part []*property.Task
		for _, i := range wants[want] {
			part = append(part, &j.Tasks[i])
		}
		// Results are emitted in the order of all tasks, so those of a chunk may wait for others.
		numbers := wants[want]
		for chunk := range slices.Chunk(part, drawsFor(j.Engines[0], want.samples)) {
			first := numbers
			err := j.drawnTasks(ctx, want, chunk, func(n int, results []*claim.Result) error {
				for k := range results {
					if err := order.Put(first[n+k], results[k:k+1]); err != nil {
						return err
					}
					order.Did(first[n+k], 1)
				}
				return nil
			})
			if err != nil {
				return err
			}
			numbers = numbers[len(chunk):]
		}
	}
	return nil
}

// drawsFor is how many tasks share their draws: so few that verifying boxes for them takes some
// seconds, and so many that drawing again for the next takes a tenth of that.
func drawsFor(e *engine.Engine, samples int) int {
	const (
		most = 5e9  // multiplications
		draw = 1000 // what a weight of a draw costs, ten times
	)
	pass := max(1, engine.PassCost(e.Normal))
	return int(max(1, min(max(most/float64(samples)/pass, draw*float64(e.Normal.Weights())/pass), 1<<20)))
}

// drawnTasks bounds tasks that want the same boxes, on all engines together, until no
// device has to be dropped. put gets results of tasks from number n on, every few seconds.
func (j *job) drawnTasks(ctx context.Context, want boxJob, tasks []*property.Task, put func(n int, results []*claim.Result) error) error {
	d := &boxes.Draws{Engines: j.Engines, Method: j.cfg.Method.propagation(), Gamma: want.gamma, Samples: want.samples, Seed: j.cfg.Seed}
	aims, mixtures, err := aimsOf(ctx, j.Engines[0], tasks)
	if err != nil {
		return err
	}
	var found []boxes.Found // of tasks from number done on, nil if they are to be verified
	var verifying time.Duration
	for done := 0; done < len(tasks); {
		start := time.Now()
		var err error
		if found == nil {
			for _, e := range j.Engines {
				e.Begin()
			}
			found, err = d.Verify(ctx, aims[done:])
			verifying = time.Since(start) / time.Duration(len(tasks)-done)
			start = time.Now()
		}
		var results []*claim.Result
		for err == nil && len(results) < len(found) && (len(results) == 0 || time.Since(start) < engine.GroupTime) {
			n := len(results)
			var one *claim.Result
			one, err = j.drawnResult(ctx, d, aims[done+n], mixtures[done+n], found[n])
			results = append(results, one)
		}
		for _, e := range j.Engines {
			if err == nil {
				err = e.Confirm(true)
			}
		}
		if err == nil {
			err = engine.Door(j.Engines, results, func(t *property.Task) ([]*claim.Result, error) {
				n := slices.Index(tasks, t)
				found, err := d.Verify(ctx, aims[n:n+1])
				if err != nil {
					return nil, err
				}
				one, err := j.drawnResult(ctx, d, aims[n], mixtures[n], found[0])
				return []*claim.Result{one}, err
			})
		}
		switch {
		case engine.IsDropped(err):
			found = nil // nothing is kept that a device did which is not used any more
			continue
		case err != nil:
			return err
		}
		engine.Stamp(results, engine.Names(j.Engines), time.Since(start)+verifying*time.Duration(len(results)))
		if err := put(done, results); err != nil {
			return err
		}
		done, found = done+len(results), found[len(results):]
	}
	return nil
}

// aimsOf are the tasks, and mixtures of those that have one.
func aimsOf(ctx context.Context, e *engine.Engine, tasks []*property.Task) ([]boxes.Aim, []*mixture.Mixture, error) {
	mixtures, err := mixture.Choose(ctx, e, tasks)
	if err != nil {
		return nil, nil, err
	}
	aims := make([]boxes.Aim, len(tasks))
	for i, m := range mixtures {
		if aims[i].Task = tasks[i]; m != nil {
			aims[i].Mixed = &m.Task
		}
	}
	return aims, mixtures, nil
}

// drawnResult bounds a task, of which found is known, with all that was asked for beside.
func (j *job) drawnResult(ctx context.Context, d *boxes.Draws, a boxes.Aim, m *mixture.Mixture, f boxes.Found) (*claim.Result, error) {
	r, mixed, err := d.Result(ctx, a, f)
	if err != nil {
		return nil, err
	}
	r.Boxing = Drawn.String()
	if mixed != nil {
		mixed.Boxing = r.Boxing
		r = m.Better(r, mixed)
	}
	return r, j.beside(ctx, d.Engines[0], []*claim.Result{r})
}
