package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"

	"psafe/host/arith"
	"psafe/host/check/curves"
	"psafe/host/read/property"
)

// Bounds of the probabilities pi_k(x) = E softmax_k(f(x)) of the posterior predictive
// (docs/theory.md, section 9), from margins of a class c over the others.

// predictive holds what is proved of a class on some cells, at every x: pi_c >= lower, pi_k <=
// rivals[k] and pi_c - pi_k >= gaps[k] for the other classes in their order, and that a share of at
// least vote of the networks says c.
type predictive struct {
	lower, vote  float64
	rivals, gaps []float64
}

// unknownPredictive returns what is known of everything, surePredictive the best that can be.
func unknownPredictive(rows int) *predictive {
	return &predictive{rivals: slices.Repeat([]float64{1}, rows), gaps: slices.Repeat([]float64{-1}, rows)}
}

func surePredictive(rows int) *predictive {
	return &predictive{lower: 1, vote: 1, rivals: make([]float64, rows), gaps: slices.Repeat([]float64{1}, rows)}
}

func (p *predictive) mostRival() float64 { return slices.Max(p.rivals) }
func (p *predictive) leastGap() float64  { return slices.Min(p.gaps) }

// better takes in what is also proved of the same cell, and worse what is proved of another one.
func (p *predictive) better(o *predictive) { p.with(o, math.Max, math.Min) }
func (p *predictive) worse(o *predictive)  { p.with(o, math.Min, math.Max) }

func (p *predictive) with(o *predictive, lower, upper func(a, b float64) float64) {
	p.lower, p.vote = lower(p.lower, o.lower), lower(p.vote, o.vote)
	for k := range p.rivals {
		p.rivals[k] = upper(p.rivals[k], o.rivals[k])
	}
	for k := range p.gaps {
		p.gaps[k] = lower(p.gaps[k], o.gaps[k])
	}
}

// asked is a task about a class or, with priced, about an action.
type asked struct {
	task   *property.Task
	priced *priced
	// ball is what the one cell is cut to, nil if it is not.
	ball *property.Ball
	// probit says that the predictive is that of the probit rule.
	probit bool
}

// unknown returns what is known of everything, sure the best that can be.
func (a *asked) unknown() *predictive {
	if a.priced != nil {
		return a.priced.predictive(slices.Repeat([]float64{-1}, len(a.priced.sums)))
	}
	return unknownPredictive(len(a.task.S.Rows))
}

func (a *asked) sure() *predictive {
	if a.priced != nil {
		is := a.priced.predictive(slices.Repeat([]float64{1}, len(a.priced.sums)))
		is.vote = 1
		clear(is.rivals)
		return is
	}
	return surePredictive(len(a.task.S.Rows))
}

// predictor bounds the predictive of the class of a task on all cells, each with its tau. It goes on to
// other lines until enough says that what is known suffices.
type predictor func(ctx context.Context, of *asked, cells []property.Box, taus []float64, enough func(*predictive) bool) (*predictive, error)

// predictor is that of the posterior.
func (q *question) predictor(proof *decisionProof) (predictor, error) {
	if q.asked().has("--link") && (q.post.Networks() != nil || q.post.OnTop() != nil) {
		return nil, errors.New("decision: the probit rule is that of a last layer that alone is random")
	}
	if set := q.post.Networks(); set != nil {
		if proof.Tau != nil || proof.WitnessTau != 0 {
			return nil, errors.New("decision: a finite posterior has no tau")
		}
		return q.bySet, nil
	}
	if q.post.About() != nil {
		return nil, fmt.Errorf("decision: it is about networks; the posterior is %s", q.post.Describe())
	}
	if err := q.post.RequireRows(); err != nil {
		return nil, fmt.Errorf("decision: %w", err)
	}
	n, err := q.held.noisyOf(q.post, q.asked().number("--depth"))
	if err != nil {
		return nil, err
	}
	return n.predictiveOn, nil
}

// predictiveOn is a predictor by concentration LBP.
func (n *noisy) predictiveOn(ctx context.Context, of *asked, cells []property.Box, taus []float64, enough func(*predictive) bool) (*predictive, error) {
	if len(cells) == 0 {
		return of.unknown(), nil
	}
	taus, err := tausOf(taus, len(cells))
	switch {
	case err != nil:
		return nil, fmt.Errorf("decision: %w", err)
	case of.probit && (n.top == nil || slices.ContainsFunc(taus, func(tau float64) bool { return tau != 0 })):
		return nil, errors.New("decision: the probit rule is that of a last layer that alone is random, and has no tau")
	case n.deviations == nil && n.masks == nil && slices.ContainsFunc(taus, func(tau float64) bool { return tau != 0 }):
		return nil, errors.New("decision: the posterior has no hidden bound that could fail, and a tau")
	}
	return eachCell(ctx, of, cells, enough, func(c int, try uint64) (*predictive, error) {
		switch {
		case of.probit:
			return n.newTopPass(cells[c], try).probit(of.task.Label), nil
		case n.masks != nil:
			pass := n.newMaskPass(cells[c], taus[c], try)
			is := pass.predictive(of)
			if taus[c] != 0 && pass.events == 0 {
				return nil, errors.New("decision: the posterior has no hidden bound that could fail, and a tau")
			}
			return is, nil
		}
		is := of.unknown()
		if n.top != nil {
			is.better(n.newTopPass(cells[c], try).predictive(of))
		}
		if n.deviations != nil && !(n.top != nil && taus[c] == 0) {
			is.better(n.newPassOnBall(cells[c], of.ball, taus[c], try).predictive(of))
		}
		return is, nil
	})
}

// decisionTries is the number of times that lines are chosen: certify keeps something back of decisions.
const decisionTries = 4

// eachCell takes together what is proved of each cell, with one choice of lines after the other, up to
// a cell of which not enough is proved.
func eachCell(ctx context.Context, asked *asked, cells []property.Box, enough func(*predictive) bool, of func(c int, try uint64) (*predictive, error)) (*predictive, error) {
	all := asked.sure()
	for c := range cells {
		best := asked.unknown()
		for try := range uint64(decisionTries) {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			p, err := of(c, try)
			if err != nil {
				return nil, err
			}
			if best.better(p); enough(best) { // as every cell has to be
				break
			}
		}
		if all.worse(best); !enough(best) {
			break
		}
	}
	return all, nil
}

// predictive returns what the pass proves of the class of S, whose rows are its margins, or of an action: by the
// laws that certify takes, and by those with the least share of all, which may be the worse ones for a gap.
func (p *cellPass) predictive(of *asked) *predictive {
	s := &of.task.S
	budget := p.budgetUp()
	var near, all []*marginLaw
	fails := []float64{budget}
	least := func(laws []formLaw) *marginLaw {
		return slices.MinFunc(laws, func(a, b formLaw) int { return cmp.Compare(a.share, b.share) }).marginLaw
	}
	for r := range s.Rows {
		laws, tail := p.lawsOf(&s.Rows[r])
		near, all = append(near, least(laws[:min(len(laws), worthLaws)])), append(all, least(laws))
		fails = append(fails, tail)
	}
	is := of.predictive(near, budget, fails)
	if !slices.Equal(near, all) {
		is.better(of.predictive(all, budget, fails))
	}
	return is
}

// predictive returns what the laws of all rows prove where hidden bounds fail with at most budget, and
// for the vote by how much these and the rows fail.
func (of *asked) predictive(laws []*marginLaw, budget float64, fails []float64) *predictive {
	if of.priced != nil {
		return of.priced.byLaws(laws, budget)
	}
	is := predictiveOf(laws, budget)
	is.vote = max(0, arith.SumDown(1, -totalUp(fails)))
	return is
}

// predictiveOf returns what the laws of all margins prove, where hidden bounds fail with at most budget.
func predictiveOf(laws []*marginLaw, budget float64) *predictive {
	is := unknownPredictive(len(laws))
	var rest arith.Sum
	rest.Plus(budget)
	for r, law := range laws {
		share := law.shareUp()
		rest.Plus(share)
		is.rivals[r] = min(1, arith.SumUp(budget, share))
	}
	is.lower = max(0, arith.SumDown(1, -rest.Hi()))
	is.byLevels(laws, budget)
	for r := range is.gaps {
		is.gaps[r] = max(is.gaps[r], arith.SumDown(is.lower, -is.rivals[r]))
	}
	return is
}

// farAway is a margin that is taken for large enough: the law is asked where it is at least that.
const farAway = 12

// byLevels improves lower and the gaps by events on which all margins are large at the same time,
// each of which holds unless a hidden bound or one of the margins fails.
func (is *predictive) byLevels(laws []*marginLaw, budget float64) {
	if slices.ContainsFunc(laws, func(l *marginLaw) bool { return len(l.at) == 0 }) {
		return
	}
	lower, share := arith.Sum{}, 0.0
	gaps, reached := make([]arith.Sum, len(laws)), slices.Repeat([]float64{-1}, len(laws))
	t := make([]float64, len(laws))
	for i := levelsOfLaws(laws); i >= 0; i-- {
		var fails arith.Sum
		fails.Plus(budget)
		for k, l := range laws {
			at := min(i, len(l.at)-1)
			for at+1 < len(l.at) && l.at[at+1] >= farAway {
				at++
			}
			t[k] = l.at[at]
			fails.Plus(l.below[at])
		}
		p := arith.SumDown(1, -fails.Hi())
		if !(p > 0) {
			break
		}
		s := arith.SoftmaxDown(t)
		if s > share {
			lower.Add(arith.SumDown(s, -share), p)
			share = s
		}
		for k := range laws {
			if gap := arith.SoftmaxGapDown(s, t[k]); gap > reached[k] {
				gaps[k].Add(arith.SumDown(gap, -reached[k]), p)
				reached[k] = gap
			}
		}
	}
	is.lower = max(is.lower, lower.Lo())
	for k := range gaps {
		gaps[k].Plus(-1)
		is.gaps[k] = max(is.gaps[k], gaps[k].Lo())
	}
}

// levelsOfLaws is the number of the last level of the longest law.
func levelsOfLaws(laws []*marginLaw) int {
	longest := 1
	for _, l := range laws {
		longest = max(longest, len(l.at))
	}
	return longest - 1
}

// bySet is a predictor of a finite set of networks, by the margins of each of them.
func (q *question) bySet(ctx context.Context, of *asked, cells []property.Box, _ []float64, enough func(*predictive) bool) (*predictive, error) {
	task := of.task
	if len(cells) == 0 {
		return of.unknown(), nil
	}
	set := q.post.Networks()
	m, err := moldOf(q.post.Network())
	if err != nil {
		return nil, fmt.Errorf("posterior: %w", err)
	}
	nets := make([]*network, set.N())
	for i := range nets {
		if nets[i], err = networkOf(m, set.Weights(i)); err != nil {
			return nil, err
		}
	}
	margins := make([][]float64, len(nets)) // the best of this cell: those of all would fill the memory
	return eachCell(ctx, of, cells, enough, func(c int, try uint64) (*predictive, error) {
		if try == 0 {
			clear(margins)
		}
		for i, n := range nets {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			lines := network{layers: n.layers, graph: n.graph, lines: true, by: choice{try: try}}
			lo, _ := lines.rowsLo(cells[c], task.S.Rows)
			for k, old := range margins[i] {
				lo[k] = max(lo[k], old)
			}
			margins[i] = lo
		}
		if of.priced != nil {
			return of.priced.byNetworks(margins, set.Counts, set.Total()), nil
		}
		return meanOf(margins, set.Counts, set.Total(), &task.S), nil
	})
}

// meanOf returns what the margins of all networks prove together.
func meanOf(margins [][]float64, counts []int64, total int64, safe *property.Safe) *predictive {
	rows := len(safe.Rows)
	vote, sums := int64(0), make([]big.Rat, 1+2*rows)
	for i, t := range margins {
		add := func(at int, x float64) {
			sums[at].Add(&sums[at], new(big.Rat).Mul(exactRat(x), big.NewRat(counts[i], total)))
		}
		s := arith.SoftmaxDown(t)
		add(0, s)
		for k, x := range t {
			up := 1.0
			if x == x {
				up = curves.SigmoidUp(-x)
			}
			add(1+k, -up)
			add(1+rows+k, arith.SoftmaxGapDown(s, x))
		}
		if safe.Holds(t) {
			vote += counts[i]
		}
	}
	p := unknownPredictive(rows)
	p.lower, p.vote = ratDown(&sums[0]), ratDown(big.NewRat(vote, total))
	for k := range rows {
		p.rivals[k] = min(1, -ratDown(&sums[1+k]))
		p.gaps[k] = max(ratDown(&sums[1+rows+k]), arith.SumDown(p.lower, -p.rivals[k]))
	}
	return p
}
