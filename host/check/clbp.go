package check

import (
	"slices"

	"psafe/host/arith"
	"psafe/host/check/curves"
	"psafe/host/read/property"
)

// Concentration LBP (docs/concentration.md): how likely rows of a property fail in one cell.

// radiusShare is the share of tau that a bound of the variation over the cell may fail with.
const radiusShare = 1.0 / 64

// looseShare is the share of tau that either bound may fail with of what is not needed but for
// the roundings of coefficients.
const looseShare = 0x1p-20

// cellPass bounds the hidden layers on one cell, on the event that none of these bounds fails:
// each neuron's lower and its upper bound may do so with probability tau, its radius with
// probability tau radiusShare (section 3). The pass is that of LBP with the means as weights.
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
	point, sharpRows, bent, bentRows := slices.Equal(cell.Lo, cell.Hi), false, false, false
	if try > 0 && !point && (n.sharpens() || n.bends()) {
		try, sharpRows, bent = try-1, n.sharpens(), n.bends()
		if try > 0 && bent && len(n.mean) > 2 {
			try, bentRows = try-1, true
		}
	}
	mean := network{layers: n.mean, graph: n.graph, lines: true, by: choice{try: try}, ctx: n.ctx}
	layers := len(n.mean)
	p := &cellPass{noisy: n, pass: *mean.newPass(span{cell.Lo, cell.Hi}), tau: tau, input: reachOf(cell), point: point, sharpRows: sharpRows, bent: bent, bentRows: bentRows,
		fedReach: make([]*reach, layers), starred: make([]map[int32]bool, layers)}
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
		own = p.deviations[k].own(p.reachInto(k))
	}
	if p.levels.open[k] && !p.levels.needed[k] {
		share = looseShare
	}
	around, centre := p.aroundCentre(k)
	tau := p.tau * share
	single := p.quantile(tau, 1)
	_, kinked := l.act.Kinked()
	dies := kinked && l.act.DeadBelow()
	for i := range l.out {
		if !p.graph.used[k][i] {
			h.pre.lo[i], h.pre.hi[i] = 0, 0 // it may be anything: nothing takes it
			continue
		}
		by := own[i].byUp(single)
		lo, hi := arith.SumDown(h.pre.lo[i], -by), arith.SumUp(h.pre.hi[i], by)
		if around != nil {
			by := noise{around[i].mean, own[i].variance}.byUp(single)
			lo, hi = max(lo, arith.SumDown(centre.lo[i], -by)), min(hi, arith.SumUp(centre.hi[i], by))
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
// noise, and how far they vary from there: both have one event (section 8). It is nil
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

// ways are those in which rows over what feeds layer k are taken down, beside its intervals: with the
// usual lines and, where that is tried, with other lower slopes.
// What holds without noise is not made better by bounds that hold with some, since those are
// events to be paid for.
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
	if p.levels.noise[k] {
		met.add(p.levels.of[k], own)
	}
	if !p.sharpRows || w.stop || w.depth > 0 && w.depth < k { // of chains: those end above the input
		return p.noisyLo(k, s, c, &met, tau, w)
	}
	f := p.newFall(k, &w)
	lo := p.linesLo(k, s, c, &met, w)
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

// newFall is what a row of layer k is going to meet that goes down in way w.
func (p *cellPass) newFall(k int, w *way) *fall {
	f := &fall{a: make([][]float64, k)}
	w.visit = func(l int, a []float64) { f.a[l] = a }
	w.arrive = func(s span, _ arith.Sum) { f.inputs = s }
	return f
}

// noisyLo bounds s z + c from below, z being what feeds layer k, but for a probability of tau;
// met is noise that the row has met already.
func (p *cellPass) noisyLo(k int, s span, c arith.Sum, met *noises, tau float64, w way) float64 {
	lo := p.linesLo(k, s, c, met, w)
	total, levels := met.total()
	return arith.SumDown(lo, -total.byUp(p.quantile(tau, levels)))
}

// linesLo bounds s z + c from below, z being what feeds layer k, but for the noise of the
// layers below k, which is added to met: (10).
func (p *cellPass) linesLo(k int, s span, c arith.Sum, met *noises, w way) float64 {
	see := w.visit
	w.visit = func(l int, a []float64) {
		if see != nil {
			see(l, a)
		}
		if p.levels.noise[l] {
			met.add(p.levels.of[l], p.deviations[l].ofRow(a, p.reachInto(l), p.into(l)))
		}
	}
	return p.down(k, s, c, w)
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
	most := make([]float64, len(row.CLo))
	for i := range most {
		most[i] = abs(row.CLo[i], row.CHi[i])
	}
	var own noises
	if p.levels.noise[last] {
		own.add(p.levels.of[last], p.deviations[last].ofRow(most, p.reachInto(last), p.into(last)))
	}
	s, c := p.layers[last].merged(row)
	if !use(intervalLo(s, p.into(last), c), own.list()) {
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
			lo := p.linesLo(last, s, c, &met, w)
			if !use(lo, met.list()) {
				return
			}
			if f == nil {
				continue
			}
			if list := p.sharp(last, squaresUp(most), f, &met); list != nil && !use(lo, list) {
				return
			}
			if p.bent && !p.otherForms(s, c, &own, squaresUp(most), use) {
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

// cellFailUp is (14): it bounds the probability that the network leaves S in the cell, for the
// alternative that does so least.
func (p *cellPass) cellFailUp(s *property.Safe) float64 {
	tails, least := p.tails(s), 1.0
	for _, all := range s.Any {
		fails := []float64{p.budgetUp()}
		for _, r := range all {
			fails = append(fails, tails[r])
		}
		least = min(least, totalUp(fails))
	}
	return least
}

// holdsUp bounds the probability that S holds at some one point of the cell, given S with its
// rows negated: then an alternative holds there, and each of its rows (section 6).
func (p *cellPass) holdsUp(negated *property.Safe) float64 {
	tails, holds := p.tails(negated), []float64{p.budgetUp()}
	for _, all := range negated.Any {
		least := 1.0
		for _, r := range all {
			least = min(least, tails[r])
		}
		holds = append(holds, least)
	}
	return totalUp(holds)
}

func (p *cellPass) tails(s *property.Safe) []float64 {
	tails := make([]float64, len(s.Rows))
	for r := range tails {
		tails[r] = p.rowTailUp(&s.Rows[r])
	}
	return tails
}
