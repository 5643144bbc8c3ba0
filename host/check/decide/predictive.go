// Package decide bounds the posterior predictive, and costs of actions, by laws of margins
// (docs/theory.md, section 9).
package decide

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"psafe/host/arith"
	"psafe/host/check/cases"
	"psafe/host/check/clbp"
	"psafe/host/check/curves"
	"psafe/host/check/law"
	"psafe/host/check/noise"
	"psafe/host/check/relax"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// Bounds of the probabilities pi_k(x) = E softmax_k(f(x)) of the posterior predictive
// (docs/theory.md, section 9), from margins of a class c over the others.

// unknown returns what is known of everything.
func (a *Asked) unknown() *Predictive {
	if a.priced != nil {
		return a.priced.predictive(slices.Repeat([]float64{-1}, len(a.priced.sums)))
	}
	return unknownPredictive(len(a.Task.S.Rows))
}

// Predictor bounds the predictive of the class of a task on all cells, each with its tau. It goes on to
// other lines until enough says that what is known suffices. There is a cell at least.
type Predictor func(ctx context.Context, of *Asked, cells []property.Box, taus []float64, enough func(*Predictive) bool) (*Predictive, error)

// OfNoise is that of a posterior whose rows are bounded but for noise.
func OfNoise(n *noise.Posterior) Predictor {
	return func(ctx context.Context, of *Asked, cells []property.Box, taus []float64, enough func(*Predictive) bool) (*Predictive, error) {
		if len(cells) == 0 {
			return of.unknown(), nil
		}
		taus, err := cases.TausOf(taus, len(cells))
		switch {
		case err != nil:
			return nil, fmt.Errorf("decision: %w", err)
		case of.Probit && (n.Top == nil || slices.ContainsFunc(taus, func(tau float64) bool { return tau != 0 })):
			return nil, errors.New("decision: the probit rule is that of a last layer that alone is random, and has no tau")
		case n.Deviations == nil && n.Masks == nil && slices.ContainsFunc(taus, func(tau float64) bool { return tau != 0 }):
			return nil, errors.New("decision: the posterior has no hidden bound that could fail, and a tau")
		}
		return eachCell(ctx, of, cells, decisionTries, enough, func(c int, try uint64) (*Predictive, error) {
			pass := n.NewPassAtPoint // decisions and votes are about one x
			if of.Ball != nil {
				pass = func(cell property.Box, tau float64, try uint64) *clbp.CellPass {
					return n.NewPassOnBall(cell, of.Ball, tau, try)
				}
			}
			switch {
			case of.Probit:
				return predictiveOf(n.TopPass(cells[c], try).Probit(of.Task.Label), 0), nil
			case n.Masks != nil:
				pass := n.MaskPass(cells[c], taus[c], try)
				is := of.predictive(pass.Laws(&of.Task.S))
				if taus[c] != 0 && pass.Events == 0 {
					return nil, errors.New("decision: the posterior has no hidden bound that could fail, and a tau")
				}
				return is, nil
			}
			is := of.unknown()
			if n.Top != nil {
				laws, fails := n.TopPass(cells[c], try).Laws(&of.Task.S)
				is.Better(of.predictive(laws, 0, fails))
			}
			if n.Deviations != nil && !(n.Top != nil && taus[c] == 0) {
				is.Better(of.byRows(pass(cells[c], taus[c], try)))
			}
			return is, nil
		})
	}
}

// decisionTries is the number of times that lines are chosen: certify keeps something back of decisions.
const decisionTries = 4

// eachCell takes together what is proved of each cell, with one choice of lines after the other, up to
// a cell of which not enough is proved.
func eachCell(ctx context.Context, asked *Asked, cells []property.Box, tries uint64, enough func(*Predictive) bool, of func(c int, try uint64) (*Predictive, error)) (*Predictive, error) {
	var all *Predictive
	for c := range cells {
		best := asked.unknown()
		for try := range tries {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			p, err := of(c, try)
			if err != nil {
				return nil, err
			}
			if best.Better(p); enough(best) { // as every cell has to be
				break
			}
		}
		if all == nil {
			all = best
		} else {
			all.worse(best)
		}
		if !enough(best) {
			break
		}
	}
	return all, nil
}

// byRows returns what the pass proves of the class of S, whose rows are its margins, or of an action.
func (of *Asked) byRows(p *clbp.CellPass) *Predictive {
	sets, budget, fails := p.Laws(&of.Task.S)
	is := of.predictive(sets[0], budget, fails)
	for k, set := range sets[1:] {
		if !slices.ContainsFunc(sets[:k+1], func(before []*law.MarginLaw) bool { return slices.Equal(before, set) }) {
			is.Better(of.predictive(set, budget, fails))
		}
	}
	return is
}

// predictive returns what the laws of all rows prove where hidden bounds fail with at most budget, and
// for the vote by how much these and the rows fail.
func (of *Asked) predictive(laws []*law.MarginLaw, budget float64, fails []float64) *Predictive {
	if of.priced != nil {
		return of.priced.byLaws(laws, budget)
	}
	is := predictiveOf(laws, budget)
	is.Vote = max(0, arith.SumDown(1, -law.TotalUp(fails)))
	return is
}

// predictiveOf returns what the laws of all margins prove, where hidden bounds fail with at most budget.
func predictiveOf(laws []*law.MarginLaw, budget float64) *Predictive {
	is := unknownPredictive(len(laws))
	var rest arith.Sum
	rest.Plus(budget)
	for r, law := range laws {
		share := law.ShareUp()
		rest.Plus(share)
		is.Rivals[r] = min(1, arith.SumUp(budget, share))
	}
	is.Lower = max(0, arith.SumDown(1, -rest.Hi()))
	is.byLevels(laws, budget)
	for r := range is.Gaps {
		is.Gaps[r] = max(is.Gaps[r], arith.SumDown(is.Lower, -is.Rivals[r]))
	}
	return is
}

// byLevels improves lower and the gaps by events on which all margins are large at the same time,
// each of which holds unless a hidden bound or one of the margins fails.
func (is *Predictive) byLevels(laws []*law.MarginLaw, budget float64) {
	if slices.ContainsFunc(laws, func(l *law.MarginLaw) bool { return len(l.At) == 0 }) {
		return
	}
	lower, share := arith.Sum{}, 0.0
	gaps, reached := make([]arith.Sum, len(laws)), slices.Repeat([]float64{-1}, len(laws))
	t := make([]float64, len(laws))
	for i := levelsOfLaws(laws); i >= 0; i-- {
		var fails arith.Sum
		fails.Plus(budget)
		for k, l := range laws {
			at, below := far(l, i)
			t[k] = at
			fails.Plus(below)
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
	is.Lower = max(is.Lower, lower.Lo())
	for k := range gaps {
		gaps[k].Plus(-1)
		is.Gaps[k] = max(is.Gaps[k], gaps[k].Lo())
	}
}

// OfSet is that of a finite set of networks, by the margins of each of them.
func OfSet(post *posterior.Posterior) Predictor {
	return func(ctx context.Context, of *Asked, cells []property.Box, _ []float64, enough func(*Predictive) bool) (*Predictive, error) {
		task := of.Task
		if len(cells) == 0 {
			return of.unknown(), nil
		}
		set, nets := post.Networks(), []*relax.Network(nil)
		if err := relax.EachNetwork(post, func(_ int, _ int64, n *relax.Network) error {
			nets = append(nets, n)
			return nil
		}); err != nil {
			return nil, err
		}
		margins := make([][]float64, len(nets)) // the best of this cell: those of all would fill the memory
		return eachCell(ctx, of, cells, decisionTries, enough, func(c int, try uint64) (*Predictive, error) {
			if try == 0 {
				clear(margins)
			}
			for i, n := range nets {
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				lo := n.ByLines(cells[c], task.S.Rows, try)
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
}

// meanOf returns what the margins of all networks prove together.
func meanOf(margins [][]float64, counts []int64, total int64, safe *property.Safe) *Predictive {
	rows := len(safe.Rows)
	vote, sums := int64(0), make([]big.Rat, 1+2*rows)
	for i, t := range margins {
		add := func(at int, x float64) {
			sums[at].Add(&sums[at], new(big.Rat).Mul(law.ExactRat(x), big.NewRat(counts[i], total)))
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
	p.Lower, p.Vote = law.RatDown(&sums[0]), law.RatDown(big.NewRat(vote, total))
	for k := range rows {
		p.Rivals[k] = min(1, -law.RatDown(&sums[1+k]))
		p.Gaps[k] = max(law.RatDown(&sums[1+rows+k]), arith.SumDown(p.Lower, -p.Rivals[k]))
	}
	return p
}

// AheadPredictive returns what follows if all margins are at least t > 0 with a probability of at least p.
func AheadPredictive(p, t float64, rivals int) *Predictive {
	is := unknownPredictive(rivals)
	s, rest := arith.SoftmaxDown(slices.Repeat([]float64{t}, rivals)), max(0, arith.SumUp(1, -p))
	is.Lower, is.Vote = arith.ProductDown(s, p), p
	for k := range is.Gaps {
		is.Rivals[k] = min(1, arith.SumUp(rest, curves.SigmoidUp(-t)))
		is.Gaps[k] = max(-1, arith.SumDown(arith.ProductDown(arith.SoftmaxGapDown(s, t), p), -rest))
	}
	return is
}

// RowOf is the row that compares a class with another one: rows are in the order of the others.
func RowOf(class, other int) int {
	if other > class {
		return other - 1
	}
	return other
}
