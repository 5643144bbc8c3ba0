package prove

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"psafe/host/bound"
	"psafe/host/read/property"
)

// mostDrawn is how many drawn boxes are drawn and propagated at once at
// most, on devices that do not say what suits them.
const mostDrawn = 512

// boxJob is the boxes that tasks want: tasks that want the same share the draws.
type boxJob struct {
	gamma   float64
	samples int
}

// draws are the boxes of a boxJob, drawn and verified on engines.
type draws struct {
	boxJob
	engines []*Engine
	cfg     Config
}

// drawnBoxes is Algorithm 1 of the paper, for each task: boxes around posterior
// samples, those that verify, and a lower bound of the probability of their
// union. The engines share the boxes of a task, of which there may be very many.
func drawnBoxes(ctx context.Context, j *job) error {
	wants := map[boxJob][]int{}
	var kinds []boxJob
	for i := range j.tasks {
		want := boxJob{j.cfg.Gamma, j.cfg.Samples}
		if want.gamma == 0 {
			want.gamma = j.tasks[i].Gamma
		}
		if want.samples == 0 {
			want.samples = j.tasks[i].Samples
		}
		if want.samples < 1 {
			return fmt.Errorf("%v boxes: task %d asks for %d", Drawn, j.tasks[i].Index, want.samples)
		}
		if wants[want] == nil {
			kinds = append(kinds, want)
		}
		wants[want] = append(wants[want], i)
	}
	order := newOrder(j)
	for _, want := range kinds {
		var part []*property.Task
		for _, i := range wants[want] {
			part = append(part, &j.tasks[i])
		}
		// Results are emitted in the order of all tasks, so those of a chunk may wait for others.
		numbers := wants[want]
		for chunk := range slices.Chunk(part, drawsFor(j.engines[0], want.samples)) {
			first := numbers
			err := j.drawnTasks(ctx, want, chunk, func(n int, results []*Result) error {
				for k := range results {
					if err := order.put(first[n+k], results[k:k+1]); err != nil {
						return err
					}
					order.did(first[n+k], 1)
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
func drawsFor(e *Engine, samples int) int {
	const (
		most = 5e9  // multiplications
		draw = 1000 // what a weight of a draw costs, ten times
	)
	pass := max(1, e.passCost())
	return int(max(1, min(max(most/float64(samples)/pass, draw*float64(e.normal.Weights())/pass), 1<<20)))
}

// drawnTasks bounds tasks that want the same boxes, on all engines together, until no
// device has to be dropped. put gets results of tasks from number n on, every few seconds.
func (j *job) drawnTasks(ctx context.Context, want boxJob, tasks []*property.Task, put func(n int, results []*Result) error) error {
	d := &draws{want, j.engines, j.cfg}
	aims, err := aimsOf(ctx, j.engines[0], tasks)
	if err != nil {
		return err
	}
	var found []found // of tasks from number done on, nil if they are to be verified
	var verifying time.Duration
	for done := 0; done < len(tasks); {
		start := time.Now()
		var err error
		if found == nil {
			for _, e := range j.engines {
				e.begin()
			}
			found, err = d.verify(ctx, aims[done:])
			verifying = time.Since(start) / time.Duration(len(tasks)-done)
			start = time.Now()
		}
		var results []*Result
		for err == nil && len(results) < len(found) && (len(results) == 0 || time.Since(start) < groupTime) {
			n := len(results)
			var more []*Result
			more, err = d.results(ctx, j, aims[done+n:done+n+1], found[n:n+1])
			results = append(results, more...)
		}
		for _, e := range j.engines {
			if err == nil {
				err = e.confirm(true)
			}
		}
		if err == nil {
			err = door(j.engines, results, func(t *property.Task) ([]*Result, error) {
				again := aims[slices.Index(tasks, t):][:1]
				found, err := d.verify(ctx, again)
				if err != nil {
					return nil, err
				}
				return d.results(ctx, j, again, found)
			})
		}
		switch {
		case isDropped(err):
			found = nil // nothing is kept that a device did which is not used any more
			continue
		case err != nil:
			return err
		}
		stamp(results, names(j.engines), time.Since(start)+verifying*time.Duration(len(results)))
		if err := put(done, results); err != nil {
			return err
		}
		done, found = done+len(results), found[len(results):]
	}
	return nil
}

// aim is a task, and the same with a mixture among the alternatives of S, nil if it has none.
type aim struct {
	task  *property.Task
	mixed *mixture
}

func aimsOf(ctx context.Context, e *Engine, tasks []*property.Task) ([]aim, error) {
	mixtures, err := e.mixtures(ctx, tasks)
	if err != nil {
		return nil, err
	}
	aims := make([]aim, len(tasks))
	for i, m := range mixtures {
		aims[i] = aim{tasks[i], m}
	}
	return aims, nil
}

// rows are all rows that are bounded, those of the task first.
func (a *aim) rows() []property.Row {
	if a.mixed != nil {
		return a.mixed.task.S.Rows
	}
	return a.task.S.Rows
}

// results bounds tasks, of which found is known, with all that was asked for beside.
func (d *draws) results(ctx context.Context, j *job, aims []aim, found []found) ([]*Result, error) {
	results := make([]*Result, len(aims))
	for n, a := range aims {
		var err error
		if results[n], err = d.result(ctx, a.task, found[n]); err != nil {
			return nil, err
		}
		if with := found[n].mixed; with != nil && len(with.safe) > len(found[n].safe) {
			r, err := d.result(ctx, &a.mixed.task, *with)
			if err != nil {
				return nil, err
			}
			results[n] = a.mixed.better(results[n], r)
		}
		if err := j.beside(ctx, d.engines[0], results[n:n+1]); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// found is what the boxes of one task gave.
type found struct {
	safe   []int // numbers of the safe boxes
	margin float64
	// mixed is the same of the task with a mixture, nil if it has none.
	mixed *found
}

// verify verifies the boxes against every task.
func (d *draws) verify(ctx context.Context, aims []aim) ([]found, error) {
	size := d.samples
	for _, e := range d.engines {
		size = min(size, sampleChunk(e, d.cfg.Method.propagation(), aims))
	}
	results := make([]found, len(aims))
	for i, a := range aims {
		results[i].margin = minusInf
		if a.mixed != nil {
			results[i].mixed = &found{margin: minusInf}
		}
	}
	var mu sync.Mutex
	err := share(ctx, d.engines, numbers((d.samples+size-1)/size), func(_ context.Context, e *Engine, i int) error {
		first := i * size
		margins, err := d.margins(e, aims, d.spec(first, min(size, d.samples-first)))
		mu.Lock()
		defer mu.Unlock()
		for i := range margins {
			results[i].add(first, margins[i].own)
			if with := results[i].mixed; with != nil {
				with.add(first, margins[i].mixed)
			}
		}
		return err
	}, nil)
	for _, r := range results {
		slices.Sort(r.safe) // whatever the order in which chunks came
		if r.mixed != nil {
			slices.Sort(r.mixed.safe)
		}
	}
	return results, err
}

// nearest is the half-width as a number of the devices' format.
func (d *draws) nearest() float64 { return d.engines[0].dev.Precision().Nearest(d.gamma) }

// spec says how n boxes are drawn, from number first on.
func (d *draws) spec(first, n int) bound.BoxSpec {
	spec := bound.BoxSpec{Sampled: true, Seed: d.cfg.Seed, First: uint64(first)}
	for range d.engines[0].normal.Layers {
		spec.Gamma = append(spec.Gamma, slices.Repeat([]float64{d.nearest()}, n))
	}
	return spec
}

// add takes in the margins of boxes first, first+1, ...
func (f *found) add(first int, margins []float64) {
	for b, m := range margins {
		f.margin = max(f.margin, m)
		if m >= 0 {
			f.safe = append(f.safe, first+b)
		}
	}
}

// sampleChunk is how many boxes to draw at a time: as many as the device likes
// best, if it says so, and fit.
func sampleChunk(e *Engine, method bound.Propagation, aims []aim) int {
	rows, regions := 0, 0
	for _, a := range aims {
		rows, regions = max(rows, len(a.rows())), max(regions, len(a.task.T))
	}
	perBox, perItem := e.model.Footprint(method, rows)
	perBox += perItem * int64(regions)
	free, most := e.budget(), int64(mostDrawn)
	if d, ok := e.dev.(interface{ PreferredBatchBytes() int64 }); ok {
		free, most = min(free, d.PreferredBatchBytes()), 1<<20
	}
	return int(max(1, min(free/perBox, most, int64(e.model.MostItems(rows)/regions))))
}

// drawnMargins are the margins of boxes for one task, and for it with a mixture, if it has one.
type drawnMargins struct{ own, mixed []float64 }

// margins returns, for each task, the margin of every box: the least over the task's
// input boxes.
func (d *draws) margins(e *Engine, aims []aim, spec bound.BoxSpec) ([]drawnMargins, error) {
	all := make([]drawnMargins, len(aims))
	for t := range all { // until it is known
		all[t] = drawnMargins{slices.Repeat([]float64{minusInf}, spec.Count()), slices.Repeat([]float64{minusInf}, spec.Count())}
	}
	numbers := make([]int, spec.Count())
	for i := range numbers {
		numbers[i] = i
	}
	err := guarded(e, d.cfg.Method.String()+" of drawn boxes", numbers, func(m *bound.Model, part []int) ([]answer, error) {
		var answers []answer
		for len(part) > 0 { // a recheck leaves numbers out, and boxes are drawn in rows
			n := 1
			for n < len(part) && part[n] == part[0]+n {
				n++
			}
			more, err := d.marginsOn(m, aims, spec.Slice(part[0], part[0]+n), part[0], all)
			if err != nil {
				return nil, err
			}
			answers, part = append(answers, more...), part[n:]
		}
		return answers, nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// marginsOn asks a model for the margins of boxes, which go to all from place first on.
func (d *draws) marginsOn(m *bound.Model, aims []aim, spec bound.BoxSpec, first int, all []drawnMargins) ([]answer, error) {
	boxes, err := m.Draw(spec)
	if err != nil {
		return nil, err
	}
	defer m.ReleaseBoxes(boxes)
	lo := make([][][]float64, len(aims))
	for i := range aims {
		if lo[i], err = boxLowers(m, d.cfg.Method.propagation(), boxes, &aims[i]); err != nil {
			return nil, err
		}
	}
	answers := make([]answer, spec.Count())
	for b := range answers {
		for i := range aims {
			answers[b].numbers = append(answers[b].numbers, lo[i][b]...)
		}
		answers[b].take = func() {
			for i, a := range aims {
				all[i].own[first+b] = leastMargin(lo[i][b], &a.task.S, len(a.task.T))
				if a.mixed != nil {
					all[i].mixed[first+b] = leastMargin(lo[i][b], &a.mixed.task.S, len(a.task.T))
				}
			}
		}
	}
	return answers, nil
}

// boxLowers propagates the grid of all boxes and the task's input boxes, and returns for each
// weight box the lower bounds of the rows on every input box.
func boxLowers(m *bound.Model, method bound.Propagation, boxes *bound.Boxes, a *aim) ([][]float64, error) {
	per, rows := len(a.task.T), a.rows()
	in, dr, release, err := upload(m, a.task.T, slices.Repeat([][]property.Row{rows}, per))
	if err != nil {
		return nil, err
	}
	defer release()
	margins, err := m.Propagate(bound.Query{Propagation: method, Boxes: boxes, Inputs: in, Rows: dr,
		Batch: bound.Batch{Items: boxes.Count() * per, PerBox: per, Inputs: per}})
	if err != nil {
		return nil, err
	}
	out := make([][]float64, boxes.Count())
	for b := range out {
		out[b] = lowers(margins, len(rows), b*per, per)
	}
	return out, nil
}

// box returns the end-points of box number b.
func (d *draws) box(b int) bound.Explicit {
	e := d.engines[0]
	box, err := bound.HostBox(e.normal, e.dev.Precision(), d.spec(b, 1), 0)
	if err != nil {
		panic(fmt.Sprintf("prove: a box that was propagated cannot be made again: %v", err))
	}
	return box
}
