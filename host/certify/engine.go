package certify

import (
	"fmt"
	"slices"

	"psafe/host/bound"
	"psafe/host/neuronsum"
	"psafe/host/posterior"
)

// Engine is a posterior on a device, and no more: it knows how much fits the device
// (budget), has chunks of work done (guarded), once more in halves and then on a spare
// device if the device fails in the middle, verifies weight boxes (verify), and says
// which devices did the work (Name). What is to be done, strategies know.
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
	sums *neuronsum.Sum
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

// deviationsOn prepares the posterior on a model once.
func (e *Engine) deviationsOn(m *bound.Model) (*bound.Deviations, error) {
	if c := e.deviations[m]; c != nil {
		return c, nil
	}
	c, err := m.NewDeviations(e.normal, NoiseMoments(e.normal))
	if err != nil {
		return nil, err
	}
	if e.deviations == nil {
		e.deviations = map[*bound.Model]*bound.Deviations{}
	}
	e.deviations[m] = c
	return c, nil
}
