package decide

import (
	"context"
	"math"
	"math/big"
	"slices"

	"psafe/host/arith"
	"psafe/host/bound"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/prove/probability"
	"psafe/host/prove/slack"
	"psafe/host/read/property"
)

// The decision of the posterior predictive of a finite set of networks: means of what the bounds of
// each network say of its softmax, cell by cell (docs/theory.md, section 9.3).

// predictiveCell is a cell of T, what is proved on it, and its halves.
type predictiveCell struct {
	box   property.Box
	axis  int // where to cut it
	parts []*predictiveCell
	*probability.Predictive
	vote float64
}

// predictives bounds the predictive of a set of networks for one task.
type predictives struct {
	*decision
	counts []int64
	total  int64
	fits   []bool
	rule   Rule
	task   *property.Task
	// priced is the task if it is about an action.
	priced *Priced
}

// DecideSet bounds, for tasks whose safe set is that of property.ArgmaxIs, the decision of the
// predictive of a finite set of networks. T may be cut into so many cells; 0 leaves it to the number of
// inputs and networks.
func DecideSet(ctx context.Context, e *engine.Engine, cells int, rule Rule, tasks []*property.Task) (decisions []*claim.Decision, err error) {
	p := newPredictives(e, rule)
	most := finitePieces(cells, e.Normal.Inputs(), len(p.nets))
	decisions = make([]*claim.Decision, len(tasks))
	for i, t := range tasks {
		if p.task = t; rule.Costs != nil {
			p.priced = rule.Asked(e.Posterior, t)
			p.task = p.priced.Task
		}
		if decisions[i], err = p.decide(ctx, most); err != nil {
			return nil, err
		}
	}
	return decisions, nil
}

// newPredictives has the networks of an engine's finite set.
func newPredictives(e *engine.Engine, rule Rule) *predictives {
	s := e.Posterior.Networks()
	p := &predictives{decision: &decision{e: e}, counts: s.Counts, total: s.Total(), rule: rule}
	for i := range s.N() {
		p.nets = append(p.nets, s.Weights(i))
		p.fits = append(p.fits, p.decision.fits(i))
	}
	return p
}

// decide bounds the decision on the boxes of T, looks for a point that refutes it, and where there is
// none cuts T.
func (p *predictives) decide(ctx context.Context, most int) (*claim.Decision, error) {
	var roots []*predictiveCell
	for _, b := range p.task.T {
		roots = append(roots, p.cellOf(b))
	}
	err := p.bound(ctx, roots)
	r := p.decisionOf(roots)
	if err == nil && !(r.Gap > 0) {
		err = p.refute(ctx, r)
	}
	if err == nil && r.Verdict() == claim.DecisionUnknown {
		err = p.cut(ctx, most, roots)
		r = p.decisionOf(roots)
	}
	if err != nil && !p.e.Cut(err) {
		return nil, err
	}
	return r, nil
}

// cut halves the cells where nothing is decided, as long as there are no more than most. It ends early
// at a cell that is a point, since no part of that decides more.
func (p *predictives) cut(ctx context.Context, most int, roots []*predictiveCell) error {
	for open, count := roots, len(roots); ; {
		var cut, halves []*predictiveCell
		for _, a := range open {
			switch {
			case a.LeastGap() > 0:
				continue
			case slices.Equal(a.box.Lo, a.box.Hi):
				return nil
			}
			left, right := a.box.Halves(a.axis)
			cut, halves = append(cut, a), append(halves, p.cellOf(left), p.cellOf(right))
		}
		if count += len(cut); len(cut) == 0 || count > most {
			return nil
		}
		if err := p.bound(ctx, halves); err != nil {
			return err
		}
		for i, a := range cut {
			a.parts = halves[2*i : 2*i+2] // which are known by now
		}
		open = halves
	}
}

func (p *predictives) cellOf(b property.Box) *predictiveCell {
	if p.priced != nil {
		return &predictiveCell{box: b, Predictive: p.priced.Unknown()}
	}
	rows := len(p.task.S.Rows)
	return &predictiveCell{box: b, Predictive: &probability.Predictive{RivalsUp: slices.Repeat([]float64{1}, rows), GapsDown: slices.Repeat([]float64{-1}, rows)}}
}

// bound asks for the margins of all networks on cells, takes their means, and says where to cut them.
func (p *predictives) bound(ctx context.Context, cells []*predictiveCell) error {
	few := p.e.Normal.Inputs() <= FewInputs
	asked := make([][]*question, len(cells))
	var qs []*question
	for i, a := range cells {
		for n := range p.nets {
			q := &question{net: n, box: a.box, rows: p.task.S.Rows}
			if few {
				q.of = &p.task.S
			}
			asked[i] = append(asked[i], q)
			if p.fits[n] {
				qs = append(qs, q)
			}
		}
	}
	if err := p.ask(ctx, bound.LBP, qs); err != nil {
		return err
	}
	for i, a := range cells {
		a.Predictive, a.vote = p.meanOf(asked[i])
		a.axis = p.axisOf(a.box, asked[i])
	}
	return nil
}

// meanOf returns what the margins of all networks on a cell say of the predictive, and of the share of the
// networks of which no margin is negative there.
func (p *predictives) meanOf(qs []*question) (*probability.Predictive, float64) {
	if p.priced != nil {
		return p.pricedMeanOf(qs), 0
	}
	rows := len(p.task.S.Rows)
	lower, vote := new(big.Rat), int64(0)
	rivals, gaps := make([]*big.Rat, rows), make([]*big.Rat, rows)
	for k := range rows {
		rivals[k], gaps[k] = new(big.Rat), new(big.Rat)
	}
	for n, q := range qs {
		lo := q.lo
		if lo == nil { // of a network that is none on this device
			lo = slices.Repeat([]float64{math.Inf(-1)}, rows)
		}
		share := big.NewRat(p.counts[n], p.total)
		add := func(sum *big.Rat, v float64) {
			sum.Add(sum, new(big.Rat).Mul(share, new(big.Rat).SetFloat64(v)))
		}
		if p.task.S.Holds(lo) {
			vote += p.counts[n]
		}
		s := arith.SoftmaxDown(lo)
		add(lower, s)
		for k := range rows {
			add(rivals[k], arith.SigmoidUp(lo[k]))
			add(gaps[k], arith.SoftmaxGapDown(s, lo[k]))
		}
	}
	m := &probability.Predictive{LowerDown: ratDown(lower)}
	for k := range rows {
		m.RivalsUp = append(m.RivalsUp, min(1, -ratDown(rivals[k].Neg(rivals[k]))))
		m.GapsDown = append(m.GapsDown, max(ratDown(gaps[k]), math.Nextafter(m.LowerDown-m.RivalsUp[k], -2)))
	}
	return m, shareDown(vote, p.total)
}

// pricedMeanOf is meanOf of a task about an action. Its rows say nothing of the vote.
func (p *predictives) pricedMeanOf(qs []*question) *probability.Predictive {
	var margins [][]float64
	var shares []*big.Rat
	for n, q := range qs {
		lo := q.lo
		if lo == nil { // of a network that is none on this device
			lo = slices.Repeat([]float64{math.Inf(-1)}, len(p.task.S.Rows))
		}
		margins, shares = append(margins, lo), append(shares, big.NewRat(p.counts[n], p.total))
	}
	return p.priced.byNetworks(margins, shares)
}

// ratDown is the greatest float64 at or below x.
func ratDown(x *big.Rat) float64 {
	f, _ := x.Float64()
	if new(big.Rat).SetFloat64(f).Cmp(x) > 0 {
		return math.Nextafter(f, math.Inf(-1))
	}
	return f
}

// axisOf returns where to cut a cell: where most networks want it, which are those that are not decided
// there, or the widest side.
func (p *predictives) axisOf(b property.Box, qs []*question) int {
	votes := make([]int64, len(b.Lo))
	best := b.Widest()
	for n, q := range qs {
		if q.lo != nil && q.of != nil && !q.of.Holds(q.lo) {
			votes[q.hint.axis] += p.counts[n]
		}
	}
	for j, v := range votes {
		if v > votes[best] && b.Lo[j] < b.Hi[j] {
			best = j
		}
	}
	return best
}

// decisionOf returns what the cells of all boxes of T show, a little less than that.
func (p *predictives) decisionOf(roots []*predictiveCell) *claim.Decision {
	r := &claim.Decision{Lower: 1, Gap: 1, Vote: 1}
	var trees []int
	var rivals []float64
	var add func(a *predictiveCell)
	add = func(a *predictiveCell) {
		if a.parts != nil {
			trees = append(trees, a.axis)
			for _, half := range a.parts {
				add(half)
			}
			return
		}
		trees = append(trees, claim.Leaf)
		r.Lower, r.Gap, r.Vote = min(r.Lower, a.LowerDown), min(r.Gap, a.LeastGap()), min(r.Vote, a.vote)
		rivals = probability.WorseRivals(rivals, a.RivalsUp)
	}
	for _, a := range roots {
		add(a)
	}
	// The vote is a share of networks, which check counts as well.
	r.Lower, r.Gap = max(0, slack.PredictiveDown(r.Lower)), max(-1, p.priced.GapDown(r.Gap))
	r.BoundRivals(p.task.Label, slack.EachPredictiveUp(rivals))
	r.Proof.Cells = claim.UncutCells(trees)
	p.priced.Note(r)
	return r
}

// refute looks for a point of T where another class is proved to have more of the predictive.
func (p *predictives) refute(ctx context.Context, r *claim.Decision) error {
	at, box, rival, class := PredictiveWitness(ctx, p.e.Posterior, p.task, p.priced)
	if box.Lo == nil || rival < 0 {
		return nil
	}
	of := *p
	var k int
	if p.priced != nil {
		of.priced, k = p.rule.ForRival(p.priced, rival, class)
		of.task = of.priced.Task
	} else {
		of.task, k = ForRival(p.task, rival, p.e.Posterior.Outputs())
	}
	a := of.cellOf(box)
	if err := of.bound(ctx, []*predictiveCell{a}); err != nil {
		return err
	}
	if gap := of.priced.GapDown(a.GapsDown[k]); gap > 0 {
		r.RivalGap, r.Proof.Rival, r.Proof.Witness = gap, &rival, &at
		of.priced.NoteWitness(r)
	}
	return nil
}
