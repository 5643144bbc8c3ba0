// Package boxes finds weight boxes that verify around posterior samples (Algorithm 1 of the paper) and measures
// their union.
package boxes

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"psafe/host/bound"
	"psafe/host/prove/engine"
	"psafe/host/prove/probability"
	"psafe/host/read/property"
)

// Draws are boxes of one half-width around posterior samples (Algorithm 1 of the paper), drawn and
// verified on engines, which share them.
type Draws struct {
	Engines []*engine.Engine
	// Method verifies boxes.
	Method bound.Propagation
	// Gamma is the half-width in standard deviations, samples how many boxes there are, and seed that
	// of the generator.
	Gamma   float64
	Samples int
	Seed    uint64

	mu sync.Mutex
	// known are some boxes, by number, as they are measured. Those in held were drawn so by the devices that
	// have bounded them.
	known map[int]probability.Box
	held  map[int]bool
}

// Aim is a task, and the same with a mixture among the alternatives of S, nil if it has none.
type Aim struct {
	Task, Mixed *property.Task
}

// rows are all rows that are bounded, those of the task first.
func (a *Aim) rows() []property.Row {
	if a.Mixed != nil {
		return a.Mixed.S.Rows
	}
	return a.Task.S.Rows
}

// Found holds what the boxes of one task gave.
type Found struct {
	safe   []int // numbers of the safe boxes
	margin float64
	// mixed is the same of the task with a mixture, nil if it has none.
	mixed *Found
}

// Verify verifies the boxes against every task.
func (d *Draws) Verify(ctx context.Context, aims []Aim) ([]Found, error) {
	d.known, d.held = map[int]probability.Box{}, map[int]bool{}
	size := d.Samples
	for _, e := range d.Engines {
		size = min(size, sampleChunk(e, d.Method, aims))
	}
	results := make([]Found, len(aims))
	for i, a := range aims {
		results[i].margin = math.Inf(-1)
		if a.Mixed != nil {
			results[i].mixed = &Found{margin: math.Inf(-1)}
		}
	}
	var mu sync.Mutex
	err := engine.Share(ctx, d.Engines, engine.Numbers((d.Samples+size-1)/size), func(_ context.Context, e *engine.Engine, i int) error {
		first := i * size
		margins, err := d.margins(e, aims, d.spec(first, min(size, d.Samples-first)))
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
func (d *Draws) nearest() float64 { return d.Engines[0].Device.Precision().Nearest(d.Gamma) }

// spec describes how n boxes are drawn, from number first on.
func (d *Draws) spec(first, n int) bound.BoxSpec {
	spec := bound.BoxSpec{Sampled: true, Seed: d.Seed, First: uint64(first)}
	for range d.Engines[0].Normal.Layers {
		spec.Gamma = append(spec.Gamma, slices.Repeat([]float64{d.nearest()}, n))
	}
	return spec
}

// add takes in the margins of boxes first, first+1, ...
func (f *Found) add(first int, margins []float64) {
	for b, m := range margins {
		f.margin = max(f.margin, m)
		if m >= 0 {
			f.safe = append(f.safe, first+b)
		}
	}
}

// sampleChunk returns how many boxes to draw and propagate at a time.
func sampleChunk(e *engine.Engine, method bound.Propagation, aims []Aim) int {
	rows, regions := 0, 0
	for _, a := range aims {
		rows, regions = max(rows, len(a.rows())), max(regions, len(a.Task.T))
	}
	perBox, perItem := e.Model.Footprint(method, rows)
	perBox += perItem * int64(regions)
	return max(1, min(e.BoxesAtATime(perBox), e.Model.MostItems(rows)/regions))
}

// sampledMargins are the margins of boxes for one task, and for it with a mixture, if it has one.
type sampledMargins struct{ own, mixed []float64 }

// margins returns, for each task, the margin of every box: the least over the task's
// input boxes.
func (d *Draws) margins(e *engine.Engine, aims []Aim, spec bound.BoxSpec) ([]sampledMargins, error) {
	all := make([]sampledMargins, len(aims))
	for t := range all { // until it is known
		all[t] = sampledMargins{slices.Repeat([]float64{math.Inf(-1)}, spec.Count()), slices.Repeat([]float64{math.Inf(-1)}, spec.Count())}
	}
	numbers := make([]int, spec.Count())
	for i := range numbers {
		numbers[i] = i
	}
	err := engine.Guarded(e, d.Method.String()+" of drawn boxes", numbers, func(m *bound.Model, part []int) ([]engine.Answer, error) {
		var answers []engine.Answer
		for len(part) > 0 { // a recheck leaves numbers out, and boxes are drawn in rows
			n := 1
			for n < len(part) && part[n] == part[0]+n {
				n++
			}
			more, err := d.marginsOn(e, m, aims, spec.Slice(part[0], part[0]+n), part[0], all)
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

// marginsOn asks a model of an engine for the margins of boxes, which go to all from place first on.
func (d *Draws) marginsOn(e *engine.Engine, m *bound.Model, aims []Aim, spec bound.BoxSpec, first int, all []sampledMargins) ([]engine.Answer, error) {
	boxes, err := m.Draw(spec)
	if err != nil {
		return nil, err
	}
	defer m.ReleaseBoxes(boxes)
	answers, safe := make([]engine.Answer, spec.Count()), make([]bool, spec.Count())
	found := make([]sampledMargins, len(aims))
	for i, a := range aims {
		lo, err := engine.RowLowers(m, d.Method, boxes, a.Task.T, a.rows(), &a.Task.S)
		if err != nil {
			return nil, err
		}
		for b := range answers {
			answers[b].Numbers = append(answers[b].Numbers, lo[b]...)
			own, mixed := engine.LeastMargin(lo[b], &a.Task.S, len(a.Task.T)), math.Inf(-1)
			if a.Mixed != nil {
				mixed = engine.LeastMargin(lo[b], &a.Mixed.S, len(a.Task.T))
			}
			found[i].own, found[i].mixed = append(found[i].own, own), append(found[i].mixed, mixed)
			safe[b] = safe[b] || own >= 0 || mixed >= 0
		}
	}
	if e.Trusted() {
		if err := d.compare(m, boxes, int(spec.First), safe); err != nil {
			return nil, err
		}
	}
	for b := range answers {
		answers[b].Take = func() {
			for i := range aims {
				all[i].own[first+b], all[i].mixed[first+b] = found[i].own[b], found[i].mixed[b]
			}
			if e.Trusted() && safe[b] {
				d.mu.Lock()
				d.held[int(spec.First)+b] = true
				d.mu.Unlock()
			}
		}
	}
	return answers, nil
}

// compare leaves those of the safe boxes of a model, the first of which is number first, that it has
// drawn as they are measured: of so many as may be.
func (d *Draws) compare(m *bound.Model, boxes *bound.Boxes, first int, safe []bool) error {
	d.mu.Lock()
	room := d.mostKept() - len(d.held)
	d.mu.Unlock()
	var numbers []int
	for b := range safe {
		if safe[b] = safe[b] && len(numbers) < room; safe[b] {
			numbers = append(numbers, b)
		}
	}
	for part := range slices.Chunk(numbers, 32) {
		ends, err := m.EndsOf(boxes, part)
		if err != nil {
			return err
		}
		for i, b := range part {
			measured := d.measure(first + b)
			safe[b] = slices.Equal(slices.Concat(ends[i].Lo...), measured.Lo) && slices.Equal(slices.Concat(ends[i].Hi...), measured.Hi)
		}
	}
	return nil
}

// measure measures box number b.
func (d *Draws) measure(b int) probability.Box {
	d.mu.Lock()
	box, known := d.known[b]
	d.mu.Unlock()
	if known {
		return box
	}
	ends, flat := d.box(b), &d.Engines[0].Flat
	box = probability.NewBox(slices.Concat(ends.Lo...), slices.Concat(ends.Hi...), flat.Mean, flat.SdLo, flat.SdHi)
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.known) < d.mostKept() {
		d.known[b] = box
	}
	return box
}

// box returns the end-points of box number b.
func (d *Draws) box(b int) bound.Explicit {
	e := d.Engines[0]
	box, err := bound.HostBox(e.Normal, e.Device.Precision(), d.spec(b, 1), 0)
	if err != nil {
		panic(fmt.Sprintf("prove: a box that was propagated cannot be made again: %v", err))
	}
	return box
}
