package certify

import (
	"context"
	"slices"
	"time"

	"psafe/host/bound"
	"psafe/host/network"
	"psafe/host/property"
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

// censusTries is how many sub-problems a network that was drawn may take: mostly it is the slopes
// that decide it, or none would.
const censusTries = 64

// mostCensusWork is up to how many products of a network's hidden rows, if all its neurons were open,
// it is tried for: 64 seconds or so, of which mostly a hundredth is needed.
const mostCensusWork = 1 << 35

// phaseWork is how many products it takes to raise the bounds of all hidden units.
func phaseWork(net network.Network) (products int) {
	below := 0
	for _, l := range net[:len(net)-1] {
		if below > 0 {
			products += 2 * l.Outputs() * 2 * unitRounds * below
		}
		below += l.Weights()
	}
	return products
}

// byPhases proves networks safe that are undecided, where T has many inputs and the networks are not
// large.
func (c *census) byPhases(ctx context.Context, nets []drawn, tasks []property.Task, rulings []decided) error {
	if net := c.e.normal.Network(); c.e.normal.Inputs() <= fewInputs || !bound.CanSplit(net) || phaseWork(net) > mostCensusWork {
		return nil
	}
	for i := range rulings {
		r, t := &rulings[i], &tasks[i%len(tasks)]
		if r.ruling != undecided || !canPhase(c.e.normal.Network(), &t.S) {
			continue
		}
		safe := true
		for _, box := range t.T {
			p := &phaseTask{weights: nets[i/len(tasks)], box: box, safe: &t.S, most: censusTries}
			if err := c.e.provePhases(ctx, []*phaseTask{p}); err != nil {
				return err
			}
			if safe = p.proved; !safe {
				break
			}
		}
		if safe {
			r.ruling = provedSafe
		}
	}
	return nil
}
