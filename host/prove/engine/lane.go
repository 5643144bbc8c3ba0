package engine

import (
	"runtime"

	"psafe/host/bound"
)

// Lanes returns up to n engines, one for a core at most, for tasks of which each keeps about one
// core busy: they share the posterior on e's device, and each has a share of the device's memory
// that holds so many bytes. It is none where the device has no cores to share out (bound.Lane), or
// is not trusted, as what a spare device is asked again is the work of one engine. Lanes are to be
// closed, before e, which must not work meanwhile.
func (e *Engine) Lanes(n int, each int64) []*Engine {
	n = min(n, runtime.GOMAXPROCS(0), int(e.Budget()/max(1, each)))
	if n < 2 || !e.Trusted() {
		return nil
	}
	lanes := make([]*Engine, n)
	for i := range lanes {
		on := bound.Lane(e.on, n)
		if on == nil {
			return nil
		}
		l := &Engine{Posterior: e.Posterior, Normal: e.Normal, Flat: e.Flat, Chain: e.Chain, Reach: e.Reach, depth: e.depth, on: on, of: e}
		l.Device = bound.UntilOver(l.timing.over, on)
		l.Model = e.Model.On(l.Device)
		lanes[i] = l
	}
	return lanes
}

// Of returns what e is a lane of, nil for an engine of its own.
func (e *Engine) Of() *Engine { return e.of }
