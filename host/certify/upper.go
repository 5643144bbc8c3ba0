package certify

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"

	"psafe/host/bound"
	"psafe/host/property"
)

// Upper bounds (theory section 8): for any x of the true T, P_safe <= Prob(f(x) in S).
// The point is found by attack on the mean network; whatever it is, the bound holds.

// attackSteps and attackStarts are how hard a point is looked for.
const (
	attackSteps  = 20
	attackStarts = 3
)

// upper sets UnsafeDown where it can be shown that the network is unsafe at a point
// of T with some probability.
func (e *Engine) upper(ctx context.Context, results []*Result) error {
	var cells []*cell
	owner := map[*cell]*Result{}
	for i, boxes := range e.witnesses(results, e.normal.Mean()) {
		for _, w := range boxes {
			c := &cell{task: negated(results[i].Task), box: w, fail: 1, dual: true}
			cells, owner[c] = append(cells, c), results[i]
		}
	}
	if len(cells) == 0 {
		return nil
	}
	if err := e.judge(ctx, cells); err != nil {
		return err
	}
	for _, c := range cells {
		// c.fail bounds Prob(S holds at the point) from above.
		r := owner[c]
		r.UnsafeDown = max(r.UnsafeDown, math.Nextafter(1-c.fail, math.Inf(-1)))
	}
	return nil
}

// witnesses attacks the mean network in every box of T, on all cores, and returns
// for each result the witness box of the worst point, if it knows one.
func (e *Engine) witnesses(results []*Result, net drawn) [][]property.Box {
	found := make([][]property.Box, len(results))
	var wait sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, r := range results {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			found[i] = e.witness(r.Task, net, true)
		})
	}
	wait.Wait()
	return found
}

// witness is the witness box of the point of T where the network's margin is least;
// unless thorough, of one where it is clearly negative.
func (e *Engine) witness(t *property.Task, net drawn, thorough bool) []property.Box {
	least, best := math.Inf(1), property.Box{}
	for b := range t.T {
		x, margin := attackApprox(e.normal.Network(), net, t.T[b], &t.S, attackSteps, attackStarts, uint64(t.Index), thorough)
		w := t.Witness(b, x)
		if w.Lo != nil && (margin < least || best.Lo == nil) {
			least, best = margin, w
		}
	}
	if best.Lo == nil {
		return nil
	}
	return []property.Box{best}
}

// negated is the task with every row negated: bounds from below of its rows are
// bounds from above of the task's.
func negated(t *property.Task) *property.Task {
	n := *t
	n.S.Rows = nil
	for _, row := range t.S.Rows {
		n.S.Rows = append(n.S.Rows, row.Negated())
	}
	return &n
}

// attack rules on pairs that are open: where the network can be shown to be unsafe
// at a point of T.
func (d *decision) attack(ctx context.Context) error {
	pairs := d.pairs()
	boxes := make([][]property.Box, len(pairs))
	var wait sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, p := range pairs {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			boxes[i] = d.e.witness(&d.tasks[p.task], d.nets[p.net], false)
		})
	}
	wait.Wait()
	var qs []*question
	owner := map[*question]open{}
	for i, p := range pairs {
		for _, w := range boxes[i] {
			q := &question{net: p.net, box: w, rows: negated(&d.tasks[p.task]).S.Rows}
			qs, owner[q] = append(qs, q), p
		}
	}
	if err := d.e.ask(ctx, bound.IBP, d.nets, slices.Clone(qs)); err != nil {
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

// dualUp bounds the probability that S holds at a point, from above: some alternative
// has to hold, and with it each of its rows. tails[r] bounds the probability that row
// r holds, beside the budget of the hidden bounds.
func dualUp(s *property.Safe, tails []float64) float64 {
	sum := 0.0
	for _, all := range s.Any {
		least := 1.0
		for _, r := range all {
			least = min(least, tails[r])
		}
		sum = math.Nextafter(sum+least, math.Inf(1))
	}
	return sum
}
