package decide

import (
	"context"

	"psafe/host/prove/branch"
	"psafe/host/prove/claim"
	"psafe/host/read/property"
)

// harderRounds is how many attacks a network gets that is open still.
const harderRounds = 6

// tryHarder decides pairs that are open still, of networks of many inputs, where cutting T proves
// little: by attacks as verify has them, and by phases of ReLUs. It tells of each network.
func (c *census) tryHarder(ctx context.Context, nets []drawn, tasks []property.Task, rulings []decided, tell func(more int)) error {
	if c.phases == 0 || c.e.Normal.Inputs() <= FewInputs {
		tell(len(nets))
		return nil
	}
	d := &decision{e: c.e, nets: nets, tasks: tasks, rulings: rulings, spent: make([]int, len(rulings))}
	for i := range rulings {
		if i%len(tasks) == 0 {
			tell(1)
		}
		if rulings[i].ruling != undecided || ctx.Err() == nil && !d.fits(i/len(tasks)) {
			continue
		}
		err := d.attackMore(ctx, i)
		if err == nil && rulings[i].ruling == undecided {
			err = d.phases(ctx, i, c.phases)
		}
		if c.e.Cut(err) { // the rest is undecided
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// attackMore attacks pair i as verify does.
func (d *decision) attackMore(ctx context.Context, i int) error {
	n, t := i/len(d.tasks), i%len(d.tasks)
	var failed error
	box := 0
	r := &search{net: d.e.Normal.Network(), Search: &Search{Engine: d.e, Weights: d.nets[n], Tasks: d.tasks, Try: func(_ int, x []float64) bool {
		at, around := claim.NewWitness(&d.tasks[t], box, x)
		failed = d.accuse(ctx, []suspect{{n, t, at, around}})
		return failed != nil || d.rulings[i].ruling != undecided
	}}}
	for round := range uint64(harderRounds) {
		for box = range d.tasks[t].T {
			if err := ctx.Err(); err != nil {
				return err
			}
			if r.attackBox(ctx, t, box, oneOf(&d.tasks[t].S, round), round) {
				return failed
			}
		}
	}
	return ctx.Err()
}

// mostPhaseWork is up to how many products of a network's hidden rows, if all its neurons were open,
// phases are tried for: 64 seconds or so, of which mostly a hundredth is needed.
const mostPhaseWork = 1 << 35

// phases proves pair i safe by phases, if it can: on every box of T, with so many sub-problems.
func (d *decision) phases(ctx context.Context, i, most int) error {
	n, t := i/len(d.tasks), &d.tasks[i%len(d.tasks)]
	if net := d.e.Normal.Network(); !branch.Serves(net, &t.S) || branch.Work(net) > mostPhaseWork {
		return nil
	}
	for b := range t.T {
		found, err := provePhases(ctx, d.e, d.nets[n], &branch.Task{Box: t.T[b], Safe: &t.S, Most: most})
		if err != nil || !found.Proved {
			return err
		}
	}
	d.rulings[i].ruling = provedSafe
	return nil
}
