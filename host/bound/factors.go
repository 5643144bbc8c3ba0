package bound

// factors are the ranges over T of what each weight of layer l is multiplied by in each row, g of
// docs/theory.md (30): the product of the rows a over the layer's pre-activations with the
// intervals under each tap, as if these were weights. [Items x taps x channels x rows]
func (p *pass) factors(l int, a Array, rows int) Interval {
	lay, items := &p.layers[l], p.query.Batch.Items
	w := p.across(l)
	r := lay.channels * rows
	g, c := p.interval(items*lay.taps*r), p.array(items*r)
	none, constants := p.filled(0, items*lay.positions), p.filled(0, items*r)
	p.launch(BackSubstitute{
		S: g, C: c, A: a, CIn: constants, W: w, B: Interval{none, none},
		PerBox: 1, P: items, R: r, In: lay.taps, Out: lay.positions,
	})
	p.release(c)
	return g
}

// across are the intervals of what lies under each tap of layer l at each position, as if they were
// weights: [Items x taps x positions]. They are kept, as every chunk of rows that passes the layer
// asks for them.
func (p *pass) across(l int) Interval {
	return once(&p.cache.across, l, func() Interval {
		lay := &p.layers[l]
		z, _, _ := p.input(l)
		gather := func(a Array) Array {
			return p.gathered(a, lay.across, p.query.Batch.Items, lay.in, lay.positions*lay.taps, 1)
		}
		return Interval{gather(z.Lo), gather(z.Hi)}
	})
}
