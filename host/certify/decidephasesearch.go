package certify

import (
	"context"
	"time"
)

// byPhases closes cells that phases prove, where cutting T is not promising: with many inputs.
func (r *search) byPhases(ctx context.Context) error {
	if r.Engine.normal.Inputs() <= fewInputs {
		return nil
	}
	r.proving.Store(true)
	defer r.proving.Store(false)
	kept := r.stack[:0]
	for _, o := range r.stack {
		t := &phaseTask{weights: r.Weights, box: o.box, safe: &r.Tasks[o.task].S, most: r.Cells - r.found.Cells, stop: r.over}
		if canPhase(r.net, t.safe) {
			if err := r.Engine.provePhases(ctx, []*phaseTask{t}); err != nil {
				return err
			}
			r.found.Cells += min(max(t.tried, 1), t.most)
		}
		if !t.proved {
			kept = append(kept, o)
		}
	}
	r.stack = kept
	return nil
}

// attackShare is how much longer than an attack took the next one waits while phases are at work:
// what falls mostly falls to the first ones.
const attackShare = 3

// rest lets phases work, after an attack that took so long.
func (r *search) rest(ctx context.Context, took time.Duration) {
	if !r.proving.Load() {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(min(attackShare*took, time.Second)):
	}
}
