package bound

import "math"

// The noise of rows on their way down (docs/theory.md (11), (12), (17),
// (18)). Noises of layers of one level add: given what is below, their sum is one Gaussian.

// startUnits begins with the noise that layer k itself adds to the units of a run.
func (p *clbpPass) startUnits(k int, u *endRows) {
	p.total, p.met = noiseArrays{}, map[int]bool{}
	if p.common != nil {
		p.startCommon(k)
	}
	if most := p.lineForm(k).most; p.query.Sharp && (most == 0 || most >= k) { // of rows that reach the input
		p.keepRows(k, 2*p.layers[k].out)
	}
	if p.ball != nil {
		p.beginRows(k, 2*p.layers[k].out)
	}
	if p.own.mean == nil || p.together {
		return
	}
	p.met[p.layers[k].depth] = true
	if p.total = p.own; p.ball != nil && k == 1 { // see ownThrough; units are bounded more than once
		p.total.mean = p.filled(0, p.pass.query.Batch.Items*p.own.cols)
	}
	if u == nil {
		return
	}
	if p.ownMean == nil {
		if p.ownMean, p.ownVariance, _ = p.readPair(p.own.mean, p.own.variance); p.err != nil {
			return
		}
	}
	p.total = noiseArrays{mean: p.ofUnits(u, p.ownMean), variance: p.ofUnits(u, p.ownVariance), cols: u.n}
}

// ofUnits are what rows have of a list over the units of all images, 0 where there is no unit. What is not
// at least 0, as only a device says that lies, is unknown.
func (p *clbpPass) ofUnits(u *endRows, list []float64) Array {
	of := make([]float64, len(u.place))
	for r, place := range u.place {
		if place >= 0 {
			if of[r] = list[place]; !(of[r] >= 0) {
				of[r] = math.Inf(1)
			}
		}
	}
	return p.holding(of)
}

// widen moves lower bounds of rows of layer k down by what the noise that they met adds, but
// for a small probability.
func (p *clbpPass) widen(k int, bound Array, rows int) {
	p.boundedRows(bound)
	if p.ball != nil {
		p.raiseUnits(bound, rows)
	}
	if p.common != nil {
		p.widenByCommon(rows)
	}
	if p.total.mean == nil {
		return
	}
	if p.total.cols != rows {
		p.repeatTotal(rows)
	}
	p.sharpenUnits(k)
	n := p.pass.query.Batch.Items * rows
	p.widenBy(ofMany+len(p.met)-1, n, Widen{Lower: bound, Mean: p.total.mean, Var: p.total.variance})
	p.dropTotal()
}

// repeatTotal makes the noise of mirrored rows, to which nothing was added, as many.
func (p *clbpPass) repeatTotal(rows int) {
	items, n := p.pass.query.Batch.Items, p.total.cols
	local := p.span(0, n)
	repeat := func(a Array) Array {
		out := p.array(items * rows)
		for at := 0; at < rows; at += n {
			p.launch(Gather{Out: out, In: a, Index: local, P: items, N: n, T: n, At: at, Total: rows, R: 1})
		}
		return out
	}
	next := noiseArrays{mean: repeat(p.total.mean), variance: repeat(p.total.variance), cols: rows}
	p.dropTotal()
	p.total = next
}

// noiseOfRows adds the noise of layer l to rows a over its pre-activations.
func (p *clbpPass) noiseOfRows(l int, a Array, rows int) {
	lay, items := &p.layers[l], p.pass.query.Batch.Items
	if !lay.noisy {
		return
	}
	if p.down != nil {
		p.down.layers[l] = a
		p.hold(a)
	}
	if p.common != nil {
		if coefficients, err := p.read(a); err == nil {
			p.commonRows(l, coefficients, coefficients, rows)
		}
		if p.together {
			return
		}
	}
	if p.dependsOn(l) != nil {
		if coefficients, err := p.read(a); err == nil {
			p.dependentRows(l, coefficients, coefficients, rows)
		}
		return
	}
	shift := p.shift && l == 0
	if lay.shared() && !shift {
		p.sharedNoise(l, a, rows)
		return
	}
	square := p.array(items * lay.out * rows)
	p.launch(SquareRows{Square: square, A: a, N: items * lay.out * rows})
	if shift {
		p.noiseOfShift(square, rows)
	} else {
		p.noise(l, square, p.filled(0, items*rows), rows)
	}
	p.release(square)
}

// noiseOfShift is noise for a layer 0 that adds a normal number to each input and has no other: it has the mean 0,
// whatever the box is, and the variance (17), the sum of squares over its biases.
func (p *clbpPass) noiseOfShift(square Array, rows int) {
	lay, items := &p.layers[0], p.pass.query.Batch.Items
	none, s, c := p.filled(0, lay.out), p.array(items*rows), p.array(items*rows)
	p.launch(BackSubstitute{
		S: Interval{Lo: s}, C: c, A: square, CIn: p.filled(0, items*rows), W: Interval{none, none}, B: Interval{p.biasVariance[0], p.biasVariance[0]},
		PerBox: items, P: items, R: rows, In: 1, Out: lay.out,
	})
	next, before := noiseArrays{mean: p.array(items * rows), variance: p.array(items * rows), cols: rows}, p.before(0, rows)
	p.launch(NoiseRows{
		Mean: next.mean, Var: next.variance, MeanIn: before.mean, VarIn: before.variance, S: s, C: c,
		Radius: p.filled(0, items), MaxSq: p.filled(0, items), P: items, R: rows, Cols: before.cols, In: 1, Inputs: items,
		Round: p.dev.Precision().NoiseRounding(1, lay.out),
	})
	p.release(s, c)
	p.put(0, before, next)
}

// noise makes mean and variance of the noise of layer l, each of whose weights is used once, from
// squared rows over its pre-activations, and adds them to what there is.
func (p *clbpPass) noise(l int, square, none Array, rows int) {
	lay, items := &p.layers[l], p.pass.query.Batch.Items
	s, c := p.array(items*lay.in*rows), p.array(items*rows)
	variance, bias := p.variance[l], p.biasVariance[l]
	p.launch(BackSubstitute{
		S: Interval{Lo: s}, C: c, A: square, CIn: none, W: Interval{variance, variance}, B: Interval{bias, bias},
		PerBox: items, P: items, R: rows, In: lay.in, Out: lay.out,
	})
	round := p.dev.Precision().NoiseRounding(lay.in, lay.out)
	if p.ball != nil && l == 0 {
		p.firstNoise(s, c, rows, round)
		p.release(s, c)
		return
	}
	radius, maxSq := p.joinRadius(l), p.joinMaxSq(l)
	if p.ball != nil && l == 1 {
		p.through(s, rows, round)
		if !p.apart { // its mean is added in the end
			radius = p.filled(0, items*lay.in)
		}
	}
	next, before := noiseArrays{mean: p.array(items * rows), variance: p.array(items * rows), cols: rows}, p.before(l, rows)
	p.launch(NoiseRows{
		Mean: next.mean, Var: next.variance, MeanIn: before.mean, VarIn: before.variance, S: s, C: c,
		Radius: radius, MaxSq: maxSq, P: items, R: rows, Cols: before.cols, In: lay.in, Inputs: items,
		Round: round,
	})
	p.release(s, c)
	p.put(l, before, next)
}

// sharedNoise is noise for a layer whose weights are used in several places: the mean (18) is
// what independent weights would give, the variance (17) is not, but where there is one position: that
// of (12).
func (p *clbpPass) sharedNoise(l int, a Array, rows int) {
	lay, items := &p.layers[l], p.pass.query.Batch.Items
	before, point, single := p.before(l, rows), p.query.Inputs.point, lay.positions == 1
	op := NoiseRows{
		Mean: p.array(items * rows), Var: p.array(items * rows), MeanIn: before.mean, VarIn: before.variance, C: p.filled(0, items*rows),
		P: items, R: rows, Cols: before.cols, Inputs: items,
	}
	if point && !single { // nothing varies, and e is 0
		op.In, op.S, op.Radius, op.MaxSq = 1, p.filled(0, items*rows), p.filled(0, items), p.filled(0, items)
		op.Round = p.dev.Precision().NoiseRounding(1, 1)
		p.launch(op)
		p.sharedVariance(l, a, rows, before, op)
		return
	}
	square := p.array(items * lay.out * rows)
	p.launch(SquareRows{Square: square, A: a, N: items * lay.out * rows})
	op.In, op.S, op.Radius, op.MaxSq = lay.in, p.squaredSums(l, square, rows), p.joinRadius(l), p.filled(0, items*lay.in)
	op.Round = p.dev.Precision().noiseRounding(lay.in, roundings(lay.channels)+SumRoundings(lay.longest, false), lay.channels*max(lay.longest, 1))
	if point {
		op.Radius = op.MaxSq
	}
	if single {
		op.C, op.MaxSq = p.constants(square, p.filled(0, items*rows), Interval{p.biasVariance[l], p.biasVariance[l]}, items, lay.channels, rows), p.joinMaxSq(l)
	}
	p.launch(op)
	p.release(op.S, square)
	if !single {
		p.sharedVariance(l, a, rows, before, op)
		return
	}
	p.release(op.C)
	p.put(l, before, noiseArrays{mean: op.Mean, variance: op.Var, cols: rows})
}

// sharedVariance adds (17) to the noise of rows, whose mean is there.
func (p *clbpPass) sharedVariance(l int, a Array, rows int, before noiseArrays, there NoiseRows) {
	lay, items := &p.layers[l], p.pass.query.Batch.Items
	next, g := noiseArrays{mean: there.Mean, variance: p.array(items * rows), cols: rows}, p.factors(l, a, rows)
	p.launch(SharedVar{
		Var: next.variance, VarIn: there.Var, G: g, A: a, V: p.variance[l], VB: p.biasVariance[l],
		MaxSq: p.joinMaxSq(l), P: items, R: rows, Cols: rows, In: lay.in, Inputs: items, Positions: lay.positions, K: lay.taps, Channels: lay.channels,
		Round: p.dev.Precision().SharedRounding(lay.positions, lay.taps, lay.channels),
	})
	p.release(there.Var, g.Lo, g.Hi)
	p.put(l, before, next)
}

// squaredSums is, for each input of layer l that may be above 0 and each row, of which square has the
// squares, the variance of its coefficient, each place of a weight by itself: [Items x in x rows].
func (p *clbpPass) squaredSums(l int, square Array, rows int) Array {
	lay, items, variance := &p.layers[l], p.pass.query.Batch.Items, p.variance[l]
	sums := func(i int) Array {
		s := p.array(items * lay.sums[i].places * rows)
		op := p.transpose(lay, lay.sums[i], s, square, Interval{variance, variance}, items, rows, false)
		op.Needed = p.positive(lay.feed[i])
		p.launch(op)
		return s
	}
	if len(lay.feed) == 1 {
		return sums(0)
	}
	s := p.array(items * lay.in * rows)
	for i := range lay.feed {
		part, n := sums(i), lay.locals[i].n
		p.launch(Gather{Out: s, In: part, Index: lay.locals[i].at, P: items, N: n, T: n, At: lay.first[i], Total: lay.in, R: rows})
		p.release(part)
	}
	return s
}

// startDifferences begins with the noise that a layer itself adds to differences of its units.
func (p *clbpPass) startDifferences(d *difference) {
	p.total, p.met = noiseArrays{}, map[int]bool{}
	l, items := &p.layers[d.layer], p.pass.query.Batch.Items
	if !l.noisy {
		return
	}
	p.met[l.depth] = true
	switch {
	case d.noise.mean != nil:
	case p.dependsOn(d.layer) != nil:
		d.noise = p.dependentDifferences(d)
	default:
		d.noise = p.differenceNoise(d, l, items)
	}
	p.total = d.noise
}

func (p *clbpPass) differenceNoise(d *difference, l *layer, items int) noiseArrays {
	k := d.layer
	s, c := p.array(items*l.in*d.n), p.array(items*d.n)
	v, b := p.variance[k], p.biasVariance[k]
	p.launch(PlaceRows{
		S: Interval{Lo: s}, C: Interval{Lo: c}, W: Interval{v, v}, B: Interval{b, b}, Taps: l.tap, Unit: d.unit, Other: d.other,
		Squares: true, P: items, PerBox: items, R: d.n, In: l.in, Positions: l.positions, K: l.taps, Channels: l.channels,
	})
	next := noiseArrays{mean: p.array(items * d.n), variance: p.array(items * d.n), cols: d.n, kept: true}
	z, _, _ := p.input(k)
	none, radius, zeros := p.array(items*d.n), p.joinRadius(k), p.filled(0, items*l.in)
	p.launch(NoiseRows{
		Mean: next.mean, Var: none, S: s, C: c, Radius: radius, MaxSq: zeros,
		P: items, R: d.n, Cols: d.n, In: l.in, Inputs: items, Round: p.dev.Precision().NoiseRounding(l.in, 1),
	})
	p.launch(PairNoise{
		Sum: next.variance, SumIn: none, V: v, Z: z, Taps: l.tap, Unit: d.unit, Other: d.other, Squared: true,
		P: items, PerBox: items, Inputs: items, R: d.n, In: l.in, Positions: l.positions, K: l.taps, Channels: l.channels,
		Round: p.dev.Precision().PairRounding(l.taps),
	})
	p.release(s, c, none)
	return next
}
