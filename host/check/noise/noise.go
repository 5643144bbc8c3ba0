// Package noise bounds how likely networks leave S, by cells of T or at a witness: it asks clbp and
// ontop for what their theorems say of the posterior.
package noise

import (
	"context"
	"errors"
	"fmt"

	"psafe/host/check/cases"
	"psafe/host/check/clbp"
	"psafe/host/check/covary"
	"psafe/host/check/law"
	"psafe/host/check/ontop"
	"psafe/host/check/relax"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// Posterior is a posterior of which rows of networks say something, whatever its noise is.
type Posterior struct {
	// noisy is that of concentration LBP, without deviations where it says nothing of the posterior.
	*clbp.Noisy
	// Top is there if the last layer alone is random, masks are for dropout, and linear is for networks that
	// are linearised about the mean.
	Top    *covary.Topped
	Masks  *ontop.Masks
	linear *ontop.Linear
}

// New prepares a posterior.
func New(post *posterior.Posterior) (*Posterior, error) {
	n := &Posterior{Top: ontop.NewTopped(post), Masks: ontop.NewMasks(post)}
	about := post.About()
	var err error
	if n.Noisy, err = clbp.New(post, about != nil || !post.Independent() && (n.Top != nil || n.Masks != nil)); err != nil {
		return nil, err
	}
	if about != nil {
		n.linear, n.Top, n.Masks = ontop.NewLinear(about), nil, nil
	}
	return n, nil
}

func (n *Posterior) TopPass(cell property.Box, try uint64) *ontop.TopPass {
	return ontop.NewTopPass(n.Top, n.OfMeans(try), cell)
}

func (n *Posterior) MaskPass(cell property.Box, tau float64, try uint64) *ontop.MaskPass {
	return ontop.NewMaskPass(n.Masks, n.OfMeans(try), cell, tau)
}

func (n *Posterior) linearPass(cell property.Box, try uint64, above ontop.ChooseLine) *ontop.LinearPass {
	return ontop.NewLinearPass(n.linear, n.OfMeans(try), cell, above)
}

// FailUp bounds the probability that the network is unsafe somewhere on T by concentration LBP,
// with the cells and the failure budgets of a proof: the sum of what the cells fail with
// (docs/theory.md (14)). Where that is not enough for what a certificate says, other lines
// are tried: certify, which rounded otherwise, may have had better ones by luck.
func (n *Posterior) FailUp(ctx context.Context, task *property.Task, trees []int, taus []float64, enough func(fail float64) bool) (fail float64, err error) {
	cells, err := cases.CellsOf(task.T, trees)
	if err != nil {
		return 1, err
	}
	if taus, err = cases.TausOf(taus, len(cells)); err != nil {
		return 1, err
	}
	if n.linear != nil && n.linear.Lines != nil && len(n.linear.Lines) != len(cells) {
		return 1, fmt.Errorf("proof: lines are of %d cells, there are %d", len(n.linear.Lines), len(cells))
	}
	ball := task.Ball
	if len(cells) > 1 {
		ball = nil // parts of the box around it are bounded as boxes
	}
	fails := make([]float64, len(cells))
	for try := range uint64(relax.Tries) {
		for c, cell := range cells {
			if ctx.Err() != nil {
				return 1, ctx.Err()
			}
			var f float64
			switch {
			case n.linear != nil:
				f = cases.ImpliedUp(&task.S, n.linearPass(cell, try, n.linear.LinesOf(c)).Tails(&task.S))
			case ball != nil: // of which certify bounds the box, too
				f = min(n.cellFailUp(cell, ball, taus[c], try, &task.S), n.cellFailUp(cell, nil, taus[c], try, &task.S))
			default:
				f = n.cellFailUp(cell, nil, taus[c], try, &task.S)
			}
			if try == 0 || f < fails[c] {
				fails[c] = f
			}
		}
		if fail = law.TotalUp(fails); enough(fail) {
			break
		}
	}
	return fail, nil
}

// PointFailUp bounds the probability that the network leaves S at a point, whichever point of the cells that is: the
// worst cell counts (docs/theory.md, section 3.8). enough is as in FailUp.
func (n *Posterior) PointFailUp(ctx context.Context, s *property.Safe, cells []property.Box, taus []float64, enough func(fail float64) bool) (most float64, err error) {
	if taus, err = cases.TausOf(taus, len(cells)); err != nil {
		return 1, err
	}
	for c, cell := range cells {
		fail := 1.0
		for try := range uint64(relax.Tries) {
			if ctx.Err() != nil {
				return 1, ctx.Err()
			}
			if fail = min(fail, n.pointFailUp(cell, taus[c], try, s)); enough(fail) {
				break
			}
		}
		if most = max(most, fail); !enough(most) {
			break
		}
	}
	return most, nil
}

// pointFailUp is cellFailUp for any one point of the cell. Of masks, and of weights of the last layer that depend on
// each other, it is what is known of the whole cell.
func (n *Posterior) pointFailUp(cell property.Box, tau float64, try uint64, s *property.Safe) float64 {
	if n.Masks != nil || n.Deviations == nil {
		return n.cellFailUp(cell, nil, tau, try, s)
	}
	fail := n.NewPassAtPoint(cell, tau, try).CellFailUp(s)
	if n.Top != nil {
		fail = min(fail, n.TopPass(cell, try).CellFailUp(s))
	}
	return fail
}

// SafeUp bounds P_safe from above by concentration LBP: by the probability that S holds at one
// point of T, anywhere in the witness box, which surely contains a point of the real T
// (docs/theory.md, section 3.4). enough is as in FailUp.
func (n *Posterior) SafeUp(ctx context.Context, task *property.Task, witness property.Box, tau float64, enough func(safe float64) bool) (safe float64, err error) {
	if _, err := cases.TausOf([]float64{tau}, 1); err != nil {
		return 1, err
	}
	s := cases.NegatedRows(&task.S)
	safe = 1
	for try := range uint64(relax.Tries) {
		if ctx.Err() != nil {
			return 1, ctx.Err()
		}
		if safe = min(safe, n.holdsUp(witness, tau, try, &s)); enough(safe) {
			break
		}
	}
	return safe, nil
}

// WithLines is n with the lines of a proof of so many cells.
func (n *Posterior) WithLines(lines [][]int, cells int) (*Posterior, error) {
	if n.linear == nil {
		return nil, errors.New("proof: lines are of networks that are linearised below the last layer")
	}
	hidden, some := 0, false
	for _, l := range n.Mean[:len(n.Mean)-1] {
		hidden += l.Out
	}
	for _, list := range lines {
		last := -1
		for _, at := range list {
			if at <= last || at >= hidden {
				return nil, fmt.Errorf("proof: lines of neuron %d behind %d, of %d", at, last, hidden)
			}
			last, some = at, true
		}
	}
	if !some || len(lines) != cells {
		return nil, fmt.Errorf("proof: lines of %d cells, of %d, or of no neuron", len(lines), cells)
	}
	linear, with := *n.linear, *n
	linear.Lines, with.linear = lines, &linear
	return &with, nil
}

// cellFailUp bounds the probability that the network leaves S in a cell. Of weights that depend on each
// other nothing is known but what TopPass says, and of masks what MaskPass does: both of the whole cell.
// ball is what the cell is cut to, nil if it is not.
func (n *Posterior) cellFailUp(cell property.Box, ball *property.Ball, tau float64, try uint64, s *property.Safe) float64 {
	if n.Masks != nil {
		return n.MaskPass(cell, tau, try).CellFailUp(s)
	}
	least := 1.0
	if n.Covaries {
		ball = nil // bounds on balls are for independent weights: those of the whole cell
	}
	if n.Top != nil {
		least = n.TopPass(cell, try).CellFailUp(s)
	}
	if n.Deviations == nil {
		return least
	}
	return min(least, n.NewPassOnBall(cell, ball, tau, try).CellFailUp(s))
}

// holdsUp bounds the probability that S holds at some one point of a cell, given S with its rows negated.
func (n *Posterior) holdsUp(cell property.Box, tau float64, try uint64, negated *property.Safe) float64 {
	if n.Masks != nil {
		return n.MaskPass(cell, tau, try).HoldsUp(negated)
	}
	if n.linear != nil {
		tails, at := n.linearPass(cell, try, ontop.LinesNarrow).Tails(negated), ontop.NewPointLaw(n.linear, n.Mean, cell)
		for r := range tails {
			tails[r] = min(tails[r], at.TailUp(&negated.Rows[r]))
		}
		return cases.RefutedUp(negated, tails)
	}
	least := 1.0
	if n.Top != nil {
		least = n.TopPass(cell, try).HoldsUp(negated)
	}
	if n.Deviations == nil {
		return least
	}
	return min(least, n.NewCellPass(cell, tau, try).HoldsUp(negated))
}
