package certify

import (
	"context"
	"slices"
	"time"

	"psafe/host/bound"
)

// byPhases closes cells that phases prove, where cutting T is not promising: with many inputs.
func (r *search) byPhases(ctx context.Context) error {
	if r.Engine.normal.Inputs() <= fewInputs {
		return nil
	}
	r.proving.Store(true)
	defer r.proving.Store(false)
	qs := make([]*question, len(r.stack))
	for i, o := range r.stack {
		qs[i] = &question{box: o.box, rows: r.Tasks[o.task].S.Rows}
	}
	if err := r.d.ask(ctx, bound.LBP, slices.Clone(qs)); err != nil {
		return err
	}
	r.found.Cells += len(qs)
	kept := r.stack[:0]
	for i, o := range r.stack {
		if r.Tasks[o.task].S.Holds(qs[i].lo) {
			continue
		}
		t := &phaseTask{weights: r.Weights, box: o.box, safe: &r.Tasks[o.task].S, most: max(r.Cells-r.found.Cells, 0), stop: r.over}
		if canPhase(r.net, t.safe) {
			if err := r.Engine.provePhases(ctx, []*phaseTask{t}); err != nil {
				return err
			}
			r.found.Cells += t.tried
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
