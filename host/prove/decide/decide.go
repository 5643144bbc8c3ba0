// Package decide rules on networks with given weights: safe on all of T, or unsafe at a witness. So are
// decided networks that are drawn (Statistical), all networks of a finite set (Finite), and one network
// of a query (Search).
package decide

import (
	"context"
	"math"
	"slices"

	"psafe/host/bound"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
)

// Networks with given weights, decided one by one: the sound deterministic verifier
// behind statistical statements and finite-sample posteriors (docs/theory.md, section 6.1).

// ruling holds what is proved of one network on one task.
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

// open is a cell of a task on which a network is not decided yet, a part of box number from of
// T, its place in the tree of that box, and what LBP suggests.
type open struct {
	net, task, from int
	box             property.Box
	at              *node
	hint            hint
}

// node is a box that was not cut, or a box and its halves along an axis.
type node struct {
	axis  int
	parts []*node
}

// preorder appends the node's tree as Proof.Cells writes it.
func (n *node) preorder(tree []int) []int {
	if n.parts == nil {
		return append(tree, claim.Leaf)
	}
	tree = append(tree, n.axis)
	for _, p := range n.parts {
		tree = p.preorder(tree)
	}
	return tree
}

// decided holds what is known of a network on a task, and how it was shown.
type decided struct {
	ruling
	witness *claim.Witness
	// roots are the trees of the boxes of T.
	roots []*node
}

// cells are the trees as Proof.Cells has them.
func (d *decided) cells() []int {
	var trees []int
	for _, r := range d.roots {
		trees = r.preorder(trees)
	}
	return claim.UncutCells(trees)
}

// decision decides networks on tasks.
type decision struct {
	e     *engine.Engine
	nets  []drawn
	tasks []property.Task
	// rulings[n*len(tasks)+t] is that of network n on task t.
	rulings []decided
	// spent counts the cells of a pair beyond its boxes, which may be up to most.
	spent []int
	most  int
	open  []open
}

// decide rules on every network and task. Each pair may cut the boxes of T into up to
// most - 1 more.
func decide(ctx context.Context, e *engine.Engine, nets []drawn, tasks []property.Task, most int) ([]decided, error) {
	d := &decision{e: e, nets: nets, tasks: tasks, most: most - 1,
		rulings: make([]decided, len(nets)*len(tasks)), spent: make([]int, len(nets)*len(tasks))}
	for n := range nets {
		fits := ctx.Err() == nil && d.fits(n) // search ends with that error
		for t := range tasks {
			if !fits {
				d.spent[n*len(tasks)+t] = most // nothing is tried
				continue
			}
			for i, b := range tasks[t].T {
				root := &node{}
				d.open = append(d.open, open{net: n, task: t, from: i, box: b, at: root})
				r := &d.rulings[n*len(tasks)+t]
				r.roots = append(r.roots, root)
			}
		}
	}
	if err := d.search(ctx); err != nil {
		if !e.Cut(err) {
			return nil, err
		}
		for _, o := range d.open { // what is open is undecided, as if it were over its budget
			i := o.net*len(d.tasks) + o.task
			d.spent[i] = max(d.spent[i], d.most+1)
		}
	}
	for i := range d.rulings {
		if r := &d.rulings[i]; r.ruling == undecided && d.spent[i] <= d.most {
			r.ruling = provedSafe
		}
	}
	return d.rulings, nil
}

// search goes on until no cell is open. Where it ends with an error, the cells that are not
// known to be safe are open still.
func (d *decision) search(ctx context.Context) error {
	first, err := d.suspected(ctx)
	if err != nil {
		return err
	}
	if err := d.attack(ctx, first); err != nil {
		return err
	}
	if err := d.byIntervals(ctx); err != nil {
		return err
	}
	if err := d.verify(ctx, bound.LBP, everyCell); err != nil {
		return err
	}
	if err := d.attack(ctx, d.pairs()); err != nil {
		return err
	}
	for len(d.open) > 0 {
		d.split()
		if err := d.verify(ctx, bound.LBP, everyCell); err != nil {
			return err
		}
		if err := d.look(ctx); err != nil {
			return err
		}
	}
	return nil
}

// fits reports whether the weights of network n are numbers of the device's format: kernels
// count on finite weight boxes.
func (d *decision) fits(n int) bool {
	most := d.e.Device.Precision().Max()
	for _, w := range d.nets[n] {
		for _, x := range w {
			if !(math.Abs(x) <= most) {
				return false
			}
		}
	}
	return true
}

// byIntervals closes cells by intervals: of the first network of a task, and of its others if that is closed.
// What intervals prove lines prove too, in more time.
func (d *decision) byIntervals(ctx context.Context) error {
	first, hard := map[int]int{}, map[int]bool{}
	for _, o := range d.open {
		if _, known := first[o.task]; !known {
			first[o.task] = o.net
		}
	}
	if err := d.verify(ctx, bound.IBP, func(o *open) bool { return o.net == first[o.task] }); err != nil {
		return err
	}
	for _, o := range d.open {
		hard[o.task] = hard[o.task] || o.net == first[o.task]
	}
	return d.verify(ctx, bound.IBP, func(o *open) bool { return o.net != first[o.task] && !hard[o.task] })
}

func everyCell(*open) bool { return true }

// verify closes the cells, of those to be tried, that are proved safe.
func (d *decision) verify(ctx context.Context, method bound.Propagation, try func(*open) bool) error {
	var qs []*question
	asked := make([]*question, len(d.open))
	for i := range d.open {
		o := &d.open[i]
		if !try(o) {
			continue
		}
		q := &question{net: o.net, box: o.box, rows: d.tasks[o.task].S.Rows}
		if method == bound.LBP && d.most > 0 { // where to cut it, and where to look
			q.of = &d.tasks[o.task].S
		}
		qs, asked[i] = append(qs, q), q
	}
	if err := d.ask(ctx, method, qs); err != nil {
		return err
	}
	kept := d.open[:0]
	for i, o := range d.open {
		if q := asked[i]; q == nil || !d.tasks[o.task].S.Holds(q.lo) {
			if q != nil {
				o.hint = q.hint
			}
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
		return d.rulings[i].ruling != undecided || d.spent[i] > d.most
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
		if slices.Equal(o.box.Lo, o.box.Hi) {
			d.spent[o.net*len(d.tasks)+o.task] = d.most + 1
			continue
		}
		o.at.axis = o.hint.axis
		left, right := o.box.Halves(o.hint.axis)
		for _, box := range []property.Box{left, right} {
			half := o
			half.box, half.at = box, &node{}
			o.at.parts = append(o.at.parts, half.at)
			halves = append(halves, half)
		}
	}
	d.open = halves
	d.drop()
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
