package prove

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"psafe/host/bound"
	"psafe/host/read/property"
)

// mostDrawn is how many sampled boxes are drawn and propagated at once at
// most, on devices that do not say what suits them.
const mostDrawn = 512

// draws are boxes of one half-width around posterior samples (Algorithm 1 of the paper), drawn and
// verified on engines, which share them.
type draws struct {
	engines []*Engine
	// method verifies boxes.
	method bound.Propagation
	// gamma is the half-width in standard deviations, samples how many boxes there are, and seed that
	// of the generator.
	gamma   float64
	samples int
	seed    uint64
}

// aim is a task, and the same with a mixture among the alternatives of S, nil if it has none.
type aim struct {
	task, mixed *property.Task
}

// rows are all rows that are bounded, those of the task first.
func (a *aim) rows() []property.Row {
	if a.mixed != nil {
		return a.mixed.S.Rows
	}
	return a.task.S.Rows
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
		size = min(size, sampleChunk(e, d.method, aims))
	}
	results := make([]found, len(aims))
	for i, a := range aims {
		results[i].margin = math.Inf(-1)
		if a.mixed != nil {
			results[i].mixed = &found{margin: math.Inf(-1)}
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
	spec := bound.BoxSpec{Sampled: true, Seed: d.seed, First: uint64(first)}
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

// sampledMargins are the margins of boxes for one task, and for it with a mixture, if it has one.
type sampledMargins struct{ own, mixed []float64 }

// margins returns, for each task, the margin of every box: the least over the task's
// input boxes.
func (d *draws) margins(e *Engine, aims []aim, spec bound.BoxSpec) ([]sampledMargins, error) {
	all := make([]sampledMargins, len(aims))
	for t := range all { // until it is known
		all[t] = sampledMargins{slices.Repeat([]float64{math.Inf(-1)}, spec.Count()), slices.Repeat([]float64{math.Inf(-1)}, spec.Count())}
	}
	numbers := make([]int, spec.Count())
	for i := range numbers {
		numbers[i] = i
	}
	err := guarded(e, d.method.String()+" of sampled boxes", numbers, func(m *bound.Model, part []int) ([]answer, error) {
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
func (d *draws) marginsOn(m *bound.Model, aims []aim, spec bound.BoxSpec, first int, all []sampledMargins) ([]answer, error) {
	boxes, err := m.Draw(spec)
	if err != nil {
		return nil, err
	}
	defer m.ReleaseBoxes(boxes)
	lo := make([][][]float64, len(aims))
	for i := range aims {
		if lo[i], err = boxLowers(m, d.method, boxes, &aims[i]); err != nil {
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
					all[i].mixed[first+b] = leastMargin(lo[i][b], &a.mixed.S, len(a.task.T))
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
