package certify

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"psafe/host/bound"
	"psafe/host/measure"
	"psafe/host/property"
)

// sampleChunk is how many sampled boxes are drawn and propagated at once at
// most, on devices that do not say what suits them.
const sampleChunk = 512

// boxJob is the boxes that tasks want: tasks that want the same share the draws.
type boxJob struct {
	gamma   float64
	samples int
}

// runSampled is Algorithm 1 of the paper, for each task: boxes around posterior
// samples, those that verify, and a lower bound of the probability of their
// union.
func runSampled(ctx context.Context, engines []*Engine, cfg Config, tasks []property.Task, progress func(int), emit func(*Result) error) error {
	jobs := map[boxJob][]int{}
	var kinds []boxJob
	for i := range tasks {
		j := boxJob{cfg.Gamma, cfg.Samples}
		if j.gamma == 0 {
			j.gamma = tasks[i].Gamma
		}
		if j.samples == 0 {
			j.samples = tasks[i].Samples
		}
		if jobs[j] == nil {
			kinds = append(kinds, j)
		}
		jobs[j] = append(jobs[j], i)
	}
	order := newOrder(len(tasks), progress, emit)
	for _, j := range kinds {
		start := time.Now()
		for _, e := range engines {
			e.begin()
		}
		var part []*property.Task
		for _, i := range jobs[j] {
			part = append(part, &tasks[i])
		}
		found, err := drawAndVerify(ctx, engines, cfg, j, part)
		if err != nil {
			return err
		}
		for n, i := range jobs[j] {
			r, err := engines[0].sampledResult(ctx, cfg, j, part[n], found[n])
			if err != nil {
				return err
			}
			if err := engines[0].beside(ctx, cfg, []*Result{r}); err != nil {
				return err
			}
			stamp([]*Result{r}, names(engines), time.Since(start)/time.Duration(len(part)))
			if err := order.put(i, []*Result{r}); err != nil {
				return err
			}
		}
	}
	return nil
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

// found is what the boxes of one task gave.
type found struct {
	safe   []int // numbers of the safe boxes
	margin float64
}

// drawAndVerify verifies the boxes of a job against every task.
func drawAndVerify(ctx context.Context, engines []*Engine, cfg Config, job boxJob, tasks []*property.Task) ([]found, error) {
	g := engines[0].dev.Precision().Nearest(job.gamma)
	size := job.samples
	for _, e := range engines {
		size = min(size, e.sampleChunk(cfg.Method, tasks))
	}
	results := make([]found, len(tasks))
	for t := range tasks {
		results[t].margin = minusInf
	}
	var mu sync.Mutex
	err := share(ctx, engines, (job.samples+size-1)/size, func(_ context.Context, e *Engine, i int) error {
		first := i * size
		spec := bound.BoxSpec{Sampled: true, Seed: cfg.Seed, First: uint64(first), Gamma: e.sameGamma(g, min(size, job.samples-first))}
		margins, err := e.sampledMargins(cfg.Method, spec, tasks)
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

// add takes in the margins of boxes first, first+1, ...
func (f *found) add(first int, margins []float64) {
	for b, m := range margins {
		f.margin = max(f.margin, m)
		if m >= 0 {
			f.safe = append(f.safe, first+b)
		}
	}
}

// sameGamma is one half-width for n boxes and all layers.
func (e *Engine) sameGamma(g float64, n int) [][]float64 {
	gamma := make([][]float64, len(e.normal.Layers))
	for k := range gamma {
		gamma[k] = slices.Repeat([]float64{g}, n)
	}
	return gamma
}

// sampleChunk is how many boxes to draw at a time: as many as the device likes
// best, if it says so, and fit.
func (e *Engine) sampleChunk(method bound.Method, tasks []*property.Task) int {
	rows, regions := mostRows(tasks), len(mostInputs(tasks).T)
	perBox, perItem := e.model.Footprint(method, rows)
	perBox += perItem * int64(regions)
	free, most := e.budget(), int64(sampleChunk)
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

// sampledMargins returns, for each task, the margin of every box: the least over
// the task's input boxes.
func (e *Engine) sampledMargins(method bound.Method, spec bound.BoxSpec, tasks []*property.Task) ([][]float64, error) {
	margins, err := sampledMarginsOn(e.model, method, spec, tasks)
	if err == nil {
		return margins, nil
	}
	if n := spec.Count(); n > 1 {
		var both [2][][]float64
		for i, s := range []bound.BoxSpec{spec.Slice(0, n/2), spec.Slice(n/2, n)} {
			if both[i], err = sampledMarginsOn(e.model, method, s, tasks); err != nil {
				break
			}
		}
		if err == nil {
			for i := range both[0] {
				both[0][i] = append(both[0][i], both[1][i]...)
			}
			return both[0], nil
		}
	}
	model, err := e.spareModel(err)
	if err != nil {
		return nil, err
	}
	e.moved++
	margins = make([][]float64, len(tasks))
	for first := 0; first < spec.Count(); first += spareChunk {
		few, err := sampledMarginsOn(model, method, spec.Slice(first, min(first+spareChunk, spec.Count())), tasks)
		if err != nil {
			return nil, err
		}
		for i := range margins {
			margins[i] = append(margins[i], few[i]...)
		}
	}
	return margins, nil
}

func sampledMarginsOn(m *bound.Model, method bound.Method, spec bound.BoxSpec, tasks []*property.Task) ([][]float64, error) {
	boxes, err := m.Draw(spec)
	if err != nil {
		return nil, err
	}
	defer m.ReleaseBoxes(boxes)
	all := make([][]float64, len(tasks))
	for i, t := range tasks {
		var rows [][]property.Row
		for range t.T {
			rows = append(rows, t.S.Rows)
		}
		if all[i], err = boxMargins(m, method, boxes, t, rows); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// boxMargins propagates the grid of all boxes and the task's input boxes.
func boxMargins(m *bound.Model, method bound.Method, boxes *bound.Boxes, t *property.Task, rows [][]property.Row) ([]float64, error) {
	in, err := m.UploadInputs(t.T)
	if err != nil {
		return nil, err
	}
	defer m.ReleaseInputs(in)
	dr, err := m.UploadRows(rows)
	if err != nil {
		return nil, err
	}
	defer m.ReleaseRows(dr)
	per := len(t.T)
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

// sampledResult measures the safe boxes of a task. Those that go into the union are
// verified once more, from the end-points that are measured, so that a
// certificate does not rest on the device having drawn the same ones.
func (e *Engine) sampledResult(ctx context.Context, cfg Config, job boxJob, t *property.Task, f found) (*Result, error) {
	p := e.dev.Precision()
	g := p.Nearest(job.gamma)
	r := newResult(t, cfg.Method.String())
	r.Boxing, r.Boxes, r.Samples, r.SafeBoxes, r.Margin = Sampled.String(), job.samples, job.samples, len(f.safe), f.margin
	r.Gamma, r.CeilingLog10 = slices.Repeat([]float64{g}, len(e.normal.Layers)), Ceiling(e.normal, p, job.samples, g)
	var los, his [][]float64
	for chosen := range slices.Chunk(e.likeliest(cfg, g, f.safe), 32) {
		var probes []*probe
		for _, b := range chosen {
			box := e.sampledBox(cfg, g, b)
			probes = append(probes, &probe{task: t, box: &box})
		}
		if err := e.verify(ctx, cfg.Method, probes, false); err != nil {
			return nil, err
		}
		for _, p := range probes {
			if p.margin >= 0 {
				los, his = append(los, slices.Concat(p.box.Lo...)), append(his, slices.Concat(p.box.Hi...))
			} else {
				r.SafeBoxes-- // the device drew another box
			}
		}
	}
	if len(los) > 0 {
		r.LogP, r.Rule = measure.UnionLogDown(los, his, e.flat.Mean, e.flat.SdLo, e.flat.SdHi)
	}
	return r, nil
}

func (e *Engine) sampledBox(cfg Config, g float64, b int) bound.Explicit {
	spec := bound.BoxSpec{Sampled: true, Seed: cfg.Seed, First: uint64(b), Gamma: e.sameGamma(g, 1)}
	box, err := bound.HostBox(e.normal, e.dev.Precision(), spec, 0)
	if err != nil {
		panic(fmt.Sprintf("certify: a box that was propagated cannot be made again: %v", err))
	}
	return box
}

// likeliest returns the safe boxes with the most mass, as many as the union can
// take. Which are chosen does not matter for soundness; boxes are ranked by an
// approximation of their mass.
func (e *Engine) likeliest(cfg Config, g float64, safe []int) []int {
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
		for i := range e.normal.Layers {
			for what, n := range []int{len(e.normal.Layers[i].Weight.Mean), len(e.normal.Layers[i].Bias.Mean)} {
				for w := range n {
					z := float64(bound.Normal(cfg.Seed, uint64(b), uint32(2*i+what), uint32(w)))
					sum += math.Log(math.Erf((g+z)/math.Sqrt2) + math.Erf((g-z)/math.Sqrt2))
				}
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
