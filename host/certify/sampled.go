package certify

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"psafe/host/bound"
	"psafe/host/measure"
	"psafe/host/property"
)

// mostDrawn is how many sampled boxes are drawn and propagated at once at
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

// sampledBoxes is Algorithm 1 of the paper, for each task: boxes around posterior
// samples, those that verify, and a lower bound of the probability of their
// union. The engines share the boxes of a task, of which there may be very many.
func sampledBoxes(ctx context.Context, j *job) error {
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
			return fmt.Errorf("%v: task %d asks for %d boxes", Sampled, j.tasks[i].Index, want.samples)
		}
		if wants[want] == nil {
			kinds = append(kinds, want)
		}
		wants[want] = append(wants[want], i)
	}
	order := newOrder(len(j.tasks), j)
	for _, want := range kinds {
		start := time.Now()
		for _, e := range j.engines {
			e.begin()
		}
		var part []*property.Task
		for _, i := range wants[want] {
			part = append(part, &j.tasks[i])
		}
		d := &draws{want, j.engines, j.cfg}
		found, err := d.verify(ctx, part)
		if err != nil {
			return err
		}
		for n, i := range wants[want] {
			r, err := d.result(ctx, part[n], found[n])
			if err != nil {
				return err
			}
			if err := j.beside(ctx, j.engines[0], []*Result{r}); err != nil {
				return err
			}
			stamp([]*Result{r}, names(j.engines), time.Since(start)/time.Duration(len(part)))
			if err := order.put(i, []*Result{r}); err != nil {
				return err
			}
		}
	}
	return nil
}

// found is what the boxes of one task gave.
type found struct {
	safe   []int // numbers of the safe boxes
	margin float64
}

// verify verifies the boxes against every task.
func (d *draws) verify(ctx context.Context, tasks []*property.Task) ([]found, error) {
	size := d.samples
	for _, e := range d.engines {
		size = min(size, sampleChunk(e, d.cfg.Method, tasks))
	}
	results := make([]found, len(tasks))
	for t := range tasks {
		results[t].margin = minusInf
	}
	var mu sync.Mutex
	err := share(ctx, d.engines, (d.samples+size-1)/size, func(_ context.Context, e *Engine, i int) error {
		first := i * size
		margins, err := d.margins(e, tasks, d.spec(first, min(size, d.samples-first)))
		mu.Lock()
		defer mu.Unlock()
		for t := range margins {
			results[t].add(first, margins[t])
		}
		return err
	})
	for t := range results {
		slices.Sort(results[t].safe) // whatever the order in which chunks came
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
func sampleChunk(e *Engine, method bound.Method, tasks []*property.Task) int {
	rows, regions := mostRows(tasks), len(mostInputs(tasks).T)
	perBox, perItem := e.model.Footprint(method, rows)
	perBox += perItem * int64(regions)
	free, most := e.budget(), int64(mostDrawn)
	if d, ok := e.dev.(interface{ PreferredBatchBytes() int64 }); ok {
		free, most = min(free, d.PreferredBatchBytes()), 1<<20
	}
	return int(max(1, min(free/perBox, most, int64(e.model.MostItems(rows)/regions))))
}

func mostInputs(tasks []*property.Task) *property.Task {
	return slices.MaxFunc(tasks, func(a, b *property.Task) int { return cmp.Compare(len(a.T), len(b.T)) })
}

func mostRows(tasks []*property.Task) int {
	n := 0
	for _, t := range tasks {
		n = max(n, len(t.S.Rows))
	}
	return n
}

// margins returns, for each task, the margin of every box: the least over the task's
// input boxes.
func (d *draws) margins(e *Engine, tasks []*property.Task, spec bound.BoxSpec) ([][]float64, error) {
	all := make([][]float64, len(tasks))
	for t := range all {
		all[t] = slices.Repeat([]float64{minusInf}, spec.Count()) // until it is known
	}
	numbers := make([]int, spec.Count())
	for i := range numbers {
		numbers[i] = i
	}
	err := guarded(e, numbers, func(m *bound.Model, part []int) error {
		from, to := part[0], part[len(part)-1]+1
		boxes, err := m.Draw(spec.Slice(from, to))
		if err != nil {
			return err
		}
		defer m.ReleaseBoxes(boxes)
		for i, t := range tasks {
			margins, err := boxMargins(m, d.cfg.Method, boxes, t)
			if err != nil {
				return err
			}
			copy(all[i][from:to], margins)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// boxMargins propagates the grid of all boxes and the task's input boxes.
func boxMargins(m *bound.Model, method bound.Method, boxes *bound.Boxes, t *property.Task) ([]float64, error) {
	per := len(t.T)
	in, dr, release, err := upload(m, t.T, slices.Repeat([][]property.Row{t.S.Rows}, per))
	if err != nil {
		return nil, err
	}
	defer release()
	margins, err := m.Propagate(bound.Job{Method: method, Boxes: boxes, Inputs: in, Rows: dr,
		Batch: bound.Batch{Items: boxes.Count() * per, PerBox: per, Inputs: per}})
	if err != nil {
		return nil, err
	}
	out := make([]float64, boxes.Count())
	for b := range out {
		out[b] = leastMargin(margins, &t.S, b*per, per)
	}
	return out, nil
}

// mostMeasured is how many safe boxes are kept for the union at most: those with
// the most mass. Leaving boxes out only lowers a lower bound.
const mostMeasured = 256

// result measures the safe boxes of a task. Those that go into the union are
// verified once more, from the end-points that are measured, so that a
// certificate does not rest on the device having drawn the same ones.
func (d *draws) result(ctx context.Context, t *property.Task, f found) (*Result, error) {
	e, g := d.engines[0], d.nearest()
	r := newResult(t, d.cfg.Method.String())
	r.Boxing, r.Boxes, r.Samples, r.SafeBoxes, r.Margin = Sampled.String(), d.samples, d.samples, len(f.safe), f.margin
	r.Gamma, r.CeilingLog10 = slices.Repeat([]float64{g}, len(e.normal.Layers)), Ceiling(e.normal, e.dev.Precision(), d.samples, g)
	var los, his [][]float64
	var measured []int
	for chosen := range slices.Chunk(d.likeliest(f.safe), 32) {
		var probes []*probe
		for _, b := range chosen {
			box := d.box(b)
			probes = append(probes, boxProbe(t, &box))
		}
		if err := e.verify(ctx, proof{method: d.cfg.Method}, probes); err != nil {
			return nil, err
		}
		for i, p := range probes {
			if p.margin >= 0 {
				measured = append(measured, chosen[i])
				los, his = append(los, slices.Concat(p.box.Lo...)), append(his, slices.Concat(p.box.Hi...))
			} else {
				r.SafeBoxes-- // the device drew another box
			}
		}
	}
	if len(los) > 0 {
		r.Proof.Boxes = measured
		r.LogP, r.Rule = measure.UnionLogDown(los, his, e.flat.Mean, e.flat.SdLo, e.flat.SdHi)
	}
	return r, nil
}

// box returns the end-points of box number b.
func (d *draws) box(b int) bound.Explicit {
	e := d.engines[0]
	box, err := bound.HostBox(e.normal, e.dev.Precision(), d.spec(b, 1), 0)
	if err != nil {
		panic(fmt.Sprintf("certify: a box that was propagated cannot be made again: %v", err))
	}
	return box
}

// likeliest returns the safe boxes with the most mass, as many as the union can
// take. Which are chosen does not matter for soundness; boxes are ranked by an
// approximation of their mass.
func (d *draws) likeliest(safe []int) []int {
	e, g := d.engines[0], d.nearest()
	// Their end-points are held in float64 on the host: half a gigabyte at most.
	keep := min(mostMeasured, max(16, (512<<20)/(16*len(e.flat.Mean))))
	if len(safe) <= keep {
		return safe
	}
	type ranked struct {
		box  int
		mass float64
	}
	var all []ranked
	for _, b := range safe {
		var sum float64
		for a, params := range e.normal.Params() {
			for w := range params.Mean {
				z := float64(bound.Normal(d.cfg.Seed, uint64(b), uint32(a), uint32(w)))
				sum += math.Log(math.Erf((g+z)/math.Sqrt2) + math.Erf((g-z)/math.Sqrt2))
			}
		}
		all = append(all, ranked{b, sum})
	}
	slices.SortStableFunc(all, func(a, b ranked) int { return cmp.Compare(b.mass, a.mass) })
	var kept []int
	for _, r := range all[:keep] {
		kept = append(kept, r.box)
	}
	slices.Sort(kept)
	return kept
}
