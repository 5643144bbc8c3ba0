package bound

import "slices"

// What feeds a layer, and the intervals of its pre-activations.

// once returns what m has at a key: what f makes, when it is asked for first.
func once[K comparable, V any](m *map[K]V, key K, f func() V) V {
	v, known := (*m)[key]
	if !known {
		v = f()
		if *m == nil {
			*m = map[K]V{}
		}
		(*m)[key] = v
	}
	return v
}

// each is f of both ends: one array where they are one.
func (i Interval) each(f func(a Array) Array) Interval {
	lo := f(i.Lo)
	if i.Hi == i.Lo {
		return Interval{lo, lo}
	}
	return Interval{lo, f(i.Hi)}
}

// input returns the interval that feeds layer k, whether it is never negative, and its batch:
// inputs of a chain are shared between items, hidden values are not.
func (p *pass) input(k int) (Interval, bool, Batch) {
	if p.chain && k == 0 {
		return p.query.Inputs.x, p.query.Inputs.nonNeg, p.query.Batch
	}
	b := p.query.Batch
	b.Inputs = b.Items
	nonNeg := true
	for _, s := range p.layers[k].feed {
		nonNeg = nonNeg && p.nonNeg(s)
	}
	if p.seen != nil {
		z, known := p.seen.joined[k]
		if !known {
			z = p.joined(k, p.value)
			p.seen.joined[k] = z
		}
		return z, nonNeg, b
	}
	if k < len(p.hidden) {
		return p.hidden[k].in, nonNeg, b
	}
	return p.joined(k, p.value), nonNeg, b
}

// value is the interval of the outputs of layer s, or of the network's input, for each item.
func (p *pass) value(s int) Interval {
	switch {
	case p.seen == nil && s < 0:
		return p.inputs()
	case p.seen == nil:
		return p.hidden[s].z
	case s < 0:
		return p.lookAt(s, p.seen.inputs)
	}
	return p.lookAt(s, p.hidden[s].z)
}

func (p *pass) nonNeg(s int) bool {
	if s < 0 {
		return p.query.Inputs.nonNeg
	}
	return p.layers[s].nonNeg()
}

// inputs are the input boxes, one for each item: item p's is p % Inputs.
func (p *pass) inputs() Interval {
	b, x := p.query.Batch, p.query.Inputs.x
	if b.Inputs == b.Items {
		return x
	}
	if p.cache.x.Lo != nil {
		return p.cache.x
	}
	// Runs of g boxes, one after the other and over again.
	g := gcd(b.Items, b.Inputs)
	index := make([]float64, b.Items/g)
	for i := range index {
		index[i] = float64(i % (b.Inputs / g))
	}
	at := p.holding(index)
	copies := func(x Array) Array { return p.gathered(x, at, 1, b.Inputs/g, len(index), g*p.layers[0].in) }
	p.cache.x = Interval{copies(x.Lo), copies(x.Hi)}
	return p.cache.x
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// joined puts intervals of what feeds layer k one after the other.
func (p *pass) joined(k int, of func(s int) Interval) Interval {
	return Interval{
		p.join(k, func(s int) Array { return of(s).Lo }),
		p.join(k, func(s int) Array { return of(s).Hi }),
	}
}

func (p *pass) join(k int, of func(s int) Array) Array {
	l, items := &p.layers[k], p.query.Batch.Items
	if len(l.feed) == 1 {
		return of(l.feed[0])
	}
	out := p.array(items * l.in)
	for i, s := range l.feed {
		a, n := of(s), l.locals[i].n
		p.launch(Gather{Out: out, In: a, Index: l.locals[i].at, P: items, N: n, T: n, At: l.first[i], Total: l.in, R: 1})
	}
	return out
}

// underTaps lists what lies under each tap at each position of layer k, one number for each
// item.
func (p *pass) underTaps(l *layer, z Interval) Interval {
	if l.dense {
		return z
	}
	items, n := p.query.Batch.Items, l.positions*l.taps
	return z.each(func(a Array) Array { return p.gathered(a, l.tap, items, l.in, n, 1) })
}

// matrix is the matrix of layer k as intervals, with its biases, and how many items have one
// in common.
func (p *pass) matrix(k int) (w, b Interval, perBox int) {
	l, boxes := &p.layers[k], p.query.Boxes
	switch {
	case !l.weighted:
		return l.matrix, l.noBias, p.query.Batch.Items
	case l.weight == nil:
		return boxes.w[k], boxes.b[k], p.query.Batch.PerBox
	}
	m := once(&p.cache.matrices, k, func() Interval {
		return boxes.w[k].each(func(a Array) Array {
			return p.gathered(a, l.weight, boxes.count, p.Model.arrays[2*k].n, l.taps*l.channels, 1)
		})
	})
	return m, boxes.b[k], p.query.Batch.PerBox
}

// affineOf bounds the pre-activations of layer k of a matrix w and biases b, [Channels] each, for
// what feeds it.
func (p *pass) affineOf(k int, h hidden, w, b Interval, perBox int) {
	z, nonNeg, batch := p.input(k)
	batch.PerBox = perBox
	p.affineAt(&p.layers[k], h, w, b, z, nonNeg, batch)
}

// affineAt is an Affine at every position of layer l.
func (p *pass) affineAt(l *layer, h hidden, w, b, z Interval, nonNeg bool, batch Batch) {
	if l.dense {
		p.launch(p.affine(h, w, b, z, nonNeg, batch, l.in, l.out))
		return
	}
	under := p.underTaps(l, z)
	batch = Batch{Items: batch.Items * l.positions, PerBox: batch.PerBox * l.positions, Inputs: batch.Inputs * l.positions}
	p.launch(p.affine(h, w, b, under, nonNeg, batch, l.taps, l.channels))
	p.release(under.Lo, under.Hi)
}

func (p *pass) affine(h hidden, w, b, z Interval, nonNeg bool, batch Batch, in, out int) Affine {
	push, mag := p.dev.Precision().AffineRounding(in)
	return Affine{
		Pre: h.pre, Mag: h.mag, W: w, B: b, Z: z, NonNeg: nonNeg, Push: push, MagRound: mag,
		Batch: batch, In: in, Out: out,
	}
}

// filled is an array of n times one number, which nothing writes to.
func (p *pass) filled(value float64, n int) Array {
	return once(&p.cache.filled, filling{value, n}, func() Array { return p.holding(slices.Repeat([]float64{value}, n)) })
}

// span lists at, at+1, ..., at+n-1.
func (s *scratch) span(at, n int) Array {
	return s.listed(n, func(i int) int { return at + i })
}

func (s *scratch) listed(n int, f func(i int) int) Array {
	all := make([]float64, n)
	for i := range all {
		all[i] = float64(f(i))
	}
	return s.holding(all)
}

// widen moves the bounds of layer k, which are those of the weight box, by what its units may be off.
func (p *pass) widen(k int) {
	by, is := p.off[k]
	if !is {
		return
	}
	h, n := &p.hidden[k], p.layers[k].out
	none := p.filled(0, n)
	p.launch(Widen{Lower: h.pre.Lo, Upper: h.pre.Hi, Mag: h.mag, Mean: by.Hi, Var: none, N: n})
}

// addHidden makes room for layer k, and joins what feeds it.
func (p *pass) addHidden(k int) {
	n := p.query.Batch.Items * p.layers[k].out
	z, _, _ := p.input(k)
	p.hidden = append(p.hidden, hidden{in: z, pre: p.interval(n), z: p.interval(n), mag: p.array(n)})
}

func (p *pass) activate(k int) {
	h, n := p.hidden[k], p.query.Batch.Items*p.layers[k].out
	p.observe("pre.lo", k, h.pre.Lo)
	p.observe("pre.hi", k, h.pre.Hi)
	p.launch(Activate{Z: h.z, Pre: h.pre, N: n, Activation: p.layers[k].activation})
}

// relax prepares layer k for back-substitution.
func (p *pass) relax(k int) {
	l, h, n := &p.layers[k], &p.hidden[k], p.query.Batch.Items*p.layers[k].out
	h.lo, h.hi = Line{p.array(n), p.array(n)}, Line{p.array(n), p.array(n)}
	h.err = p.array(n)
	r := Relax{
		Lo: h.lo, Hi: h.hi, Err: h.err, Pre: h.pre, Mag: h.mag, N: n, Activation: l.activation,
		Charge: l.charge(p.dev.Precision()),
	}
	if l.pool {
		r.Pre, r.Upper = h.pool.star, h.pool.above
	}
	p.launch(r)
}
