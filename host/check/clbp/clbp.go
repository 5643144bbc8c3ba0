package clbp

import (
	"slices"

	"psafe/host/check/cases"
	"psafe/host/check/covary"
	"psafe/host/check/law"
	"psafe/host/check/relax"
	"psafe/host/read/property"
)

// Concentration LBP (docs/theory.md, section 3): how likely rows of a property fail in one cell.

// NewCellPass bounds the hidden layers. Tries other than 0 choose sharper bounds of hidden layers
// and try other lower slopes, where there are any, then these for rows of hidden layers, and then
// other lines.
func (n *Noisy) NewCellPass(cell property.Box, tau float64, try uint64) *CellPass {
	return n.NewPassOnBall(cell, nil, tau, try)
}

// NewPassOnBall is NewCellPass for what the cell has in common with a ball, all of it for nil.
func (n *Noisy) NewPassOnBall(cell property.Box, ball *property.Ball, tau float64, try uint64) *CellPass {
	return n.newPass(cell, ball, slices.Equal(cell.Lo, cell.Hi), tau, try)
}

// NewPassAtPoint is NewCellPass for any one point of the cell, whichever it is (section 3.8): nothing varies, and no
// radius is paid for, as in a cell that is one.
func (n *Noisy) NewPassAtPoint(cell property.Box, tau float64, try uint64) *CellPass {
	return n.newPass(cell, nil, true, tau, try)
}

func (n *Noisy) newPass(cell property.Box, ball *property.Ball, point bool, tau float64, try uint64) *CellPass {
	sharp, bent, bentRows := n.sharpens() && !point, n.bends(), false
	if try > 0 && (sharp || bent) && (n.Covaries || !slices.Equal(cell.Lo, cell.Hi)) {
		if try--; try > 0 && bent && len(n.Mean) > 2 && ball == nil && !n.Covaries {
			try, bentRows = try-1, true
		}
	} else {
		sharp, bent = false, false
	}
	input := ReachOf(cell)
	if point {
		clear(input.Radius)
		clear(input.RadiusSq)
	}
	mean := relax.Network{Layers: n.Mean, Graph: n.Graph, Lines: true, By: relax.Choice{Try: try}, Ctx: n.ctx}
	layers := len(n.Mean)
	p := &CellPass{Noisy: n, Pass: *mean.NewPass(relax.Span{Lo: cell.Lo, Hi: cell.Hi}), tau: tau, input: input, point: point, SharpRows: sharp, Bent: bent, bentRows: bentRows,
		fedReach: make([]*Reach, layers), starred: make([]map[int32]bool, layers), ball: n.newBallCell(cell, ball, point)}
	if n.shifted != nil {
		p.concaves = &concaves{shifted: n.shifted, layers: n.Mean}
	}
	for k := range layers - 1 {
		var h relax.Hidden
		var vary []law.Noise
		switch {
		case n.Mean[k].Windows != nil:
			h, vary = p.maxima(k)
		default:
			h, vary = p.hiddenLayer(k)
		}
		p.Hidden, p.vary = append(p.Hidden, h), append(p.vary, vary)
		p.reach = append(p.reach, p.reachOf(k, &h, vary))
	}
	return p
}

// rowTailUp bounds the probability that the row is negative, or 0, somewhere in the cell and all
// hidden bounds are right.
func (p *CellPass) rowTailUp(row *property.Row) float64 {
	tail := 1.0
	p.eachForm(row, func(lo float64, list []law.Noise) bool {
		tail = min(tail, law.FormTailUp(lo, list))
		return tail > 0
	})
	return tail
}

// eachForm calls use with lower bounds of the row on the cell, but for the noise of these layers, as
// long as more are wanted. By intervals only the last layer's noise counts, by lines that of every
// layer; which of them is better depends on no weight.
func (p *CellPass) eachForm(row *property.Row, use func(lo float64, list []law.Noise) (more bool)) {
	last := len(p.Layers) - 1
	most := SizesOf(row)
	var own Noises
	switch {
	case !p.Levels.Noise[last] || p.alone():
	case last == 0 && p.ball != nil:
		own.Add(p.Levels.Of[last], p.firstRow(most))
	default:
		own.Add(p.Levels.Of[last], p.Deviations[last].ofProperty(row, p.ReachInto(last), p.Into(last)))
	}
	s, c := p.Layers[last].Merged(row)
	var top *covary.Gone
	alone := own
	if p.common != nil {
		top = p.common.Start()
		top.Meet(last, row.CLo, row.CHi, covary.FedBoxOf(p.Into(last)))
		alone = own.Clone()
		alone.Add(commonLevel, top.Noise())
	}
	if !use(relax.IntervalLo(s, p.Into(last), c), alone.list()) {
		return
	}
	if p.ball != nil && last == 0 {
		use(p.ballForm(last, law.SquaresUp(most), &fall{inputs: s, constant: c}, &own))
		return
	}
	if p.concaves != nil && !p.concaves.forms(s.Lo, c, own.list(), use) {
		return
	}
	open, above := p.Opens(last)
	for _, w := range []relax.Way{{Stop: true}, {}} {
		if w.Stop && open || !w.Stop && above {
			met := own.Clone()
			var f *fall
			if !w.Stop {
				f = p.NewFall(last, &w)
			}
			lo := p.linesLo(last, s, c, &met, w, top.Clone())
			if !use(lo, met.list()) {
				return
			}
			if f == nil {
				continue
			}
			if p.ball != nil && !use(p.ballForm(last, law.SquaresUp(most), f, &met)) {
				return
			}
			if list := p.Sharp(last, law.SquaresUp(most), f, &met); list != nil && !use(lo, list) {
				return
			}
			if p.Bent && !p.otherForms(s, c, &own, law.SquaresUp(most), top, use) {
				return
			}
		}
	}
}

// CellFailUp is (14): it bounds the probability that the network leaves S in the cell, for rows that
// imply S and fail least.
func (p *CellPass) CellFailUp(s *property.Safe) float64 {
	return cases.ImpliedUp(s, p.tails(s), p.BudgetUp())
}

// HoldsUp bounds the probability that S holds at some one point of the cell, given S with its
// rows negated: where certain rows fail S does, so one of them holds there (section 3.4).
func (p *CellPass) HoldsUp(negated *property.Safe) float64 {
	return cases.RefutedUp(negated, p.tails(negated), p.BudgetUp())
}

func (p *CellPass) tails(s *property.Safe) []float64 {
	tails := make([]float64, len(s.Rows))
	for r := range tails {
		tails[r] = p.rowTailUp(&s.Rows[r])
	}
	return tails
}
