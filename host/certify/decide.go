package certify

import (
	"context"
	"slices"
	"sort"

	"psafe/host/bound"
	"psafe/host/posterior"
	"psafe/host/property"
)

// Networks with given weights, decided one by one: the sound deterministic verifier
// behind statistical statements and finite-sample posteriors (theory section 7).

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

// question asks for lower bounds of rows on a box, for one network.
type question struct {
	net  int
	box  property.Box
	rows []property.Row
	// lo is the answer.
	lo []float64
}

// mostShared is how many questions about one network share its weights in a batch.
const mostShared = 64

// ask answers questions about networks: their weights, rounded outward, are weight
// boxes of (nearly) no width.
func (e *Engine) ask(ctx context.Context, method bound.Method, nets []drawn, qs []*question) error {
	if len(qs) == 0 {
		return nil
	}
	rows := 0
	for _, q := range qs {
		rows = max(rows, len(q.rows))
	}
	sort.SliceStable(qs, func(i, j int) bool { return qs[i].net < qs[j].net })
	perBox := sharing(qs)
	runs := cutRuns(qs, perBox)
	boxBytes, itemBytes := e.model.Footprint(method, rows)
	most := max(1, min(e.budget()/(boxBytes+int64(perBox)*itemBytes), 4096, int64(e.model.MostItems(rows)/perBox)))
	for chunk := range slices.Chunk(runs, int(most)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := guarded(e, chunk, func(m *bound.Model, part [][]*question) error {
			return askOn(m, method, nets, part, perBox)
		}); err != nil {
			return err
		}
	}
	return nil
}

// sharing is a power of 2 near the number of questions about a network.
func sharing(qs []*question) int {
	nets := 1
	for i := 1; i < len(qs); i++ {
		if qs[i].net != qs[i-1].net {
			nets++
		}
	}
	n := 1
	for 2*n <= min(mostShared, len(qs)/nets) {
		n *= 2
	}
	return n
}

// cutRuns cuts sorted questions into runs of perBox about one network each, the
// last ones repeated.
func cutRuns(qs []*question, perBox int) [][]*question {
	var runs [][]*question
	for len(qs) > 0 {
		n := 1
		for n < len(qs) && n < perBox && qs[n].net == qs[0].net {
			n++
		}
		run := slices.Clone(qs[:n])
		for len(run) < perBox {
			run = append(run, qs[n-1])
		}
		runs, qs = append(runs, run), qs[n:]
	}
	return runs
}

// askOn answers runs of questions in one batch.
func askOn(m *bound.Model, method bound.Method, nets []drawn, runs [][]*question, perBox int) error {
	p := m.Device().Precision()
	var list []bound.Explicit
	var regions []property.Box
	var rows [][]property.Row
	for _, run := range runs {
		list = append(list, enclose(nets[run[0].net], p))
		for _, q := range run {
			regions, rows = append(regions, q.box), append(rows, q.rows)
		}
	}
	boxes, err := m.Upload(list)
	if err != nil {
		return err
	}
	defer m.ReleaseBoxes(boxes)
	in, dr, release, err := upload(m, regions, rows)
	if err != nil {
		return err
	}
	defer release()
	items := len(regions)
	margins, err := m.Propagate(bound.Job{Method: method, Boxes: boxes, Inputs: in, Rows: dr,
		Batch: bound.Batch{Items: items, PerBox: perBox, Inputs: items}})
	if err != nil {
		return err
	}
	for r, run := range runs {
		for i, q := range run {
			q.lo = margins.Lo(r*perBox + i)[:len(q.rows)]
		}
	}
	return nil
}

// enclose rounds weights outward to a precision.
func enclose(net drawn, p bound.Precision) bound.Explicit {
	var b bound.Explicit
	for _, w := range net {
		lo, hi := make([]float64, len(w)), make([]float64, len(w))
		for j, x := range w {
			lo[j], hi[j] = p.RoundLo(x), p.RoundHi(x)
		}
		b.Lo, b.Hi = append(b.Lo, lo), append(b.Hi, hi)
	}
	return b
}

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
func (e *Engine) decide(ctx context.Context, nets []drawn, tasks []property.Task, most int) ([]ruling, error) {
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
	if err := d.e.ask(ctx, method, d.nets, slices.Clone(qs)); err != nil {
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
		halve(d.network(o.net), &c)
		for _, part := range c.parts {
			halves = append(halves, open{o.net, o.task, part.box})
		}
	}
	d.open = halves
	d.drop()
}

// network is the deterministic network n.
func (d *decision) network(n int) *posterior.Posterior {
	p := &posterior.Posterior{Layers: slices.Clone(d.e.normal.Layers)}
	for k := range p.Layers {
		p.Layers[k].Weight.Mean, p.Layers[k].Bias.Mean = d.nets[n][2*k], d.nets[n][2*k+1]
	}
	return p
}
