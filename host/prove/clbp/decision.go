package clbp

import (
	"context"
	"math"
	"slices"

	"psafe/host/bound"
	"psafe/host/prove/claim"
	"psafe/host/prove/decide"
	"psafe/host/prove/engine"
	"psafe/host/prove/ontop"
	"psafe/host/prove/probability"
	"psafe/host/prove/slack"
	"psafe/host/read/property"
)

// The decision of the posterior predictive by concentration LBP (docs/theory.md, section 9): the margins of a
// class have laws, from the same bounds that the tails of P_safe are from, and of these laws means of
// the softmax are taken. Every cell of T has bounds of its own, of which the worst counts.

// decisionBudgets holds what the failure of hidden bounds may cost in all, one after the other. Much is
// good where margins are near 0, and only less than a half ever decides; little is good where they are
// not, since pi_c is at most 1 less the budget.
var decisionBudgets = []float64{1e-3, 1e-2, 0.06, 0.2}

// budgetsAgain holds the budgets of the second look.
var budgetsAgain = []float64{1e-2, 0.06}

// decider bounds decisions on cells.
type decider struct {
	method
	// known is the best that has been shown of a cell, whose tau is that of it.
	known map[*cell]*shown
	// priced are the tasks that are about an action, by their tasks.
	priced map[*property.Task]*decide.Priced
	// probit reports whether the predictive is that of the probit rule.
	probit bool
}

// shown holds what is proved of the class of a cell's task on that cell.
type shown struct {
	*probability.Predictive
	// vote is at most the share of networks that no other class is above this one for, at every x.
	vote float64
}

// nothingShown returns what is known before.
func nothingShown(rows int) *shown {
	p := &probability.Predictive{}
	for range rows {
		p.RivalsUp, p.GapsDown = append(p.RivalsUp, 1), append(p.GapsDown, -1)
	}
	return &shown{Predictive: p}
}

// Decide bounds the decision of the posterior predictive on all of T, of tasks whose safe set is that
// of property.ArgmaxIs. T may be cut into so many cells; 0 leaves it to MostCells.
func Decide(ctx context.Context, e *engine.Engine, cells int, rule decide.Rule, tasks []*property.Task) ([]*claim.Decision, error) {
	d := &decider{method: method{e: e}, probit: rule.Probit, known: map[*cell]*shown{}, priced: map[*property.Task]*decide.Priced{}}
	if rule.Costs != nil {
		tasks = slices.Clone(tasks)
		for i, t := range tasks {
			p := rule.Asked(e.Posterior, t)
			tasks[i], d.priced[p.Task] = p.Task, p
		}
	}
	roots, all := make([][]*cell, len(tasks)), []*cell(nil)
	for i, t := range tasks {
		for _, box := range t.T {
			root := d.cellOf(t, box)
			root.ball = t.Ball
			roots[i] = append(roots[i], root)
		}
		all = append(all, roots[i]...)
	}
	err := of(e).prepareNoise()
	if err == nil {
		err = d.judgeDecision(ctx, all) // together: a device wants many
	}
	decisions := make([]*claim.Decision, len(tasks))
	for i, t := range tasks {
		var of error
		if decisions[i], of = d.decide(ctx, MostCells(e, cells, len(t.T)), rule, t, roots[i], err); of != nil {
			return nil, of
		}
	}
	return decisions, nil
}

// decide bounds the decision on the boxes of T, of which roots says what is known and err how that
// ended, looks for a point that refutes it, and where there is none cuts T.
func (d *decider) decide(ctx context.Context, most int, rule decide.Rule, t *property.Task, roots []*cell, err error) (*claim.Decision, error) {
	r := d.decision(roots)
	if err == nil && !(r.Gap > 0) {
		err = d.refute(ctx, rule, t, r)
	}
	if err == nil && r.Verdict() == claim.DecisionUnknown && t.Ball == nil { // balls are not cut
		err = d.cut(ctx, most, t, roots)
		r = d.decision(roots)
	}
	d.priced[t].Note(r)
	if err != nil && !d.e.Cut(err) {
		return nil, err
	}
	return r, nil
}

// cut halves the cells that are not decided, as long as there are no more than most.
func (d *decider) cut(ctx context.Context, most int, t *property.Task, roots []*cell) error {
	for open, count := roots, len(roots); ; {
		open = slices.DeleteFunc(slices.Clone(open), func(c *cell) bool {
			return d.known[c].LeastGap() > 0 || uncuttable(c.box)
		})
		if len(open) == 0 || count+len(open) > most {
			return nil
		}
		count += len(open)
		var halves []*cell
		for _, c := range open {
			d.halve(d.e.Normal.Network(), d.e.Normal.Mean(), c)
			for i, p := range c.parts {
				c.parts[i] = d.cellOf(t, p.box)
			}
			halves = append(halves, c.parts...)
		}
		if err := d.judgeDecision(ctx, halves); err != nil {
			return err
		}
		open = halves
	}
}

func (d *decider) cellOf(t *property.Task, box property.Box) *cell {
	c := &cell{task: t, box: box, fail: 1}
	if p := d.priced[t]; p != nil {
		d.known[c] = &shown{Predictive: p.Unknown()}
	} else {
		d.known[c] = nothingShown(len(t.S.Rows))
	}
	return c
}

// judgeDecision bounds the decision on cells with several taus, the best of which counts, and once more
// with sharper bounds where none decides.
func (d *decider) judgeDecision(ctx context.Context, cells []*cell) error {
	if d.probit {
		return d.decideByProbit(ctx, cells)
	}
	if d.second = false; of(d.e).mask() != nil {
		return d.decideMasked(ctx, cells)
	}
	budgets, again := decisionBudgets, budgetsAgain
	if of(d.e).onTop() != nil {
		if err := d.decideOnTop(ctx, cells); err != nil {
			return err
		}
		budgets, again = budgets[:1], again[:1] // no hidden bound can fail
	}
	if d.alone() {
		return nil
	}
	for _, budget := range budgets {
		if err := d.decideAt(ctx, cells, budget); err != nil {
			return err
		}
	}
	cells = slices.DeleteFunc(slices.Clone(cells), func(c *cell) bool {
		return d.e.Posterior.Independent() && slices.Equal(c.box.Lo, c.box.Hi) || d.known[c].LeastGap() > 0
	})
	d.second, d.pointwise = true, !slices.ContainsFunc(cells, func(c *cell) bool { return c.ball != nil })
	if !d.sharp() && !d.slopes() {
		return nil
	}
	for _, budget := range again {
		if err := d.decideAt(ctx, cells, budget); err != nil {
			return err
		}
	}
	return nil
}

// decideAt bounds the decision on cells with the tau of one budget. It has a decider of its own: what is asked again
// may be when others look for the second time.
func (d decider) decideAt(ctx context.Context, cells []*cell, budget float64) error {
	boxes := func(c *cell) bool { return c.ball == nil }
	if balls := slices.DeleteFunc(slices.Clone(cells), boxes); len(balls) > 0 && len(balls) < len(cells) { // a batch is of one kind
		if err := d.decideAt(ctx, balls, budget); err != nil {
			return err
		}
		cells = slices.DeleteFunc(slices.Clone(cells), func(c *cell) bool { return !boxes(c) })
	}
	if len(cells) == 0 {
		return nil
	}
	d.balls = cells[0].ball != nil
	d.pointwise = !d.balls // decisions and votes are about one x
	rows := len(cells[0].task.S.Rows)
	tau := min(max(budget/((2+radiusShare)*(of(d.e).noisy().MostEvents()/2+1)), leastTau), mostTau)
	for chunk := range slices.Chunk(cells, d.cellChunk(rows)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := engine.Guarded(d.e, d.work()+" of decisions", chunk, func(on *bound.Model, part []*cell) (answers []engine.Answer, err error) {
			answers = make([]engine.Answer, len(part))
			err = d.propagate(on, part, Quantiles(d.e, on.Device().Precision(), tau), func(c *cell, n *bound.CLBPMargins, i int) error {
				found, err := d.shownBy(c, n, i, tau)
				if err != nil {
					return err
				}
				answers[i] = engine.Answer{Numbers: noisesOf(c, n, i), Take: func() {
					// All by one tau: bounds by another one stand on hidden bounds of their own.
					if found.LeastGap() > d.known[c].LeastGap() {
						d.known[c], c.tau = found, tau
					}
				}}
				return nil
			})
			return answers, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// decideOnTop bounds the decision on cells where the last layer alone is random, by the laws of its rows: no
// hidden bound can fail, so that there is no tau.
func (d *decider) decideOnTop(ctx context.Context, cells []*cell) error {
	return d.eachOnTop(ctx, cells, func(c *cell, known *ontop.Cell) func() {
		laws, tails := make([]*probability.MarginLaw, len(c.task.S.Rows)), make([]float64, len(c.task.S.Rows))
		for r := range laws {
			row := of(d.e).onTop().Row(&c.task.S.Rows[r])
			laws[r], tails[r] = row.Law(known), row.TailUp(known, false)
		}
		found := d.shown(c, laws, tails, 0)
		return func() {
			if found.LeastGap() > d.known[c].LeastGap() {
				d.known[c], c.tau = found, 0
			}
		}
	})
}

// decideByProbit bounds the decision by the probit rule on cells, where the last layer alone is random: its
// logits are numbers at each x, and so are their differences.
func (d *decider) decideByProbit(ctx context.Context, cells []*cell) error {
	return d.eachOnTop(ctx, cells, func(c *cell, known *ontop.Cell) func() {
		var laws []*probability.MarginLaw
		for _, least := range of(d.e).onTop().ProbitMargins(c.task.Label, known) {
			laws = append(laws, probability.NewMarginLaw(least, nil))
		}
		found := &shown{probability.PredictiveOf(laws, 0), 0} // the networks have no part in it
		return func() {
			if found.LeastGap() > d.known[c].LeastGap() {
				d.known[c], c.tau = found, 0
			}
		}
	})
}

// shown returns what the laws of a cell's rows show, and the tails of its margins; hidden bounds fail with at
// most budget.
func (d *decider) shown(c *cell, laws []*probability.MarginLaw, tails []float64, budget float64) *shown {
	if p := d.priced[c.task]; p != nil { // whose rows say nothing of the vote
		return &shown{Predictive: p.ByLaws(laws, budget)}
	}
	fail := plusUp(rowsUp(c, tails), budget)
	return &shown{probability.PredictiveOf(laws, budget), max(0, math.Nextafter(1-fail, math.Inf(-1)))}
}

// shownBy returns what one pass shows of a cell, item i of it.
func (d *decider) shownBy(c *cell, n *bound.CLBPMargins, i int, tau float64) (*shown, error) {
	forms := formsOf(c, n, i)
	if err := addSharp(forms, n, i); err != nil {
		return nil, err
	}
	budget := d.budgetUp(c, n, i, tau)
	laws := make([]*probability.MarginLaw, len(forms))
	for r := range forms {
		laws[r] = bestLaw(forms[r])
	}
	var tails []float64
	if d.priced[c.task] == nil {
		tails = tailsUp(forms)
	}
	return d.shown(c, laws, tails, budget), nil
}

// worthLaws is how many forms of a row laws are made of: those that are about the highest, a standard
// deviation taken off.
const worthLaws = 2

// bestLaw is the law of a row by which the mean of the share of the row's class is least. Which form
// that is depends on no weight.
func bestLaw(forms []tailForm) *probability.MarginLaw {
	slices.SortStableFunc(forms, func(a, b tailForm) int {
		switch x, y := a.heightApprox(), b.heightApprox(); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	var best *probability.MarginLaw
	least := math.Inf(1)
	for _, f := range forms[:min(len(forms), worthLaws)] {
		law := probability.NewMarginLaw(f.t, f.variances)
		if mean := law.SigmoidMeanUp(); best == nil || mean < least {
			best, least = law, mean
		}
	}
	if best == nil {
		best = probability.NewMarginLaw(math.Inf(-1), nil)
	}
	return best
}

// heightApprox is about where the row is a standard deviation below its bound.
func (f tailForm) heightApprox() float64 {
	sum := 0.0
	for _, v := range f.variances {
		sum += v
	}
	if h := f.t - math.Sqrt(sum); h == h {
		return h
	}
	return math.Inf(-1)
}

// decision returns what the cells of all boxes of T show, a little less than that.
func (d *decider) decision(roots []*cell) *claim.Decision {
	var trees []int
	var leaves []*cell
	for _, c := range roots {
		trees, leaves = d.leaves(c, trees, leaves)
	}
	r := &claim.Decision{Lower: 1, Gap: 1, Vote: 1}
	taus, rivals := make([]float64, len(leaves)), []float64(nil)
	for l, c := range leaves {
		s := d.known[c]
		r.Lower, r.Gap, r.Vote = min(r.Lower, s.LowerDown), min(r.Gap, s.LeastGap()), min(r.Vote, s.vote)
		rivals, taus[l] = probability.WorseRivals(rivals, s.RivalsUp), c.tau
	}
	r.Lower, r.Vote = max(0, slack.PredictiveDown(r.Lower)), max(0, slack.PredictiveDown(r.Vote))
	r.Gap = max(-1, d.priced[roots[0].task].GapDown(r.Gap))
	r.BoundRivals(roots[0].task.Label, slack.EachPredictiveUp(rivals))
	r.Proof.Cells, r.Proof.Tau = claim.UncutCells(trees), sameTau(taus)
	return r
}

// gap returns what the cell shows by itself or by its parts.
func (d *decider) gap(c *cell) float64 {
	own := d.known[c].LeastGap()
	if len(c.parts) == 0 {
		return own
	}
	parts := 1.0
	for _, p := range c.parts {
		parts = min(parts, d.gap(p))
	}
	return max(own, parts)
}

// leaves appends to a tree, in preorder, and to a list the cells that gap rests on.
func (d *decider) leaves(c *cell, tree []int, list []*cell) ([]int, []*cell) {
	if len(c.parts) == 0 || d.known[c].LeastGap() >= d.gap(c) {
		return append(tree, claim.Leaf), append(list, c)
	}
	tree = append(tree, c.axis)
	for _, p := range c.parts {
		tree, list = d.leaves(p, tree, list)
	}
	return tree, list
}

// refute looks for a point of T where another class is proved to have more of the predictive.
func (d *decider) refute(ctx context.Context, rule decide.Rule, t *property.Task, r *claim.Decision) error {
	priced := d.priced[t]
	at, box, rival, class := decide.PredictiveWitness(ctx, d.e.Posterior, t, priced)
	if box.Lo == nil || rival < 0 {
		return nil
	}
	var swapped *property.Task
	var k int
	if priced != nil {
		priced, k = rule.ForRival(priced, rival, class)
		swapped = priced.Task
		d.priced[swapped] = priced
	} else {
		swapped, k = decide.ForRival(t, rival, d.e.Posterior.Outputs())
	}
	c := d.cellOf(swapped, box)
	if err := d.judgeDecision(ctx, []*cell{c}); err != nil {
		return err
	}
	if gap := priced.GapDown(d.known[c].GapsDown[k]); gap > 0 {
		r.RivalGap, r.Proof.Rival, r.Proof.Witness, r.Proof.WitnessTau = gap, &rival, &at, c.tau
		priced.NoteWitness(r)
	}
	return nil
}
