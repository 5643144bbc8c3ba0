package decide

import (
	"context"
	"slices"
	"time"

	"psafe/host/bound"
	"psafe/host/prove/branch"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
)

// byPhases closes cells that phases prove, where cutting T is not promising: with many inputs. With not so many
// package branch may cut cells all the same.
func (r *search) byPhases(ctx context.Context) error {
	if r.Engine.Normal.Inputs() <= FewInputs {
		return nil
	}
	qs := make([]*question, len(r.stack))
	var asked []*question
	for i, o := range r.stack {
		qs[i] = &question{box: o.box, rows: r.Tasks[o.task].S.Rows}
		if !r.beginsWithRows(&r.Tasks[o.task].S) {
			asked = append(asked, qs[i])
		}
	}
	if err := r.d.ask(ctx, bound.LBP, asked); err != nil {
		return err
	}
	r.found.Cells += len(qs)
	kept := r.stack[:0]
	for i, o := range r.stack {
		if qs[i].lo != nil && r.Tasks[o.task].S.Holds(qs[i].lo) {
			continue
		}
		t := &branch.Task{Box: o.box, Safe: &r.Tasks[o.task].S, Most: max(r.Cells-r.found.Cells-r.found.Problems, 0), Stop: r.over,
			Count: func(n int) { r.found.Problems += n }}
		var found branch.Answer
		if branch.Serves(r.net, t.Safe) {
			var err error
			if found, err = provePhases(ctx, r.Engine, r.Weights, t); err != nil {
				return err
			}
		}
		if !found.Proved {
			kept = append(kept, o)
		}
	}
	r.stack = kept
	return nil
}

// beginsWithRows reports whether package branch, where it cuts cells, asks first for bounds of the rows of a set,
// each by itself, as LBP has them.
func (r *search) beginsWithRows(s *property.Safe) bool {
	return branch.CutsBox(r.net) && branch.Serves(r.net, s) && !slices.ContainsFunc(branch.Clauses(s), func(rows []int) bool { return len(rows) > 1 })
}

// provePhases asks by phases of ReLUs whether the network with these weights is in a safe set.
func provePhases(ctx context.Context, e *engine.Engine, weights drawn, t *branch.Task) (found branch.Answer, err error) {
	if err := ctx.Err(); err != nil {
		return found, err
	}
	// Rechecks may come when t.Stop says something else. So they go on to the end, and of an answer
	// that was cut short, how far it came is nobody's fault: there is nothing to compare.
	cut := false
	err = engine.Guarded(e, "phases of one network", []*branch.Task{t}, func(m *bound.Model, tasks []*branch.Task) (answers []engine.Answer, err error) {
		for _, t := range tasks {
			if cut {
				answers = append(answers, engine.Answer{Take: func() {}})
				continue
			}
			got, err := t.On(m, e.Normal.Network(), bound.Enclose(weights, m.Device().Precision()))
			if err != nil {
				return nil, err
			}
			if cut = t.Stop != nil && t.Stop(); cut {
				got.Numbers = nil
			}
			t.Stop, t.Count = nil, nil
			answers = append(answers, engine.Answer{Numbers: got.Numbers, Take: func() { found = got }})
		}
		return answers, nil
	})
	return found, err
}

// attackShare is how much longer than an attack took the next one waits while phases are at work:
// what falls mostly falls to the first ones.
const attackShare = 3

// rest lets phases work, after an attack that took so long.
func (r *search) rest(ctx context.Context, took time.Duration) {
	select {
	case <-ctx.Done():
	case <-r.phased:
	case <-time.After(attackShare * took):
	}
}
