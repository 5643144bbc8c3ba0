package clbp

import (
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/check/covary"
	"psafe/host/check/law"
	"psafe/host/check/relax"
	"psafe/host/read/property"
)

// hiddenLayer bounds layer k: each neuron by intervals with the noise of its own weights, and
// by lines with that of all weights below (10); where what feeds it is linear in noise itself,
// also by intervals of what is below that. The best counts, which is known before any weight
// is drawn. Where nothing is left between both ends, nothing is known.
func (p *CellPass) hiddenLayer(k int) (relax.Hidden, []law.Noise) {
	l := &p.Layers[k]
	pre := l.Affine(p.Into(k))
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
	var varies []float64  // of which this is the variance of how far it varies
	if p.common != nil && p.Levels.Noise[k] {
		own, apart, varies = slices.Clone(own), make([]law.Noise, l.Out), make([]float64, l.Out)
		box, reach := covary.FedBoxOf(p.Into(k)), p.ReachInto(k)
		for i := range apart {
			if apart[i], varies[i] = p.common.Unit(k, i, l.Out, box, reach.Radius); k == 0 && p.point {
				apart[i].Mean = 0 // an input is no noise, so that both are one Gaussian of mean 0
			}
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
			pre.Lo[i], pre.Hi[i] = 0, 0 // it may be anything: nothing takes it
			continue
		}
		alone := own[i]
		if apart != nil { // around the centre of the input box, and at a point, both are one Gaussian
			alone = alone.Plus(apart[i])
		}
		by := alone.ByUp(single)
		lo, hi := arith.SumDown(pre.Lo[i], -by), arith.SumUp(pre.Hi[i], by)
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
		if q := p.Quantile(tau, k+1); p.concaves != nil && k > 1 && p.Levels.open[k] && share == 1 {
			lo, hi = max(lo, p.concaves.unitLo(k-1, i, 1, q, own[i])), min(hi, -p.concaves.unitLo(k-1, i, -1, q, own[i]))
		}
		if !arith.Finite(lo, hi) || p.ctx != nil && p.ctx.Err() != nil {
			lo, hi = -arith.Inf, arith.Inf
		}
		pre.Lo[i], pre.Hi[i] = lo, hi
		if p.Levels.open[k] {
			p.pay(k, share)
		}
	}
	if p.concaves != nil && k > 0 {
		if k == 1 {
			p.concaves.first = l.Affine(relax.Span{Lo: p.X.Lo, Hi: p.X.Hi})
		}
		p.concaves.addHidden(pre, own)
	}
	return relax.HiddenOf(l.Act, pre, &p.By), p.varyOf(k, varies)
}

// aroundCentre bounds the neurons of the first layer of a chain at the cell's centre, but for
// noise, and how far they vary from there: both have one event (section 3.5). It is nil
// elsewhere.
func (p *CellPass) aroundCentre(k int) (around []law.Noise, centre relax.Span) {
	if k > 0 || !p.Graph.Chain || !p.Levels.Noise[k] || p.point {
		return nil, relax.Span{}
	}
	c := relax.CentresOf(property.Box{Lo: p.X.Lo, Hi: p.X.Hi})
	return p.Deviations[k].Variation(&p.input), p.Layers[k].Affine(relax.Span{Lo: c, Hi: c})
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
		by = min(by, sumOf(list).ByUp(p.Quantile(tau, levels)))
	}
	return arith.SumDown(lo, -by)
}

// varyOf bounds how far the pre-activations of layer k vary over the cell: mean and variance of
// what bounds it, nil in a cell that is a point; more are variances to be added where the layer has noise, nil if none are.
func (p *CellPass) varyOf(k int, more []float64) []law.Noise {
	switch {
	case p.point:
		return nil
	case p.ball != nil && k == 0:
		return p.ball.units.vary
	case p.Levels.Noise[k]:
		list := p.Deviations[k].Variation(p.ReachInto(k))
		for i, v := range more {
			list[i].Variance = arith.SumUp(list[i].Variance, v)
		}
		return list
	}
	return p.fixedVariation(k)
}

// fixedVariation is varyOf for a map without deviations: the variation is at most
// sum_j |w_j| times that of input j, whose mean is the sum of means. What noise of the same
// weights does adds up by standard deviations, of others by variances.
func (p *CellPass) fixedVariation(k int) []law.Noise {
	l, groups := &p.Layers[k], p.Levels.groups[k]
	var mean, variance []law.Noise // of the inputs: variance has the standard deviation as its mean
	var group []int
	for at, s := range p.Graph.From[k] {
		for j := range relax.SizeOf(p.Layers, s) {
			v := law.Noise{}
			switch {
			case s < 0:
				v.Mean = p.input.Radius[j]
			case groups[at] < 0:
				v.Mean = p.reach[s].Radius[j]
			default:
				v = p.vary[s][j]
			}
			mean, variance, group = append(mean, v), append(variance, law.Noise{Mean: arith.SqrtUp(v.Variance)}), append(group, groups[at])
		}
	}
	list := make([]law.Noise, l.Out)
	for i := range list {
		var m arith.Sum
		deviations := map[int]*arith.Sum{}
		l.Each(i, func(j int, size float64) {
			m.Add(size, mean[j].Mean)
			if g := group[j]; g >= 0 {
				if deviations[g] == nil {
					deviations[g] = &arith.Sum{}
				}
				deviations[g].Add(size, variance[j].Mean)
			}
		})
		list[i].Mean = max(0, m.Hi())
		for g := range len(groups) {
			if d := deviations[g]; d != nil {
				list[i].Variance = arith.SumUp(list[i].Variance, law.SquareUp(max(0, d.Hi())))
			}
		}
	}
	return list
}

// reachOf returns how far the outputs of layer k reach. Where it is linear in noise and not needed
// no event is paid for its radius, which is the width of its interval; and where only max pools
// take it, the interval says nothing of the radius, since not all of its lower ends are paid for.
func (p *CellPass) reachOf(k int, h *relax.Hidden, vary []law.Noise) Reach {
	l := &p.Layers[k]
	r, radius := NewReach(l.Out), p.Quantile(p.tau*RadiusShare, 1)
	for i := range l.Out {
		lo, hi := h.Z.Lo[i], h.Z.Hi[i]
		by := 0.0
		if !p.point {
			by = arith.SumUp(hi, -lo)
			if p.Graph.Pooled[k] && p.Levels.open[k] {
				by = arith.Inf
			}
			if !p.Levels.open[k] || p.Levels.needed[k] {
				by = min(arith.Up(l.Act.Lipschitz()*vary[i].ByUp(radius)), by)
			}
		}
		r.Set(i, by, relax.Abs(lo, hi))
	}
	return r
}

// maxima bounds layer k, a max pool. No event is paid for its units, but for the lower bounds of
// stars and for differences.
func (p *CellPass) maxima(k int) (relax.Hidden, []law.Noise) {
	l, below := &p.Layers[k], p.Graph.From[k][0]
	noise := p.Levels.open[below]
	var d relax.Differ
	if p.Layers[below].Windows == nil { // of the units of a pool no differences are known
		d = func(v int, star int32) (most, plain float64) {
			if noise {
				p.Events += float64(len(l.Windows[v]) - 1)
			}
			most = p.difference(below, star, l.Windows[v])
			return most, most
		}
	}
	h := l.Stars(p.Hidden[below].Z, false, &p.By, d)
	if p.starred[below] == nil {
		p.starred[below] = map[int32]bool{}
	}
	for _, star := range h.Pool.Star {
		if noise && p.Graph.Pooled[below] && !p.starred[below][star] {
			p.Events++
			p.starred[below][star] = true
		}
	}
	return h, p.varyOfMaxima(k)
}

// varyOfMaxima: the maximum varies by what a member does at most.
func (p *CellPass) varyOfMaxima(k int) []law.Noise {
	if p.point {
		return nil
	}
	list := make([]law.Noise, p.Layers[k].Out)
	for v, members := range p.Layers[k].Windows {
		for _, j := range members {
			list[v].Mean = max(list[v].Mean, p.reach[p.Graph.From[k][0]].Radius[j])
		}
	}
	return list
}

// difference bounds y_j - y_star from above for all other members j of a window, but for a
// probability of tau each, y being the pre-activations of layer k, which has no activation.
func (p *CellPass) difference(k int, star int32, window []int32) float64 {
	most, ways := -arith.Inf, p.ways(k)
	for _, j := range window {
		if j == star {
			continue
		}
		if p.ctx != nil && p.ctx.Err() != nil {
			return arith.Inf
		}
		a := make([]float64, p.Layers[k].Out)
		a[star], a[j] = 1, -1
		var own Noises
		if p.Levels.Noise[k] {
			own.Add(p.Levels.Of[k], p.Deviations[k].OfRow(a, p.ReachInto(k), p.Into(k)))
		}
		var c arith.Sum
		s := p.Substitute(k, a, &c, false)
		total, levels := own.total()
		lo := arith.SumDown(relax.IntervalLo(s, p.Into(k), c), -total.ByUp(p.Quantile(p.tau, levels)))
		for _, w := range ways {
			met := own.Clone()
			lo = max(lo, p.noisyLo(k, s, c, &met, p.tau, w, nil))
		}
		if math.IsNaN(lo) {
			return arith.Inf
		}
		most = max(most, -lo)
	}
	return most
}
