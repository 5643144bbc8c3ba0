package certify

import (
	"context"
	"fmt"
	"slices"

	"psafe/host/bound"
	"psafe/host/posterior"
	"psafe/host/property"
)

// Engine verifies weight boxes on a device. If the device fails in the middle, a
// chunk is tried once more in halves and then on the spare device.
type Engine struct {
	// posterior is what is certified. normal is the same if its weights are independent
	// normal numbers, and otherwise its mean network without deviations: what is
	// propagated then is drawn networks, never normal.
	posterior *posterior.Posterior
	normal    *posterior.Posterior
	flat      posterior.Flat
	dev       bound.Device
	model     *bound.Model
	// spare makes the device of last resort, nil if there is none.
	spare  func() bound.Device
	backup *bound.Model
	reach  float64
	// moved counts the chunks that the spare device had to do.
	moved int
	fault error
	// deviations is the posterior as concentration LBP needs it, by model.
	deviations map[*bound.Model]*bound.Deviations
	// sums is the posterior as sums of neurons need it, once it has been asked for.
	sums *NeuronSum
}

// NewEngine loads the posterior on the device. reach is the largest half-width in
// standard deviations that will be asked for. spare may be nil. A posterior of another
// kind than independent normal weights is for Statistical and Finite only.
func NewEngine(dev bound.Device, spare func() bound.Device, post *posterior.Posterior, reach float64) (*Engine, error) {
	normal := post
	if !post.Independent() {
		normal = post.AtMean()
	}
	model, err := bound.NewModel(dev, normal, reach)
	if err != nil {
		return nil, err
	}
	return &Engine{posterior: post, normal: normal, flat: normal.Flat(), dev: dev, model: model, spare: spare, reach: reach}, nil
}

// Close gives the device's memory back.
func (e *Engine) Close() {
	for _, c := range e.deviations {
		c.Release()
	}
	e.model.Release()
	if e.backup != nil {
		e.backup.Release()
	}
}

// Precision is the device's.
func (e *Engine) Precision() bound.Precision { return e.dev.Precision() }

// begin forgets what the spare device had to do for earlier results.
func (e *Engine) begin() { e.moved, e.fault = 0, nil }

// Name names the device, and the spare one too if it had to help since begin.
func (e *Engine) Name() string {
	if e.moved > 0 {
		return fmt.Sprintf("%s, %d chunks on %s after: %v", e.dev.Name(), e.moved, e.backup.Device().Name(), e.fault)
	}
	return e.dev.Name()
}

// probe is one weight box (a multiple of standard deviations around the mean, or
// explicit end-points) to be verified on all input boxes of a task.
type probe struct {
	task  *property.Task
	gamma []float64
	box   *bound.Explicit
	// margin is the answer: the least over the task's input boxes of
	// Safe.MarginLo. The box is safe exactly if margin >= 0.
	margin float64
	// dead[k][j] says, if asked for, that neuron j of hidden layer k is never
	// positive on the box and T.
	dead [][]bool
}

// verify answers all probes. All tasks of a call have the same number of input
// boxes.
func (e *Engine) verify(ctx context.Context, method bound.Method, probes []*probe, wantDead bool) error {
	shared := map[string][]*probe{}
	var order []string
	var pairs []*probe
	for _, p := range probes {
		if p.box != nil {
			pairs = append(pairs, p)
			continue
		}
		key := fmt.Sprint(p.gamma)
		if shared[key] == nil {
			order = append(order, key)
		}
		shared[key] = append(shared[key], p)
	}
	for _, key := range order {
		// One box for many inputs is worth a batch of its own.
		if same := shared[key]; len(same) >= 4 {
			if err := e.chunks(ctx, method, same, true, wantDead); err != nil {
				return err
			}
		} else {
			pairs = append(pairs, same...)
		}
	}
	return e.chunks(ctx, method, pairs, false, wantDead)
}

// chunks cuts probes into batches that fit the device.
func (e *Engine) chunks(ctx context.Context, method bound.Method, probes []*probe, oneBox, wantDead bool) error {
	if len(probes) == 0 {
		return nil
	}
	size := e.chunkSize(method, probes, oneBox)
	for chunk := range slices.Chunk(probes, size) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := guarded(e, chunk, func(m *bound.Model, part []*probe) error {
			return verifyOn(m, method, part, oneBox, wantDead)
		}); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) chunkSize(method bound.Method, probes []*probe, oneBox bool) int {
	rows, regions := len(probes[0].task.S.Rows), len(probes[0].task.T)
	perBox, perItem := e.model.Footprint(method, rows)
	per := perItem * int64(regions)
	free := e.budget()
	if oneBox {
		free -= perBox
	} else {
		per += perBox
	}
	return int(max(1, min(free/per, 4096, int64(e.model.MostItems(rows)/regions))))
}

// budget is the memory to plan batches for: what the model leaves of the limit,
// less a share for what devices round sizes up to.
func (e *Engine) budget() int64 { return (e.dev.MemoryLimit() - e.model.Bytes()) / 10 * 6 }

// guarded runs f on a chunk; if the device fails, on its halves, and then on the
// spare device. So a chunk is answered by launches that succeeded or not at all.
func guarded[P any](e *Engine, chunk []P, f func(*bound.Model, []P) error) error {
	err := f(e.model, chunk)
	if err == nil {
		return nil
	}
	half := (len(chunk) + 1) / 2
	for _, part := range [][]P{chunk[:half], chunk[half:]} {
		if len(part) == 0 {
			continue
		}
		if f(e.model, part) == nil {
			continue
		}
		model, spareErr := e.spareModel(err)
		if spareErr != nil {
			return spareErr
		}
		for few := range slices.Chunk(part, spareChunk) {
			if err := f(model, few); err != nil {
				return err
			}
		}
		e.moved++
	}
	return nil
}

// spareChunk is how many probes or boxes the spare device gets at a time: chunks
// were cut for a device that may have much more memory.
const spareChunk = 16

// spareModel returns the model on the spare device, or the fault if there is
// none.
func (e *Engine) spareModel(fault error) (*bound.Model, error) {
	e.fault = fault
	if e.backup == nil {
		if e.spare == nil {
			return nil, fault
		}
		m, err := bound.NewModel(e.spare(), e.normal, e.reach)
		if err != nil {
			return nil, err
		}
		e.backup = m
	}
	return e.backup, nil
}

// verifyOn answers probes in one batch of a model.
func verifyOn(m *bound.Model, method bound.Method, probes []*probe, oneBox, wantDead bool) error {
	per := len(probes[0].task.T)
	boxes, err := makeBoxes(m, probes, oneBox)
	if err != nil {
		return err
	}
	defer m.ReleaseBoxes(boxes)
	var regions []property.Box
	var rows [][]property.Row
	for _, p := range probes {
		if len(p.task.T) != per {
			panic(fmt.Sprintf("certify: tasks with %d and %d input boxes in one batch", per, len(p.task.T)))
		}
		for _, t := range p.task.T {
			regions, rows = append(regions, t), append(rows, p.task.S.Rows)
		}
	}
	items := len(regions)
	batch := bound.Batch{Items: items, PerBox: per, Inputs: items}
	if oneBox {
		batch.PerBox = items
	}
	return propagate(m, method, boxes, regions, rows, batch, probes, wantDead)
}

// upload copies input boxes, and rows for each, to a model's device.
func upload(m *bound.Model, regions []property.Box, rows [][]property.Row) (in *bound.Inputs, dr *bound.Rows, release func(), err error) {
	if in, err = m.UploadInputs(regions); err != nil {
		return nil, nil, nil, err
	}
	if dr, err = m.UploadRows(rows); err != nil {
		m.ReleaseInputs(in)
		return nil, nil, nil, err
	}
	return in, dr, func() { m.ReleaseRows(dr); m.ReleaseInputs(in) }, nil
}

func propagate(m *bound.Model, method bound.Method, boxes *bound.Boxes, regions []property.Box, rows [][]property.Row,
	batch bound.Batch, probes []*probe, wantDead bool) error {
	in, dr, release, err := upload(m, regions, rows)
	if err != nil {
		return err
	}
	defer release()
	job := bound.Job{Method: method, Boxes: boxes, Inputs: in, Rows: dr, Batch: batch}
	per := len(probes[0].task.T)
	if wantDead {
		job.Observe = func(what string, layer int, a bound.Array) error {
			if what != "pre.hi" {
				return nil
			}
			return observeDead(m.Device(), probes, per, layer, a)
		}
	}
	margins, err := m.Propagate(job)
	if err != nil {
		return err
	}
	for i, p := range probes {
		p.margin = leastMargin(margins, &p.task.S, i*per, per)
	}
	return nil
}

// leastMargin is the least margin over per items from item first on.
func leastMargin(m *bound.Margins, s *property.Safe, first, per int) float64 {
	least := s.MarginLo(m.Lo(first)[:len(s.Rows)])
	for i := first + 1; i < first+per; i++ {
		least = min(least, s.MarginLo(m.Lo(i)[:len(s.Rows)]))
	}
	return least
}

// observeDead notes the neurons whose upper bound is <= 0 for every input box.
func observeDead(dev bound.Device, probes []*probe, per, layer int, a bound.Array) error {
	hi := make([]float64, a.Len())
	if err := dev.Read(hi, a); err != nil {
		return err
	}
	n := len(hi) / (per * len(probes))
	for i, p := range probes {
		dead := make([]bool, n)
		for j := range dead {
			dead[j] = true
			for t := range per {
				dead[j] = dead[j] && hi[(i*per+t)*n+j] <= 0
			}
		}
		p.dead = append(p.dead[:layer], dead)
	}
	return nil
}

func makeBoxes(m *bound.Model, probes []*probe, oneBox bool) (*bound.Boxes, error) {
	if probes[0].box != nil {
		var list []bound.Explicit
		for _, p := range probes {
			list = append(list, *p.box)
		}
		return m.Upload(list)
	}
	if oneBox {
		probes = probes[:1]
	}
	spec := bound.BoxSpec{Gamma: make([][]float64, len(probes[0].gamma))}
	for k := range spec.Gamma {
		for _, p := range probes {
			spec.Gamma[k] = append(spec.Gamma[k], p.gamma[k])
		}
	}
	return m.Draw(spec)
}
