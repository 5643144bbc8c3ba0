package clbp

import (
	"slices"

	"psafe/host/arith"
	"psafe/host/check/cases"
	"psafe/host/check/covary"
	"psafe/host/check/curves"
	"psafe/host/check/law"
	"psafe/host/check/relax"
	"psafe/host/read/property"
)

// Concentration LBP (docs/theory.md, section 3): how likely rows of a property fail in one cell.

// RadiusShare is the share of tau that a bound of the variation over the cell may fail with.
const RadiusShare = 1.0 / 64

// looseShare is the share of tau that either bound may fail with of what is not needed but for
// the roundings of coefficients.
const looseShare = 0x1p-20

// CellPass bounds the hidden layers on one cell, on the event that none of these bounds fails:
// each neuron's lower and its upper bound may do so with probability tau, its radius with
// probability tau RadiusShare (section 3.3). The pass is that of LBP with the means as weights.
type CellPass struct {
	*Noisy
	relax.Pass
	tau float64
	// reach[k] is that of the outputs of layer k, and vary[k] what is known of it where the layer is
	// linear in noise: mean and variance of what bounds it; fedReach is what feeds a layer.
	reach    []Reach
	vary     [][]law.Noise
	fedReach []*Reach
	input    Reach
	// point says that the cell is one, so that every radius is 0; SharpRows that the noise of rows
	// of hidden layers is bounded by sharp, too; bent that other lower slopes are tried for rows of
	// the property, bentRows that they are for rows of hidden layers.
	point, SharpRows, Bent, bentRows bool
	// ball is what the cell is cut to, nil if it is not.
	ball *ballCell
	// others are what otherLowers says, once it has been asked.
	others [][][]relax.Line
	// Events is how many bounds may fail, in units of tau; starred are the units of layers that
	// only max pools take whose lower bounds have been counted.
	Events  float64
	starred []map[int32]bool
}

// NewCellPass bounds the hidden layers. Tries other than 0 choose sharper bounds of hidden layers
// and try other lower slopes, where there are any, then these for rows of hidden layers, and then
// other lines.
func (n *Noisy) NewCellPass(cell property.Box, tau float64, try uint64) *CellPass {
	return n.NewPassOnBall(cell, nil, tau, try)
}

// NewPassOnBall is NewCellPass for what the cell has in common with a ball, all of it for nil.
func (n *Noisy) NewPassOnBall(cell property.Box, ball *property.Ball, tau float64, try uint64) *CellPass {
	point, sharpRows, bent, bentRows := slices.Equal(cell.Lo, cell.Hi), false, false, false
	if try > 0 && (!point || n.Covaries) && (n.sharpens() || n.bends()) {
		try, sharpRows, bent = try-1, n.sharpens(), n.bends()
		if try > 0 && bent && len(n.Mean) > 2 && ball == nil && !n.Covaries {
			try, bentRows = try-1, true
		}
	}
	mean := relax.Network{Layers: n.Mean, Graph: n.Graph, Lines: true, By: relax.Choice{Try: try}, Ctx: n.ctx}
	layers := len(n.Mean)
	p := &CellPass{Noisy: n, Pass: *mean.NewPass(relax.Span{Lo: cell.Lo, Hi: cell.Hi}), tau: tau, input: ReachOf(cell), point: point, SharpRows: sharpRows, Bent: bent, bentRows: bentRows,
		fedReach: make([]*Reach, layers), starred: make([]map[int32]bool, layers), ball: n.newBallCell(cell, ball, point)}
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

// hiddenLayer bounds layer k: each neuron by intervals with the noise of its own weights, and
// by lines with that of all weights below (10); where what feeds it is linear in noise itself,
// also by intervals of what is below that. The best counts, which is known before any weight
// is drawn. Where nothing is left between both ends, nothing is known.
func (p *CellPass) hiddenLayer(k int) (relax.Hidden, []law.Noise) {
	l := &p.Layers[k]
	h := relax.Hidden{Pre: l.Affine(p.Into(k)), Z: relax.NewSpan(l.Out), Lower: make([]relax.Line, l.Out), Upper: make([]relax.Line, l.Out)}
	own, ways, share := make([]law.Noise, l.Out), p.ways(k), 1.0
	if p.Levels.Noise[k] {
		own = p.Deviations[k].Own(p.ReachInto(k), p.Into(k))
	}
	if p.Levels.open[k] && !p.Levels.needed[k] {
		share = looseShare
	}
	around, centre := p.aroundCentre(k)
	middle := relax.Span{}
	if p.ball != nil && k == 0 {
		middle = l.Affine(relax.Span{Lo: p.ball.centre, Hi: p.ball.centre})
	}
	levels := 1
	var apart []law.Noise // of what all layers have in common
	if p.common != nil && p.Levels.Noise[k] {
		own, apart = slices.Clone(own), make([]law.Noise, l.Out)
		box, reach := covary.FedBoxOf(p.Into(k)), p.ReachInto(k)
		for i := range apart {
			apart[i], _ = p.common.Unit(k, i, l.Out, box, reach.Radius)
		}
		if k > 0 && !p.common.Alone {
			levels = 2
		}
	}
	tau := p.tau * share
	single := p.Quantile(tau, levels)
	_, kinked := l.Act.Kinked()
	dies := kinked && l.Act.DeadBelow()
	for i := range l.Out {
		if !p.Graph.Used[k][i] {
			h.Pre.Lo[i], h.Pre.Hi[i] = 0, 0 // it may be anything: nothing takes it
			continue
		}
		alone := own[i]
		if apart != nil { // around the centre of the input box, and at a point, both are one Gaussian
			alone = alone.Plus(apart[i])
		}
		by := alone.ByUp(single)
		lo, hi := arith.SumDown(h.Pre.Lo[i], -by), arith.SumUp(h.Pre.Hi[i], by)
		if around != nil {
			by := law.Noise{Mean: around[i].Mean, Variance: alone.Variance}.ByUp(single)
			lo, hi = max(lo, arith.SumDown(centre.Lo[i], -by)), min(hi, arith.SumUp(centre.Hi[i], by))
		}
		if p.ball != nil && k == 0 {
			u := &p.ball.units
			lo, hi = max(lo, arith.SumDown(middle.Lo[i], -u.down[i].ByUp(single))), min(hi, arith.SumUp(middle.Hi[i], u.up[i].ByUp(single)))
		}
		for _, w := range ways {
			if hi = min(hi, -p.neuronLo(k, i, -1, own[i], tau, w)); dies && hi <= 0 {
				break // its value is 0, whatever its lower bound
			}
			lo = max(lo, p.neuronLo(k, i, 1, own[i], tau, w))
		}
		if !arith.Finite(lo, hi) || p.ctx != nil && p.ctx.Err() != nil {
			lo, hi = -arith.Inf, arith.Inf
		}
		h.Pre.Lo[i], h.Pre.Hi[i] = lo, hi
		if p.Levels.open[k] {
			p.pay(k, share)
		}
	}
	for i := range l.Out {
		lo, hi := h.Pre.Lo[i], h.Pre.Hi[i]
		h.Z.Lo[i], h.Z.Hi[i] = curves.ValueDown(l.Act, lo), curves.ValueUp(l.Act, hi)
		h.Lower[i], h.Upper[i] = relax.LinesAround(l.Act, lo, hi, &p.By)
	}
	h.Arg = h.Pre
	return h, p.varyOf(k)
}

// aroundCentre bounds the neurons of the first layer of a chain at the cell's centre, but for
// noise, and how far they vary from there: both have one event (section 3.5). It is nil
// elsewhere.
func (p *CellPass) aroundCentre(k int) (around []law.Noise, centre relax.Span) {
	if k > 0 || !p.Graph.Chain || !p.Levels.Noise[k] || p.point {
		return nil, relax.Span{}
	}
	c := make([]float64, len(p.X.Lo))
	for j := range c {
		c[j] = relax.CentreOf(p.X.Lo[j], p.X.Hi[j])
	}
	return p.Deviations[k].Variation(&p.input), p.Layers[k].Affine(relax.Span{Lo: c, Hi: c})
}

// pay counts the events of a neuron of layer k that is bounded but for a share of tau. Lower
// bounds of what only max pools take are counted where they are used.
func (p *CellPass) pay(k int, share float64) {
	p.Events += share
	if !p.Graph.Pooled[k] {
		p.Events += share
	}
	if share == 1 && !p.point {
		p.Events += RadiusShare
	}
}

// ways returns the ways in which rows over what feeds layer k are taken down, beside its intervals:
// with the usual lines and, where that is tried, with other lower slopes. What holds without noise is
// not made better by bounds that hold with some, since those are events to be paid for.
func (p *CellPass) ways(k int) (list []relax.Way) {
	open, above := p.Opens(k)
	if open {
		list = append(list, relax.Way{Stop: true})
	}
	if quiet := !p.Levels.Noise[k] && p.Levels.Of[k] == 1; above && p.Levels.needed[k] && (p.Levels.open[k] || quiet) {
		list = append(list, relax.Way{Depth: p.Graph.DepthOf(k)})
		if p.bentRows {
			for _, lower := range p.otherLowersBelow() {
				list = append(list, relax.Way{Depth: p.Graph.DepthOf(k), Lower: lower})
			}
		}
	}
	return list
}

// neuronLo is a lower bound of sign times the pre-activation of neuron i of layer k, but for
// a probability of tau; own is the noise of its own weights.
func (p *CellPass) neuronLo(k, i int, sign float64, own law.Noise, tau float64, w relax.Way) float64 {
	s, c := p.Layers[k].Unit(i, sign)
	var met Noises
	if p.Levels.Noise[k] && !p.alone() {
		met.Add(p.Levels.Of[k], own)
	}
	if p.ball != nil && k > 0 {
		return p.neuronOnBall(k, i, sign, &met, tau, w)
	}
	if !p.SharpRows || w.Stop || w.Depth > 0 && w.Depth < k { // of chains: those end above the input
		var g *covary.Gone
		if p.common != nil {
			row := make([]float64, p.Layers[k].Out)
			row[i] = sign
			g = p.common.Start()
			g.Meet(k, row, row, covary.FedBoxOf(p.Into(k)))
		}
		return p.noisyLo(k, s, c, &met, tau, w, g)
	}
	f := p.NewFall(k, &w)
	lo := p.linesLo(k, s, c, &met, w, nil)
	total, levels := met.total()
	by, square := total.ByUp(p.Quantile(tau, levels)), make([]float64, p.Layers[k].Out)
	square[i] = 1
	if list := p.Sharp(k, square, f, &met); list != nil {
		total = law.Noise{}
		for _, n := range list {
			total = total.Plus(n)
		}
		by = min(by, total.ByUp(p.Quantile(tau, levels)))
	}
	return arith.SumDown(lo, -by)
}

// NewFall returns what a row of layer k is going to meet that goes down in way w.
func (p *CellPass) NewFall(k int, w *relax.Way) *fall {
	f := &fall{A: make([][]float64, k)}
	w.Visit = func(l int, a []float64) { f.A[l] = a }
	w.Arrive = func(s relax.Span, c arith.Sum) { f.inputs, f.constant = s, c }
	return f
}

// alone reports whether what all layers have in common is all the noise that there is.
func (p *CellPass) alone() bool { return p.common != nil && p.common.Alone }

// noisyLo bounds s z + c from below, z being what feeds layer k, but for a probability of tau;
// met is noise that the row has met already, and g what of P z.
func (p *CellPass) noisyLo(k int, s relax.Span, c arith.Sum, met *Noises, tau float64, w relax.Way, g *covary.Gone) float64 {
	lo := p.linesLo(k, s, c, met, w, g)
	total, levels := met.total()
	return arith.SumDown(lo, -total.ByUp(p.Quantile(tau, levels)))
}

// linesLo bounds s z + c from below, z being what feeds layer k, but for the noise of the
// layers below k, which is added to met: (10). g, if it is not nil, is what the row has met of P z, which
// becomes the lowest level.
func (p *CellPass) linesLo(k int, s relax.Span, c arith.Sum, met *Noises, w relax.Way, g *covary.Gone) float64 {
	see := w.Visit
	w.Visit = func(l int, a []float64) {
		if see != nil {
			see(l, a)
		}
		switch {
		case !p.Levels.Noise[l] || p.alone():
		case l == 0:
			met.Add(p.Levels.Of[l], p.firstRow(a))
		default:
			met.Add(p.Levels.Of[l], p.Deviations[l].OfRow(a, p.ReachInto(l), p.Into(l)))
		}
		if g != nil {
			g.Meet(l, a, a, covary.FedBoxOf(p.Into(l)))
		}
	}
	lo := p.Down(k, s, c, w)
	if g != nil {
		met.Add(commonLevel, g.Noise())
	}
	return lo
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

// BudgetUp bounds the probability that a hidden bound fails.
func (p *CellPass) BudgetUp() float64 {
	return arith.ProductUp(p.Events, p.tau) // the first factor is exact: a multiple of 2^-20
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

// commonLevel is below those of all layers.
const commonLevel = 0
