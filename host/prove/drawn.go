package prove

import (
	"context"
	"fmt"
	"slices"

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

// wants returns what a task wants.
func (j *job) wants(t *property.Task) boxJob {
	want := boxJob{j.cfg.Gamma, j.cfg.Samples}
	if want.gamma == 0 {
		want.gamma = t.Gamma
	}
	if want.samples == 0 {
		want.samples = t.Samples
	}
	return want
}

// drawnBoxes is Algorithm 1 of the paper, for each task: boxes around posterior
// samples, those that verify, and a lower bound of the probability of their
// union. The engines share the boxes of a task, of which there may be very many.
func drawnBoxes(ctx context.Context, j *job) error {
	like := map[boxJob][]int{}
	var kinds []boxJob
	for i := range j.Tasks {
		want := j.wants(&j.Tasks[i])
		if want.samples < 1 {
			return fmt.Errorf("drawn boxes: task %d asks for %d", j.Tasks[i].Index, want.samples)
		}
		if like[want] == nil {
			kinds = append(kinds, want)
		}
		like[want] = append(like[want], i)
	}
	// Results are emitted in the order of all tasks, so those of a batch may wait for others.
	var batches [][]int
	for _, want := range kinds {
		batches = slices.AppendSeq(batches, slices.Chunk(like[want], drawsFor(j.Engines[0], want.samples)))
	}
	return j.Together(ctx, batches, j.drawBoxes)
}

// drawsFor returns how many tasks share their draws: so few that verifying boxes for them takes
// some seconds, and so many that drawing again for the next takes a tenth of that.
func drawsFor(e *engine.Engine, samples int) int {
	const (
		most = 5e9  // multiplications
		draw = 1000 // what a weight of a draw costs, ten times
	)
	pass := max(1, engine.PassCost(e.Normal))
	return int(max(1, min(max(most/float64(samples)/pass, draw*float64(e.Normal.Weights())/pass), 1<<20)))
}

// drawBoxes draws the boxes that tasks want, verifies them, and then measures those of each that are
// safe.
func (j *job) drawBoxes(ctx context.Context, tasks []int) (func(ctx context.Context, task int) (*claim.Result, error), error) {
	var of []*property.Task
	at := map[int]int{}
	for k, n := range tasks {
		of = append(of, &j.Tasks[n])
		at[n] = k
	}
	want := j.wants(of[0])
	d := &boxes.Draws{Engines: j.Engines, Method: j.cfg.Method.propagation(), Gamma: want.gamma, Samples: want.samples, Seed: j.cfg.Seed}
	aims, mixtures, err := aimsOf(ctx, j.Engines[0], of)
	if err != nil {
		return nil, err
	}
	found, err := d.Verify(ctx, aims)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, task int) (*claim.Result, error) {
		k := at[task]
		return j.drawnResult(ctx, d, aims[k], mixtures[k], found[k])
	}, nil
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
	if mixed != nil {
		r = m.Better(r, mixed)
	}
	return r, j.beside(ctx, d.Engines[0], []*claim.Result{r})
}
