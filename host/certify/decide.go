package certify

import (
	"context"
	"slices"

	"psafe/host/bound"
	"psafe/host/property"
)

// Networks with given weights, decided one by one: the sound deterministic verifier
// behind statistical statements and finite-sample posteriors (docs/concentration.md, section 5).

// ruling is what is proved of one network on one task.
type ruling int8

const (
	undecided ruling = iota
	// provedSafe: f(x) in S for all x in T.
	provedSafe
	// provedUnsafe: f(x) not in S for some x in T.
	provedUnsafe
)

// drawn is one network: its weights in the layout of posterior.Draw.
type drawn = [][]float64

// open is a cell of a task on which a network is not decided yet.
type open struct {
	net, task int
	box       property.Box
}

// decision decides networks on tasks.
type decision struct {
	e     *Engine
	nets  []drawn
	tasks []property.Task
	// rulings[n*len(tasks)+t] is that of network n on task t.
	rulings []ruling
	// spent counts the cells of a pair beyond its boxes, which may be up to most.
	spent []int
	most  int
	open  []open
}

// decide rules on every network and task. Each pair may cut the boxes of T into up to
// most - 1 more.
func decide(ctx context.Context, e *Engine, nets []drawn, tasks []property.Task, most int) ([]ruling, error) {
	d := &decision{e: e, nets: nets, tasks: tasks, most: most - 1,
		rulings: make([]ruling, len(nets)*len(tasks)), spent: make([]int, len(nets)*len(tasks))}
	for n := range nets {
		fits := d.fits(n)
		for t := range tasks {
			if !fits {
				d.spent[n*len(tasks)+t] = most // nothing is tried
				continue
			}
			for _, b := range tasks[t].T {
				d.open = append(d.open, open{n, t, b})
			}
		}
	}
	if err := d.verify(ctx, bound.IBP); err != nil {
		return nil, err
	}
	if err := d.verify(ctx, bound.LBP); err != nil {
		return nil, err
	}
	if err := d.attack(ctx); err != nil {
		return nil, err
	}
	for len(d.open) > 0 {
		d.split()
		if err := d.verify(ctx, bound.LBP); err != nil {
			return nil, err
		}
	}
	for i, r := range d.rulings {
		if r == undecided && d.spent[i] <= d.most {
			d.rulings[i] = provedSafe
		}
	}
	return d.rulings, nil
}

// fits says that the weights of network n are numbers of the device's format: kernels
// count on finite weight boxes.
func (d *decision) fits(n int) bool {
	p := d.e.dev.Precision()
	for _, w := range d.nets[n] {
		for _, x := range w {
			if !(p.RoundLo(x) >= -p.Max() && p.RoundHi(x) <= p.Max()) {
				return false
			}
		}
	}
	return true
}

// verify closes the cells that are proved safe.
func (d *decision) verify(ctx context.Context, method bound.Method) error {
	qs := make([]*question, len(d.open))
	for i, o := range d.open {
		qs[i] = &question{net: o.net, box: o.box, rows: d.tasks[o.task].S.Rows}
	}
	if err := d.ask(ctx, method, slices.Clone(qs)); err != nil {
		return err
	}
	kept := d.open[:0]
	for i, o := range d.open {
		if !d.tasks[o.task].S.Holds(qs[i].lo) {
			kept = append(kept, o)
		}
	}
	d.open = kept
	return nil
}

// drop forgets the open cells of pairs that are decided or over their budget.
func (d *decision) drop() {
	d.open = slices.DeleteFunc(d.open, func(o open) bool {
		i := o.net*len(d.tasks) + o.task
		return d.rulings[i] != undecided || d.spent[i] > d.most
	})
}

// split halves the open cells of every pair that may have so many more; a pair that
// may not is given up, which spent above most says.
func (d *decision) split() {
	more := make([]int, len(d.spent))
	for _, o := range d.open {
		more[o.net*len(d.tasks)+o.task]++
	}
	for i, n := range more {
		d.spent[i] += n
	}
	d.drop()
	var halves []open
	for _, o := range d.open {
		c := cell{task: &d.tasks[o.task], box: o.box}
		if slices.Equal(o.box.Lo, o.box.Hi) {
			d.spent[o.net*len(d.tasks)+o.task] = d.most + 1
			continue
		}
		halve(d.e.normal.Network(), d.nets[o.net], &c)
		for _, part := range c.parts {
			halves = append(halves, open{o.net, o.task, part.box})
		}
	}
	d.open = halves
	d.drop()
}

// attack rules on pairs that are open: where the network can be shown to be unsafe
// at a point of T.
func (d *decision) attack(ctx context.Context) error {
	pairs := d.pairs()
	boxes := make([]property.Box, len(pairs))
	onCores(len(pairs), func(i int) {
		boxes[i] = witness(d.e.normal.Network(), d.nets[pairs[i].net], &d.tasks[pairs[i].task], false)
	})
	var qs []*question
	owner := map[*question]open{}
	for i, p := range pairs {
		if w := boxes[i]; w.Lo != nil {
			q := &question{net: p.net, box: w, rows: negated(&d.tasks[p.task]).S.Rows}
			qs, owner[q] = append(qs, q), p
		}
	}
	if err := d.ask(ctx, bound.IBP, slices.Clone(qs)); err != nil {
		return err
	}
	for _, q := range qs {
		p := owner[q]
		if d.tasks[p.task].S.FailsSurely(q.lo) {
			d.rulings[p.net*len(d.tasks)+p.task] = provedUnsafe
		}
	}
	d.drop()
	return nil
}

// pairs lists the pairs with open cells, once each.
func (d *decision) pairs() []open {
	seen := make([]bool, len(d.rulings))
	var list []open
	for _, o := range d.open {
		if i := o.net*len(d.tasks) + o.task; !seen[i] {
			seen[i] = true
			list = append(list, o)
		}
	}
	return list
}
