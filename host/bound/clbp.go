package bound

import (
	"maps"
	"slices"
)

// PropagateCLBP bounds property rows for the posterior itself instead of a weight box
// (docs/theory.md, section 3). The steps are those of LBP with the means as weight box; the
// coefficients A^l of a row over the pre-activations of each layer give the noise
// A^l (D^l z + d) of that layer, of which SquareRows, BackSubstitute with squared
// deviations and NoiseRows make the mean (11) and the variance (12), and where weights are used
// in several places SharedVar the variance (17) of docs/theory.md.
//
// Every hidden bound fails with some probability, for which Quantiles stand: a
// lower and an upper bound of each neuron and, for the variation over T, one more.
// Where there are two candidates for a bound the larger is taken. Both are known
// before any weight is drawn, so that is a choice and not a second event.
func (c *Deviations) PropagateCLBP(query CLBPQuery) (*CLBPMargins, error) {
	items := query.Inputs.count
	if query.Rows.count != items {
		panic("bound: PropagateCLBP: rows for another number of inputs")
	}
	p := &clbpPass{Deviations: c, query: query, pass: pass{
		Model: c.model, layers: c.model.layers, shift: c.model.shifts, scratch: scratch{owner: c.model.dev},
		query: Query{Propagation: LBP, Boxes: c.mean, Inputs: query.Inputs.Inputs, Rows: query.Rows, Observe: query.Observe,
			Batch: Batch{Items: items, PerBox: items, Inputs: items}},
	}}
	p.pass.hooks = &hooks{start: p.startUnits, watch: watch{p.keepInputs, p.noiseOfRows}, differences: p.startDifferences, bound: p.widen}
	defer p.free()
	if query.Inputs.balls != nil && !query.Inputs.point {
		p.ball = newBallPass(c.post, query.Inputs.balls)
	}
	if err := p.run(); err != nil {
		return nil, err
	}
	return &p.result, nil
}

func (p *clbpPass) run() error {
	p.result = CLBPMargins{Items: p.pass.query.Batch.Items, Rows: p.query.Rows.rows}
	last := len(p.layers) - 1
	p.prepareQuantiles()
	p.beginShare()
	for k := range last {
		p.hiddenLayer(k)
		p.endShare()
	}
	if p.query.Features {
		var err error
		if p.result.Features, err = p.lines(p.featureRows(last), last); err != nil {
			return err
		}
	}
	if err := p.lastLayer(last); err != nil {
		return err
	}
	p.endShare()
	if err := p.countEvents(); err != nil {
		return err
	}
	return p.readSharp()
}

// hiddenLayer bounds layer k's pre-activations, what becomes of them and how far
// they vary, all but for the chosen quantiles.
func (p *clbpPass) hiddenLayer(k int) {
	l := &p.layers[k]
	p.addHidden(k)
	if l.pool {
		p.poolLayer(k, p.radii[l.feed[0]].radius)
		p.varyPool(k)
		return
	}
	h := p.hidden[k]
	w, b, perBox := p.matrix(k)
	z, nonNeg, batch := p.input(k)
	if p.aroundCentre(k) {
		z = p.query.Inputs.centre
	}
	batch.PerBox = perBox
	p.affineAt(l, h, w, b, z, nonNeg, batch)
	p.own, p.ownMean, p.ownVariance = noiseArrays{}, nil, nil
	switch {
	case p.ball != nil && k == 0:
		p.widenUnits()
	case l.noisy:
		p.ownNoise(k)
	}
	if p.tightens(k) {
		p.tighten(k)
		if p.query.HiddenSlopes {
			p.otherTightens(k)
		}
	}
	p.tightenConcave(k)
	p.release(p.own.mean, p.own.variance)
	p.activate(k)
	p.vary(k)
	p.relax(k)
}

// aroundCentre reports whether layer k is bounded by what it is at the centre of the box and by how
// far it varies from there: with noise in the weights that is less than both apart (docs/theory.md,
// section 3.5).
func (p *clbpPass) aroundCentre(k int) bool {
	return p.chain && k == 0 && (p.layers[k].noisy || p.ball != nil) && !p.query.Inputs.point
}

// ownNoise finds the noise that layer k adds to each of its units, and widens their intervals
// by it.
func (p *clbpPass) ownNoise(k int) {
	l, h, quantile := &p.layers[k], p.hidden[k], ofSingle
	if l.class == loose {
		quantile = ofLoose
	}
	radius, maxSq := p.joinRadius(k), p.joinMaxSq(k)
	sd := p.sdMean[k]
	if p.aroundCentre(k) {
		sd = p.absMean[k]
	}
	p.own = noiseArrays{mean: p.weigh(k, sd, p.zero[k], radius), cols: l.out, kept: true}
	if p.dependsOn(k) != nil {
		p.own.variance, p.varies = p.dependentUnits(k)
	} else {
		p.own.variance = p.weigh(k, p.variance[k], p.biasVariance[k], maxSq)
	}
	own := p.own
	if p.common != nil {
		p.commonUnits(k)
		if own = p.alone; k > 0 && !p.together { // two levels
			quantile = ofMany + 1
		}
	}
	n := p.pass.query.Batch.Items * l.out
	p.widenBy(quantile, n, Widen{Lower: h.pre.Lo, Upper: h.pre.Hi, Mag: h.mag, Mean: own.mean, Var: own.variance})
}

// lastLayer merges the property into the last layer's means and takes it down.
func (p *clbpPass) lastLayer(k int) (err error) {
	l, r := &p.layers[k], p.query.Rows.rows
	n := p.pass.query.Batch.Items * r
	m := p.mergeRows(k)
	lo := p.marginsByIntervals(k, m)
	p.observe("margin.ibp", k, lo)
	p.apart, p.byLevel = true, map[int]noiseArrays{}
	own := noiseArrays{}
	if p.ball != nil && k == 0 {
		p.beginRows(0, r)
	}
	switch {
	case p.together:
	case l.noisy && p.dependsOn(k) != nil:
		if lo, hi, err := p.propertyRows(); err == nil {
			p.dependentRows(k, lo, hi, r)
		}
	case l.noisy:
		p.noise(k, p.query.Rows.square, p.filled(0, n), r)
	}
	if l.noisy && !p.together && p.err == nil {
		own = p.byLevel[l.depth] // not yet there of rows over balls
		own.kept = true
	}
	if p.common != nil {
		p.joint = nil
		if lo, hi, err := p.propertyRows(); err == nil {
			p.commonRows(k, lo, hi, r)
		}
		p.top = p.joint
		p.byLevel[sharedLevel] = p.commonNoise(r)
	}
	if p.ball != nil && k == 0 { // intervals of the inputs know of no ball
		p.result.ByLines, err = p.overBall(m)
		return err
	}
	if l.opens {
		lo = p.descendProperty(k, m, own, form{stop: true})
	}
	if p.result.ByIntervals, err = p.noises(lo); err != nil || !l.meetsClosed {
		return err
	}
	usual, err := p.byLines(k, m, own)
	if err != nil {
		return err
	}
	p.result.ByLines, p.result.sharp = usual.ByLines, usual.sharp
	if err := p.concaveRows(k, m); err != nil {
		return err
	}
	if p.query.Slopes {
		if err := p.otherSlopes(k, m, own); err != nil {
			return err
		}
	}
	if p.query.Splits == nil {
		return nil
	}
	s, err := p.newSplits(k, m)
	if err != nil {
		return err
	}
	return p.query.Splits(s)
}

// byLines bounds the property's rows by the lines that hidden layers have.
func (p *clbpPass) byLines(k int, m mergedLayer, own noiseArrays) (*CLBPMargins, error) {
	p.keepRows(k, p.query.Rows.rows)
	bound := p.descendProperty(k, m, own, form{})
	if p.ball != nil {
		p.raiseProperty(bound)
	}
	p.observe("margin.lbp", k, bound)
	lines, err := p.noises(bound)
	if err != nil {
		return nil, err
	}
	n := &CLBPMargins{Items: p.result.Items, Rows: p.result.Rows, ByLines: lines, sharp: p.sharpMargins()}
	p.release(bound)
	for _, a := range p.byLevel {
		if !a.kept {
			p.release(a.mean, a.variance)
		}
	}
	return n, nil
}

// descendProperty takes the property's rows down; own is the noise of the last layer, k.
func (p *clbpPass) descendProperty(k int, m mergedLayer, own noiseArrays, f form) Array {
	p.byLevel = map[int]noiseArrays{}
	if own.mean != nil {
		p.byLevel[p.layers[k].depth] = own
	}
	if p.common == nil {
		return p.backSubstitute(k, p.merged(k, m, f))
	}
	p.joint = cloned(p.top)
	lo := p.backSubstitute(k, p.merged(k, m, f))
	p.byLevel[sharedLevel] = p.commonNoise(p.query.Rows.rows)
	return lo
}

// noises reads a bound and the noise of the levels so far, the last first.
func (p *clbpPass) noises(lo Array) (n Noises, err error) {
	arrays := []Array{lo}
	for _, level := range slices.Backward(slices.Sorted(maps.Keys(p.byLevel))) {
		arrays = append(arrays, p.byLevel[level].mean, p.byLevel[level].variance)
	}
	all, err := p.readEach(arrays...)
	if err != nil {
		return Noises{}, err
	}
	n.Lo = all[0]
	for pair := range slices.Chunk(all[1:], 2) {
		n.Mean, n.Var = append(n.Mean, pair[0]), append(n.Var, pair[1])
	}
	return n, nil
}

// overBall bounds the property's rows of a network of one layer.
func (p *clbpPass) overBall(m mergedLayer) (Noises, error) {
	bound := p.descendProperty(0, m, noiseArrays{}, form{})
	p.raiseProperty(bound)
	return p.noises(bound)
}

// otherSlopes bounds the property's rows by lines with the slopes of each rule.
func (p *clbpPass) otherSlopes(k int, m mergedLayer, own noiseArrays) error {
	return p.eachRule(k, func() error {
		other, err := p.byLines(k, m, own)
		p.result.Others = append(p.result.Others, other)
		return err
	})
}
