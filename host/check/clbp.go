package check

import (
	"slices"

	"psafe/host/arith"
	"psafe/host/check/curves"
	"psafe/host/check/sums"
	"psafe/host/read/property"
)

// Concentration LBP (docs/theory.md, section 3): how likely rows of a property fail in one cell.

// radiusShare is the share of tau that a bound of the variation over the cell may fail with.
const radiusShare = 1.0 / 64

// looseShare is the share of tau that either bound may fail with of what is not needed but for
// the roundings of coefficients.
const looseShare = 0x1p-20

// cellPass bounds the hidden layers on one cell, on the event that none of these bounds fails:
// each neuron's lower and its upper bound may do so with probability tau, its radius with
// probability tau radiusShare (section 3.3). The pass is that of LBP with the means as weights.
type cellPass struct {
	*noisy
	pass
	tau float64
	// reach[k] is that of the outputs of layer k, and vary[k] what is known of it where the layer is
	// linear in noise: mean and variance of what bounds it; fedReach is what feeds a layer.
	reach    []reach
	vary     [][]noise
	fedReach []*reach
	input    reach
	// point says that the cell is one, so that every radius is 0; sharpRows that the noise of rows
	// of hidden layers is bounded by sharp, too; bent that other lower slopes are tried for rows of
	// the property, bentRows that they are for rows of hidden layers.
	point, sharpRows, bent, bentRows bool
	// ball is what the cell is cut to, nil if it is not.
	ball *ballCell
	// others are what otherLowers says, once it has been asked.
	others [][][]line
	// events is how many bounds may fail, in units of tau; starred are the units of layers that
	// only max pools take whose lower bounds have been counted.
	events  float64
	starred []map[int32]bool
}

// newCellPass bounds the hidden layers. Tries other than 0 choose sharper bounds of hidden layers
// and try other lower slopes, where there are any, then these for rows of hidden layers, and then
// other lines.
func (n *noisy) newCellPass(cell property.Box, tau float64, try uint64) *cellPass {
	return n.newPassOnBall(cell, nil, tau, try)
}

// newPassOnBall is newCellPass for what the cell has in common with a ball, all of it for nil.
func (n *noisy) newPassOnBall(cell property.Box, ball *property.Ball, tau float64, try uint64) *cellPass {
	point, sharpRows, bent, bentRows := slices.Equal(cell.Lo, cell.Hi), false, false, false
	if try > 0 && (!point || n.covaries) && (n.sharpens() || n.bends()) {
		try, sharpRows, bent = try-1, n.sharpens(), n.bends()
		if try > 0 && bent && len(n.mean) > 2 && ball == nil && !n.covaries {
			try, bentRows = try-1, true
		}
	}
	mean := network{layers: n.mean, graph: n.graph, lines: true, by: choice{try: try}, ctx: n.ctx}
	layers := len(n.mean)
	p := &cellPass{noisy: n, pass: *mean.newPass(span{cell.Lo, cell.Hi}), tau: tau, input: reachOf(cell), point: point, sharpRows: sharpRows, bent: bent, bentRows: bentRows,
		fedReach: make([]*reach, layers), starred: make([]map[int32]bool, layers), ball: n.newBallCell(cell, ball, point)}
	for k := range layers - 1 {
		var h hidden
		var vary []noise
		switch {
		case n.mean[k].windows != nil:
			h, vary = p.maxima(k)
		default:
			h, vary = p.hiddenLayer(k)
		}
		p.hidden, p.vary = append(p.hidden, h), append(p.vary, vary)
		p.reach = append(p.reach, p.reachOf(k, &h, vary))
	}
	return p
}

// hiddenLayer bounds layer k: each neuron by intervals with the noise of its own weights, and
// by lines with that of all weights below (10); where what feeds it is linear in noise itself,
// also by intervals of what is below that. The best counts, which is known before any weight
// is drawn. Where nothing is left between both ends, nothing is known.
func (p *cellPass) hiddenLayer(k int) (hidden, []noise) {
	l := &p.layers[k]
	h := hidden{pre: l.affine(p.into(k)), z: newSpan(l.out), lower: make([]line, l.out), upper: make([]line, l.out)}
	own, ways, share := make([]noise, l.out), p.ways(k), 1.0
	if p.levels.noise[k] {
		own = p.deviations[k].own(p.reachInto(k), p.into(k))
	}
	if p.levels.open[k] && !p.levels.needed[k] {
		share = looseShare
	}
	around, centre := p.aroundCentre(k)
	middle := span{}
	if p.ball != nil && k == 0 {
		middle = l.affine(span{p.ball.centre, p.ball.centre})
	}
	levels := 1
	var apart []noise // of what all layers have in common
	if p.common != nil && p.levels.noise[k] {
		own, apart = slices.Clone(own), make([]noise, l.out)
		box, reach := fedBoxOf(p.into(k)), p.reachInto(k)
		for i := range apart {
			apart[i], _ = p.common.unit(k, i, l.out, box, reach.radius)
		}
		if k > 0 && !p.common.alone {
			levels = 2
		}
	}
	tau := p.tau * share
	single := p.quantile(tau, levels)
	_, kinked := l.act.Kinked()
	dies := kinked && l.act.DeadBelow()
	for i := range l.out {
		if !p.graph.used[k][i] {
			h.pre.lo[i], h.pre.hi[i] = 0, 0 // it may be anything: nothing takes it
			continue
		}
		alone := own[i]
		if apart != nil { // around the centre of the input box, and at a point, both are one Gaussian
			alone = alone.plus(apart[i])
		}
		by := alone.byUp(single)
		lo, hi := arith.SumDown(h.pre.lo[i], -by), arith.SumUp(h.pre.hi[i], by)
		if around != nil {
			by := noise{around[i].mean, alone.variance}.byUp(single)
			lo, hi = max(lo, arith.SumDown(centre.lo[i], -by)), min(hi, arith.SumUp(centre.hi[i], by))
		}
		if p.ball != nil && k == 0 {
			u := &p.ball.units
			lo, hi = max(lo, arith.SumDown(middle.lo[i], -u.down[i].byUp(single))), min(hi, arith.SumUp(middle.hi[i], u.up[i].byUp(single)))
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
		h.pre.lo[i], h.pre.hi[i] = lo, hi
		if p.levels.open[k] {
			p.pay(k, share)
		}
	}
	for i := range l.out {
		lo, hi := h.pre.lo[i], h.pre.hi[i]
		h.z.lo[i], h.z.hi[i] = curves.ValueDown(l.act, lo), curves.ValueUp(l.act, hi)
		h.lower[i], h.upper[i] = relax(l.act, lo, hi, &p.by)
	}
	h.arg = h.pre
	return h, p.varyOf(k)
}

// aroundCentre bounds the neurons of the first layer of a chain at the cell's centre, but for
// noise, and how far they vary from there: both have one event (section 3.5). It is nil
// elsewhere.
func (p *cellPass) aroundCentre(k int) (around []noise, centre span) {
	if k > 0 || !p.graph.chain || !p.levels.noise[k] || p.point {
		return nil, span{}
	}
	c := make([]float64, len(p.x.lo))
	for j := range c {
		c[j] = centreOf(p.x.lo[j], p.x.hi[j])
	}
	return p.deviations[k].variation(&p.input), p.layers[k].affine(span{c, c})
}

// pay counts the events of a neuron of layer k that is bounded but for a share of tau. Lower
// bounds of what only max pools take are counted where they are used.
func (p *cellPass) pay(k int, share float64) {
	p.events += share
	if !p.graph.pooled[k] {
		p.events += share
	}
	if share == 1 && !p.point {
		p.events += radiusShare
	}
}

// ways returns the ways in which rows over what feeds layer k are taken down, beside its intervals:
// with the usual lines and, where that is tried, with other lower slopes. What holds without noise is
// not made better by bounds that hold with some, since those are events to be paid for.
func (p *cellPass) ways(k int) (list []way) {
	open, above := p.opens(k)
	if open {
		list = append(list, way{stop: true})
	}
	if quiet := !p.levels.noise[k] && p.levels.of[k] == 1; above && p.levels.needed[k] && (p.levels.open[k] || quiet) {
		list = append(list, way{depth: p.graph.depthOf(k)})
		if p.bentRows {
			for _, lower := range p.otherLowersBelow() {
				list = append(list, way{depth: p.graph.depthOf(k), lower: lower})
			}
		}
	}
	return list
}

// neuronLo is a lower bound of sign times the pre-activation of neuron i of layer k, but for
// a probability of tau; own is the noise of its own weights.
func (p *cellPass) neuronLo(k, i int, sign float64, own noise, tau float64, w way) float64 {
	s, c := p.layers[k].unit(i, sign)
	var met noises
	if p.levels.noise[k] && !p.alone() {
		met.add(p.levels.of[k], own)
	}
	if p.ball != nil && k > 0 {
		return p.neuronOnBall(k, i, sign, &met, tau, w)
	}
	if !p.sharpRows || w.stop || w.depth > 0 && w.depth < k { // of chains: those end above the input
		var g *gone
		if p.common != nil {
			row := make([]float64, p.layers[k].out)
			row[i] = sign
			g = p.common.start()
			g.meet(k, row, row, fedBoxOf(p.into(k)))
		}
		return p.noisyLo(k, s, c, &met, tau, w, g)
	}
	f := p.newFall(k, &w)
	lo := p.linesLo(k, s, c, &met, w, nil)
	total, levels := met.total()
	by, square := total.byUp(p.quantile(tau, levels)), make([]float64, p.layers[k].out)
	square[i] = 1
	if list := p.sharp(k, square, f, &met); list != nil {
		total = noise{}
		for _, n := range list {
			total = total.plus(n)
		}
		by = min(by, total.byUp(p.quantile(tau, levels)))
	}
	return arith.SumDown(lo, -by)
}

// newFall returns what a row of layer k is going to meet that goes down in way w.
func (p *cellPass) newFall(k int, w *way) *fall {
	f := &fall{a: make([][]float64, k)}
	w.visit = func(l int, a []float64) { f.a[l] = a }
	w.arrive = func(s span, c arith.Sum) { f.inputs, f.constant = s, c }
	return f
}

// alone reports whether what all layers have in common is all the noise that there is.
func (p *cellPass) alone() bool { return p.common != nil && p.common.alone }

// noisyLo bounds s z + c from below, z being what feeds layer k, but for a probability of tau;
// met is noise that the row has met already, and g what of P z.
func (p *cellPass) noisyLo(k int, s span, c arith.Sum, met *noises, tau float64, w way, g *gone) float64 {
	lo := p.linesLo(k, s, c, met, w, g)
	total, levels := met.total()
	return arith.SumDown(lo, -total.byUp(p.quantile(tau, levels)))
}

// linesLo bounds s z + c from below, z being what feeds layer k, but for the noise of the
// layers below k, which is added to met: (10). g, if it is not nil, is what the row has met of P z, which
// becomes the lowest level.
func (p *cellPass) linesLo(k int, s span, c arith.Sum, met *noises, w way, g *gone) float64 {
	see := w.visit
	w.visit = func(l int, a []float64) {
		if see != nil {
			see(l, a)
		}
		switch {
		case !p.levels.noise[l] || p.alone():
		case l == 0:
			met.add(p.levels.of[l], p.firstRow(a))
		default:
			met.add(p.levels.of[l], p.deviations[l].ofRow(a, p.reachInto(l), p.into(l)))
		}
		if g != nil {
			g.meet(l, a, a, fedBoxOf(p.into(l)))
		}
	}
	lo := p.down(k, s, c, w)
	if g != nil {
		met.add(commonLevel, g.noise())
	}
	return lo
}

// rowTailUp bounds the probability that the row is negative, or 0, somewhere in the cell and all
// hidden bounds are right.
func (p *cellPass) rowTailUp(row *property.Row) float64 {
	tail := 1.0
	p.eachForm(row, func(lo float64, list []noise) bool {
		tail = min(tail, formTailUp(lo, list))
		return tail > 0
	})
	return tail
}

// eachForm calls use with lower bounds of the row on the cell, but for the noise of these layers, as
// long as more are wanted. By intervals only the last layer's noise counts, by lines that of every
// layer; which of them is better depends on no weight.
func (p *cellPass) eachForm(row *property.Row, use func(lo float64, list []noise) (more bool)) {
	last := len(p.layers) - 1
	most := sizesOf(row)
	var own noises
	switch {
	case !p.levels.noise[last] || p.alone():
	case last == 0 && p.ball != nil:
		own.add(p.levels.of[last], p.firstRow(most))
	default:
		own.add(p.levels.of[last], p.deviations[last].ofProperty(row, p.reachInto(last), p.into(last)))
	}
	s, c := p.layers[last].merged(row)
	var top *gone
	alone := own
	if p.common != nil {
		top = p.common.start()
		top.meet(last, row.CLo, row.CHi, fedBoxOf(p.into(last)))
		alone = own.clone()
		alone.add(commonLevel, top.noise())
	}
	if !use(intervalLo(s, p.into(last), c), alone.list()) {
		return
	}
	if p.ball != nil && last == 0 {
		use(p.ballForm(last, squaresUp(most), &fall{inputs: s, constant: c}, &own))
		return
	}
	open, above := p.opens(last)
	for _, w := range []way{{stop: true}, {}} {
		if w.stop && open || !w.stop && above {
			met := own.clone()
			var f *fall
			if !w.stop {
				f = p.newFall(last, &w)
			}
			lo := p.linesLo(last, s, c, &met, w, top.clone())
			if !use(lo, met.list()) {
				return
			}
			if f == nil {
				continue
			}
			if p.ball != nil && !use(p.ballForm(last, squaresUp(most), f, &met)) {
				return
			}
			if list := p.sharp(last, squaresUp(most), f, &met); list != nil && !use(lo, list) {
				return
			}
			if p.bent && !p.otherForms(s, c, &own, squaresUp(most), top, use) {
				return
			}
		}
	}
}

// formTailUp bounds the probability that lo plus the noise of these layers is at most 0.
func formTailUp(lo float64, layers []noise) float64 {
	if len(layers) == 0 && lo >= 0 {
		return 0
	}
	var t arith.Sum
	t.Plus(lo)
	variances := make([]float64, len(layers))
	for l, n := range layers {
		t.Plus(-n.mean)
		variances[l] = n.variance
	}
	return noiseTailUp(t.Lo(), variances)
}

// budgetUp bounds the probability that a hidden bound fails.
func (p *cellPass) budgetUp() float64 {
	return arith.ProductUp(p.events, p.tau) // the first factor is exact: a multiple of 2^-20
}

// cellFailUp is (14): it bounds the probability that the network leaves S in the cell, for rows that
// imply S and fail least.
func (p *cellPass) cellFailUp(s *property.Safe) float64 {
	return impliedUp(s, p.tails(s), p.budgetUp())
}

// holdsUp bounds the probability that S holds at some one point of the cell, given S with its
// rows negated: where certain rows fail S does, so one of them holds there (section 3.4).
func (p *cellPass) holdsUp(negated *property.Safe) float64 {
	return refutedUp(negated, p.tails(negated), p.budgetUp())
}

// impliedUp bounds the probability that S fails, given those of its rows and of what they rest on.
func impliedUp(s *property.Safe, tails []float64, more ...float64) float64 {
	rows, ok := sums.Implied(s, tails)
	if !ok {
		return 1
	}
	return unionUp(rows, tails, more)
}

// refutedUp bounds the probability that S holds, given those of its rows.
func refutedUp(s *property.Safe, tails []float64, more ...float64) float64 {
	rows, ok := sums.Refuted(s, tails)
	if !ok {
		return 1
	}
	return unionUp(rows, tails, more)
}

// unionUp adds up what happens to one of the rows, and more.
func unionUp(rows []int, tails, more []float64) float64 {
	for _, r := range rows {
		more = append(more, tails[r])
	}
	return min(1, totalUp(more))
}

func (p *cellPass) tails(s *property.Safe) []float64 {
	tails := make([]float64, len(s.Rows))
	for r := range tails {
		tails[r] = p.rowTailUp(&s.Rows[r])
	}
	return tails
}
