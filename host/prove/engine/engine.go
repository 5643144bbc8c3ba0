// Package engine computes with a posterior on a device. It has chunks of work done, in halves and
// then by a spare device where the device fails (Guarded), does some of the work again on the spare
// device and drops a device that differs (Recheck), verifies weight boxes (Verify), and certifies
// tasks in groups, each within its time (Run). It knows no method; what one prepares of a posterior
// it keeps with the engine (Keep).
package engine

import (
	"fmt"
	"slices"
	"sync"

	"psafe/host/bound"
	"psafe/host/bound/selfcheck"
	"psafe/host/model/posterior"
)

// Engine is a posterior on a device, and no more: it knows how much fits the device
// (Budget), has chunks of work done (Guarded), once more in halves and then on a spare
// device if the device fails in the middle, compares the two (recheck), verifies weight
// boxes (verify), and says which devices did the work (Name). What is to be done,
// methods know.
type Engine struct {
	// Posterior holds what is certified. normal is the same if its weights are independent
	// normal numbers, and otherwise its mean network without deviations: what is
	// propagated then is drawn networks, never normal.
	Posterior *posterior.Posterior
	Normal    *posterior.Posterior
	Flat      posterior.Flat
	// Chain reports whether the network is a chain of dense layers.
	Chain  bool
	Device bound.Device
	Model  *bound.Model
	// on is the device as it was given, without the end of the engine's work, and of what this is a lane of, or nil.
	on bound.Device
	of *Engine
	// Beside says that these are the processor's cores, beside devices of which they take work off.
	Beside bool
	// Drawn, if set, is told which share is done of networks that are decided, from 0 to 1, by draws and rulings.
	Drawn func(share float64)
	// spare makes the device of last resort, nil if there is none.
	spare  func() bound.Device
	backup *bound.Model
	Reach  float64
	// depth is how many activations rows of hidden neurons pass at most, 0 for all.
	depth int
	// moved counts the chunks that the spare device had to do, failures those that the device has failed
	// at, less what its successes excuse (failing.go); fault is the latest.
	moved    int
	failures float64
	fault    error
	// kept is what methods keep with the engine, by *Keep, and releases gives back what of that has to be.
	keeping  sync.Mutex
	kept     map[any]any
	releases []func()
	// recheck compares the device with the spare one, and expected is what operations give on that
	// one, once it has been asked for.
	recheck  recheck
	expected []selfcheck.Trace
	// timing is how long the engine may work on what it has, and how much it gets.
	timing timing
}

// New loads the posterior on the device. reach is the largest half-width in
// standard deviations that will be asked for. spare may be nil. A posterior of another
// kind than independent normal weights is for Statistical and Finite only.
func New(dev bound.Device, spare func() bound.Device, post *posterior.Posterior, reach float64) (*Engine, error) {
	return NewOfDepth(dev, spare, post, reach, 0)
}

// NewOfDepth is New with a bound.NewModelOfDepth.
func NewOfDepth(dev bound.Device, spare func() bound.Device, post *posterior.Posterior, reach float64, depth int) (*Engine, error) {
	normal := post
	if !post.Independent() {
		normal = post.AtMean()
	}
	e := &Engine{Posterior: post, Normal: normal, Flat: normal.Flat(), Chain: normal.Network().Chain(), Reach: reach, depth: depth, on: dev}
	e.Device = bound.UntilOver(e.timing.over, dev)
	if spare != nil {
		e.spare = func() bound.Device { return bound.UntilOver(e.timing.over, spare()) }
	}
	var err error
	if e.Model, err = bound.NewModelOfDepth(e.Device, normal, reach, depth); err != nil {
		return nil, err
	}
	return e, nil
}

// Close gives the device's memory back.
func (e *Engine) Close() {
	for _, release := range e.releases {
		release()
	}
	if e.of == nil {
		e.Model.Release()
	}
	if e.backup != nil {
		e.backup.Release()
	}
}

// Precision is the device's.
func (e *Engine) Precision() bound.Precision { return e.Device.Precision() }

// begin forgets what the spare device had to do for earlier results.
func (e *Engine) begin() { e.moved, e.fault = 0, nil }

// Name names the device, and the spare one too if it had to help since begin, or has taken
// its place.
func (e *Engine) Name() string {
	if off := e.recheck.off; off != nil {
		return fmt.Sprintf("%s, as %v", off.Spare, off)
	}
	if e.moved > 0 {
		return fmt.Sprintf("%s, %d chunks on %s after: %v", e.Device.Name(), e.moved, e.backup.Device().Name(), e.fault)
	}
	return e.Device.Name()
}

// Trusted reports whether no other device is asked for what the engine's has answered.
func (e *Engine) Trusted() bool { return e.spare == nil }

// Budget is the memory to plan batches for: what the model leaves of the limit,
// less a share for what devices round sizes up to.
func (e *Engine) Budget() int64 { return (e.Device.MemoryLimit() - e.Model.Bytes()) / 10 * 6 }

// mostAtATime is how many items a launch may have on a device whose memory says how many.
const mostAtATime = 1 << 20

// AtATime returns how many items of so many bytes a batch may have: as many as fit into free bytes, and on
// devices that gain nothing by more, up to few.
func (e *Engine) AtATime(free, each int64, few int) int {
	if bound.Wide(e.Device) {
		few = mostAtATime
	}
	return int(max(1, min(free/max(1, each), int64(few))))
}

// BoxesAtATime returns how many weight boxes of so many bytes a batch may have: as many as fit, or suit the
// device best.
func (e *Engine) BoxesAtATime(each int64) int {
	return e.AtATime(min(e.Budget(), bound.BatchBytes(e.Device)), each, 4096)
}

// Guarded asks the device for the answers of a chunk, a kind of work, and takes them in; if
// the device fails, on its halves, and then the spare device. So a chunk is answered by
// launches that succeeded or not at all. If a recheck finds a number that differs, or the device is
// lost, the error is a *Dropped and nothing is taken in.
func Guarded[P any](e *Engine, work string, chunk []P, ask Asker[P]) error {
	if e.recheck.off != nil {
		return onSpare(e, chunk, ask)
	}
	fault, err := onDevice(e, work, chunk, ask)
	if fault == nil {
		return err
	}
	if over := e.timing.over(); over != nil {
		return over
	}
	return inHalves(e, work, chunk, ask, fault)
}

// onDevice asks the device. A fault is the device's and has taken nothing in; any other
// error ends the work.
func onDevice[P any](e *Engine, work string, chunk []P, ask Asker[P]) (fault, err error) {
	answers, fault := ask(e.Model, chunk)
	if isUnfit(fault) {
		return nil, fault
	}
	if fault != nil {
		return fault, nil
	}
	e.failures = max(0, e.failures-excuse)
	if err := recheckSome(e, work, chunk, answers, ask); err != nil {
		return nil, err
	}
	for _, a := range answers {
		a.Take()
	}
	return nil, nil
}

// spareChunk is how many probes or boxes the spare device gets at a time: chunks
// were cut for a device that may have much more memory.
const spareChunk = 16

// onSpare asks the spare device.
func onSpare[P any](e *Engine, chunk []P, ask Asker[P]) error {
	model, err := e.spareModel()
	if err != nil {
		return err
	}
	for few := range slices.Chunk(chunk, spareChunk) {
		answers, err := ask(model, few)
		if err != nil {
			return err
		}
		for _, a := range answers {
			a.Take()
		}
	}
	return nil
}

// spareModel is the model on the spare device, which there must be.
func (e *Engine) spareModel() (*bound.Model, error) {
	if e.backup == nil {
		m, err := bound.NewModelOfDepth(e.spare(), e.Normal, e.Reach, e.depth)
		if err != nil {
			return nil, err
		}
		e.backup = m
	}
	return e.backup, nil
}

// Depth returns how many activations rows of hidden neurons pass at most, 0 for all.
func (e *Engine) Depth() int { return e.depth }

// Over returns why work for the engine has to end, nil as long as it may go on.
func (e *Engine) Over() error { return e.timing.over() }
