package check

import (
	"context"
	"errors"
	"fmt"

	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// anyNoise is a posterior of which rows of networks say something, whatever its noise is.
type anyNoise struct {
	// noisy is that of concentration LBP, without deviations where it says nothing of the posterior.
	*noisy
	// top is there if the last layer alone is random, masks are for dropout, and linear is for networks that
	// are linearised about the mean.
	top    *topped
	masks  *masks
	linear *linear
}

// newAnyNoise prepares a posterior.
func newAnyNoise(post *posterior.Posterior) (*anyNoise, error) {
	n := &anyNoise{top: newTopped(post), masks: newMasks(post)}
	about := post.About()
	var err error
	if n.noisy, err = newNoisy(post, about != nil || !post.Independent() && (n.top != nil || n.masks != nil)); err != nil {
		return nil, err
	}
	if about != nil {
		n.linear, n.top, n.masks = newLinear(about), nil, nil
	}
	return n, nil
}

func (n *anyNoise) topPass(cell property.Box, try uint64) *topPass {
	return newTopPass(n.top, n.ofMeans(try), cell)
}

func (n *anyNoise) maskPass(cell property.Box, tau float64, try uint64) *maskPass {
	return newMaskPass(n.masks, n.ofMeans(try), cell, tau)
}

func (n *anyNoise) linearPass(cell property.Box, try uint64, above chooseLine) *linearPass {
	return newLinearPass(n.linear, n.ofMeans(try), cell, above)
}

// failUp bounds the probability that the network is unsafe somewhere on T by concentration LBP,
// with the cells and the failure budgets of a proof: the sum of what the cells fail with
// (docs/theory.md (14)). Where that is not enough for what a certificate says, other lines
// are tried: certify, which rounded otherwise, may have had better ones by luck.
func (n *anyNoise) failUp(ctx context.Context, task *property.Task, trees []int, taus []float64, enough func(fail float64) bool) (fail float64, err error) {
	cells, err := cellsOf(task.T, trees)
	if err != nil {
		return 1, err
	}
	if taus, err = tausOf(taus, len(cells)); err != nil {
		return 1, err
	}
	if n.linear != nil && n.linear.lines != nil && len(n.linear.lines) != len(cells) {
		return 1, fmt.Errorf("proof: lines are of %d cells, there are %d", len(n.linear.lines), len(cells))
	}
	ball := task.Ball
	if len(cells) > 1 {
		ball = nil // parts of the box around it are bounded as boxes
	}
	fails := make([]float64, len(cells))
	for try := range uint64(tries) {
		for c, cell := range cells {
			if ctx.Err() != nil {
				return 1, ctx.Err()
			}
			f := n.numberedFailUp(c, cell, ball, taus[c], try, &task.S)
			if ball != nil { // of which certify bounds the box, too
				f = min(f, n.cellFailUp(cell, nil, taus[c], try, &task.S))
			}
			if try == 0 || f < fails[c] {
				fails[c] = f
			}
		}
		if fail = totalUp(fails); enough(fail) {
			break
		}
	}
	return fail, nil
}

// numberedFailUp is cellFailUp of cell c of a proof.
func (n *anyNoise) numberedFailUp(c int, cell property.Box, ball *property.Ball, tau float64, try uint64, s *property.Safe) float64 {
	if n.linear == nil {
		return n.cellFailUp(cell, ball, tau, try, s)
	}
	by := linesBelow
	switch {
	case n.linear.lines != nil:
		by = linesListed(n.linear.lines[c])
	case try%2 == 1: // older records say nothing of them
		by = linesNarrow
	}
	return impliedUp(s, n.linearPass(cell, try, by).tails(s))
}

// safeUp bounds P_safe from above by concentration LBP: by the probability that S holds at one
// point of T, anywhere in the witness box, which surely contains a point of the real T
// (docs/theory.md, section 3.4). enough is as in failUp.
func (n *anyNoise) safeUp(ctx context.Context, task *property.Task, witness property.Box, tau float64, enough func(safe float64) bool) (safe float64, err error) {
	if _, err := tausOf([]float64{tau}, 1); err != nil {
		return 1, err
	}
	s := negatedRows(&task.S)
	safe = 1
	for try := range uint64(tries) {
		if ctx.Err() != nil {
			return 1, ctx.Err()
		}
		if safe = min(safe, n.holdsUp(witness, tau, try, &s)); enough(safe) {
			break
		}
	}
	return safe, nil
}

// withLines is n with the lines of a proof of so many cells.
func (n *anyNoise) withLines(lines [][]int, cells int) (*anyNoise, error) {
	if n.linear == nil {
		return nil, errors.New("proof: lines are of networks that are linearised below the last layer")
	}
	hidden, some := 0, false
	for _, l := range n.mean[:len(n.mean)-1] {
		hidden += l.out
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
	linear.lines, with.linear = lines, &linear
	return &with, nil
}

// cellFailUp bounds the probability that the network leaves S in a cell. Of weights that depend on each
// other nothing is known but what topPass says, and of masks what maskPass does: both of the whole cell.
// ball is what the cell is cut to, nil if it is not.
func (n *anyNoise) cellFailUp(cell property.Box, ball *property.Ball, tau float64, try uint64, s *property.Safe) float64 {
	if n.masks != nil {
		return n.maskPass(cell, tau, try).cellFailUp(s)
	}
	if n.linear != nil {
		return impliedUp(s, n.linearPass(cell, try, linesNarrow).tails(s))
	}
	least := 1.0
	if n.covaries {
		ball = nil // bounds on balls are for independent weights: those of the whole cell
	}
	if n.top != nil {
		least = n.topPass(cell, try).cellFailUp(s)
	}
	if n.deviations == nil {
		return least
	}
	return min(least, n.newPassOnBall(cell, ball, tau, try).cellFailUp(s))
}

// holdsUp bounds the probability that S holds at some one point of a cell, given S with its rows negated.
func (n *anyNoise) holdsUp(cell property.Box, tau float64, try uint64, negated *property.Safe) float64 {
	if n.masks != nil {
		return n.maskPass(cell, tau, try).holdsUp(negated)
	}
	if n.linear != nil {
		tails, at := n.linearPass(cell, try, linesNarrow).tails(negated), newPointLaw(n.linear, n.mean, cell)
		for r := range tails {
			tails[r] = min(tails[r], at.tailUp(&negated.Rows[r]))
		}
		return refutedUp(negated, tails)
	}
	least := 1.0
	if n.top != nil {
		least = n.topPass(cell, try).holdsUp(negated)
	}
	if n.deviations == nil {
		return least
	}
	return min(least, n.newCellPass(cell, tau, try).holdsUp(negated))
}
