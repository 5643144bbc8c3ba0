package bound

// PropagateCLBP bounds property rows for the posterior itself instead of a weight box
// (docs/concentration.md). The steps are those of LBP with the means as weight box; the
// coefficients A^l of a row over the pre-activations of each layer give the noise
// A^l (D^l z + d) of that layer, of which SquareRows, BackSubstitute with squared
// deviations and NoiseRows make the mean (11) and the variance (12).
//
// Every hidden bound fails with some probability, for which Quantiles stand: a
// lower and an upper bound of each neuron and, for the variation over T, one more.
// Where there are two candidates for a bound the larger is taken. Both are known
// before any weight is drawn, so that is a choice and not a second event.
func (c *Deviations) PropagateCLBP(job CLBPJob) (*CLBPMargins, error) {
	items := job.Inputs.count
	if job.Rows.count != items {
		panic("bound: PropagateCLBP: rows for another number of inputs")
	}
	p := &clbpPass{Deviations: c, job: job, pass: pass{
		Model: c.model, scratch: scratch{owner: c.model.dev},
		job: Job{Method: LBP, Boxes: c.mean, Inputs: job.Inputs.Inputs, Rows: job.Rows, Observe: job.Observe,
			Batch: Batch{Items: items, PerBox: items, Inputs: items}},
	}}
	p.pass.onRows = p.noiseOfRows
	defer p.free()
	if err := p.run(); err != nil {
		return nil, err
	}
	return &p.result, nil
}

// clbpPass is one PropagateCLBP under way.
type clbpPass struct {
	*Deviations
	pass
	job CLBPJob
	// radii[k] is what is known of the outputs of hidden layer k.
	radii []radiusArrays
	// total is the noise of the rows on their way down, added up if they are of a
	// hidden layer and kept by layer, in byLayer, if they are the property's.
	total   noiseArrays
	byLayer []noiseArrays
	apart   bool
	result  CLBPMargins
}

type radiusArrays struct{ radius, radiusSq, maxSq Array }

// noiseArrays are mean and variance of rows; cols of them, repeated.
type noiseArrays struct {
	mean, variance Array
	cols           int
}

func (p *clbpPass) run() error {
	last := len(p.layers) - 1
	for k := range last {
		p.hiddenLayer(k)
	}
	p.lastLayer(last)
	return p.err
}

// inputRadius is the radius of what feeds layer k, and how many inputs it is for.
func (p *clbpPass) inputRadius(k int) radiusArrays {
	if k == 0 {
		in := p.job.Inputs
		return radiusArrays{in.radius, in.radiusSq, in.maxSq}
	}
	return p.radii[k-1]
}

// weigh returns up(sum_j weight[j][i] z[j] + bias[i]) for numbers that are not
// negative, [Items x out].
func (p *clbpPass) weigh(k int, weight, bias, z Array) Array {
	l, items := p.layers[k], p.pass.job.Batch.Items
	n := items * l.out
	low, sum, mag := p.array(n), p.array(n), p.array(n)
	p.do(func() error {
		return p.dev.Affine(p.affine(hidden{pre: Interval{low, sum}, mag: mag}, Interval{weight, weight}, Interval{bias, bias},
			Interval{z, z}, true, p.pass.job.Batch, l.in, l.out))
	})
	p.release(low, mag)
	return sum
}

// hiddenLayer bounds layer k's pre-activations, what becomes of them and how far
// they vary, all but for the chosen quantiles.
func (p *clbpPass) hiddenLayer(k int) {
	l, items, q := p.layers[k], p.pass.job.Batch.Items, p.job.Quantiles
	n := items * l.out
	h := hidden{pre: p.interval(n), z: p.interval(n), mag: p.array(n)}
	p.hidden = append(p.hidden, h)
	z, nonNeg, batch := p.input(k)
	p.do(func() error {
		return p.dev.Affine(p.affine(h, p.mean.w[k], p.mean.b[k], z, nonNeg, batch, l.in, l.out))
	})
	in := p.inputRadius(k)
	own := noiseArrays{mean: p.weigh(k, p.sdMean[k], p.zero[k], in.radius), variance: p.weigh(k, p.variance[k], p.biasVariance[k], in.maxSq), cols: l.out}
	p.do(func() error {
		return p.dev.Widen(Widen{Lower: h.pre.Lo, Upper: h.pre.Hi, Mag: h.mag, Mean: own.mean, Var: own.variance, Quantile: q.Single, N: n})
	})
	if k > 0 {
		p.byLines(k, own) // releases own
	} else {
		p.release(own.mean, own.variance)
	}
	p.observe("pre.lo", k, h.pre.Lo)
	p.observe("pre.hi", k, h.pre.Hi)
	p.do(func() error { return p.dev.Activate(Activate{Z: h.z, Pre: h.pre, N: n, Activation: l.activation}) })
	p.vary(k, in, h)
	p.relax(k, n)
}

// byLines tightens layer k by back-substitution.
func (p *clbpPass) byLines(k int, own noiseArrays) {
	l, items := p.layers[k], p.pass.job.Batch.Items
	p.total, p.apart = own, false
	bound := p.backSubstitute(k, rowsOf{s: p.mean.w[k], c: p.mean.b[k], perBox: items, cols: l.out, mirrored: true})
	rows := items * 2 * l.out
	p.do(func() error {
		return p.dev.Widen(Widen{Lower: bound, Mean: p.total.mean, Var: p.total.variance, Quantile: p.job.Quantiles.Many[k], N: rows})
	})
	p.do(func() error {
		return p.dev.Intersect(Intersect{Pre: p.hidden[k].pre, Bound: bound, P: items, N: l.out})
	})
	p.release(bound, p.total.mean, p.total.variance)
}

// vary bounds how far the outputs of layer k vary over T: the pre-activation's
// variation is at most sum_j |W_ij| radius_j, whose mean is E|W| radius and whose
// standard deviation at most the root of sum_j sd_ij^2 radius_j^2.
func (p *clbpPass) vary(k int, in radiusArrays, h hidden) {
	l, items := p.layers[k], p.pass.job.Batch.Items
	n := items * l.out
	mean, variance := p.weigh(k, p.absMean[k], p.zero[k], in.radius), p.weigh(k, p.variance[k], p.zero[k], in.radiusSq)
	s := radiusArrays{p.array(n), p.array(n), p.array(n)}
	p.radii = append(p.radii, s)
	p.do(func() error {
		return p.dev.Vary(Vary{Radius: s.radius, RadiusSq: s.radiusSq, MaxSq: s.maxSq, Z: h.z, Mean: mean, Var: variance,
			Quantile: p.job.Quantiles.Radius, Lipschitz: p.dev.Precision().RoundHi(l.facts.Lipschitz()), N: n})
	})
	p.release(mean, variance)
	p.observe("radius", k, s.radius)
	p.observe("radius.square", k, s.radiusSq)
	p.observe("most.square", k, s.maxSq)
}

// noiseOfRows adds the noise of layer l to rows a over its pre-activations.
func (p *clbpPass) noiseOfRows(l int, a Array, rows int) {
	lay, items := p.layers[l], p.pass.job.Batch.Items
	square, none := p.array(items*lay.out*rows), p.array(items*rows)
	p.do(func() error { return p.dev.SquareRows(SquareRows{Square: square, A: a, N: items * lay.out * rows}) })
	p.do(func() error { return p.dev.Write(none, make([]float64, items*rows)) })
	next := p.noise(l, square, none, rows)
	p.release(square, none)
	if p.apart {
		p.byLayer = append(p.byLayer, next)
		return
	}
	p.total = next
}

// noise makes mean and variance of the noise of layer l from squared rows over its
// pre-activations, and adds them to what there is.
func (p *clbpPass) noise(l int, square, none Array, rows int) noiseArrays {
	lay, items := p.layers[l], p.pass.job.Batch.Items
	s, c := p.array(items*lay.in*rows), p.array(items*rows)
	variance, bias := p.variance[l], p.biasVariance[l]
	p.do(func() error {
		return p.dev.BackSubstitute(BackSubstitute{
			S: Interval{Lo: s}, C: c, A: square, CIn: none, W: Interval{variance, variance}, B: Interval{bias, bias},
			PerBox: items, P: items, R: rows, In: lay.in, Out: lay.out,
		})
	})
	in := p.inputRadius(l)
	next := noiseArrays{p.array(items * rows), p.array(items * rows), rows}
	before := p.total
	if p.apart {
		before = noiseArrays{cols: rows}
	}
	p.do(func() error {
		return p.dev.NoiseRows(NoiseRows{
			Mean: next.mean, Var: next.variance, MeanIn: before.mean, VarIn: before.variance, S: s, C: c,
			Radius: in.radius, MaxSq: in.maxSq, P: items, R: rows, Cols: before.cols, In: lay.in, Inputs: items,
			Round: p.dev.Precision().NoiseRounding(lay.in, lay.out),
		})
	})
	p.release(s, c, before.mean, before.variance)
	p.observe("noise.mean", l, next.mean)
	p.observe("noise.variance", l, next.variance)
	return next
}

// lastLayer merges the property into the last layer's means and takes it down.
func (p *clbpPass) lastLayer(k int) {
	l, rows := p.layers[k], p.job.Rows
	r := rows.rows
	n := p.pass.job.Batch.Items * r
	p.result = CLBPMargins{Items: p.pass.job.Batch.Items, Rows: r}
	m := p.mergeRows(k)
	h := hidden{pre: p.interval(n), mag: p.array(n)}
	z, nonNeg, batch := p.input(k)
	batch.PerBox = 1
	p.do(func() error { return p.dev.Affine(p.affine(h, m.w, m.b, z, nonNeg, batch, l.in, r)) })
	p.observe("margin.ibp", k, h.pre.Lo)
	none := p.array(n)
	p.do(func() error { return p.dev.Write(none, make([]float64, n)) })
	p.apart = true
	own := p.noise(k, rows.square, none, r)
	p.byLayer = []noiseArrays{own}
	p.result.ByIntervals = p.noises(h.pre.Lo)
	if k > 0 {
		bound := p.backSubstitute(k, rowsOf{s: m.w, c: m.b, perBox: 1, cols: r})
		p.observe("margin.lbp", k, bound)
		p.result.ByLines = p.noises(bound)
	}
}

// noises reads a bound and the noise of the layers so far.
func (p *clbpPass) noises(lo Array) Noises {
	var n Noises
	n.Lo = p.read(lo)
	for _, a := range p.byLayer {
		n.Mean, n.Var = append(n.Mean, p.read(a.mean)), append(n.Var, p.read(a.variance))
	}
	return n
}
