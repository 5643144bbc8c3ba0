package bound

import "math"

// Boxes of weights that are used in several places. Rows may take each place by itself, as if the
// weights there were different ones, or remember that they are one (docs/theory.md
// (29)). Both bound the same box: the better counts.

// alsoShared adds, for weight boxes with width, each form once more with (29), if one of the
// layers up to k that has such weights uses them in several places.
func (p *pass) alsoShared(k int, forms []form) []form {
	if p.hooks != nil {
		return forms
	}
	for j := range k + 1 {
		if p.layers[j].shared() && p.query.Boxes.wide[j] {
			for _, f := range forms {
				forms = append(forms, form{stop: f.stop, most: f.most, shared: true})
			}
			break
		}
	}
	return forms
}

// shares reports whether rows of a form pass layer l by (29).
func (p *pass) shares(f form, l int) bool {
	return f.shared && p.layers[l].shared() && p.query.Boxes.wide[l]
}

// sharedProducts is products by (29): each row gets a matrix of its own, inside the weight box.
func (p *pass) sharedProducts(f *flight, l int, a Array) Interval {
	lay, items, r := &p.layers[l], p.query.Batch.Items, f.rows()
	weight, bias, perBox := p.matrix(l)
	g := p.factors(l, a, r)
	w, c, most := p.array(items*lay.taps*lay.channels*r), p.array(items*r), p.mostSquares(l)
	p.launch(ShareBox{
		W: w, C: c, CIn: f.c.Lo, G: g, A: a, Weight: weight, Bias: bias, MaxSq: most,
		P: items, PerBox: perBox, R: r, In: lay.in, Inputs: items, Positions: lay.positions, K: lay.taps, Channels: lay.channels,
		Round: p.dev.Precision().SharedRounding(lay.positions, lay.taps, lay.channels),
	})
	p.release(g.Lo, g.Hi, f.c.Lo)
	f.c.Lo = c
	s := p.array(items * lay.positions * lay.taps * r)
	p.launch(ShareRows{S: s, A: a, W: w, P: items, R: r, Positions: lay.positions, K: lay.taps, Channels: lay.channels})
	p.release(w)
	return Interval{s, s}
}

// mostSquares are bounds of the squares of the inputs of layer l.
func (p *pass) mostSquares(l int) Array {
	return once(&p.cache.mostSquares, l, func() Array {
		n := p.query.Batch.Items * p.layers[l].in
		z, _, _ := p.input(l)
		radius, square, most, zeros := p.array(n), p.array(n), p.array(n), p.filled(0, n)
		p.launch(Vary{Radius: radius, RadiusSq: square, MaxSq: most, Z: z, Mean: zeros, Var: zeros, Lipschitz: 1, N: n})
		p.release(radius, square)
		return most
	})
}

// sharedDifferences are differenceRows that remember that both units have the same weights: rows
// of the centre of the box, and a charge for what its half-widths do to the difference.
func (p *pass) sharedDifferences(d *difference) *flight {
	l, items := &p.layers[d.layer], p.query.Batch.Items
	_, _, perBox := p.matrix(d.layer)
	c := p.centreOf(d.layer)
	z, _, _ := p.input(d.layer)
	charge := p.array(items * d.n)
	p.launch(PairNoise{
		Sum: charge, V: c.half, Z: z, Taps: l.tap, Unit: d.unit, Other: d.other,
		P: items, PerBox: perBox, Inputs: items, R: d.n, In: l.in, Positions: l.positions, K: l.taps, Channels: l.channels,
		Round: p.dev.Precision().PairRounding(l.taps),
	})
	f := p.placedDifferences(d, func(k int) (w, b Interval, perBox int) {
		_, b, perBox = p.matrix(k)
		return Interval{c.minus, c.minus}, b, perBox
	})
	p.release(f.c.Lo)
	f.c.Lo = p.negated(charge, items*d.n)
	p.release(charge)
	return f
}

// centred is the centres of a weight box as a matrix, times -1, and its half-widths.
type centred struct{ minus, half Array }

// centreOf reads the matrix of layer k, as it is small, and splits it. After an error there are no
// arrays.
func (p *pass) centreOf(k int) centred {
	return once(&p.cache.centres, k, func() centred {
		w, _, _ := p.matrix(k)
		lo, hi, err := p.readPair(w.Lo, w.Hi)
		if err != nil {
			return centred{}
		}
		minus, half := make([]float64, len(lo)), make([]float64, len(lo))
		precision := p.dev.Precision()
		for i := range lo {
			c := precision.Nearest(lo[i]/2 + hi[i]/2)
			minus[i] = -c
			if lo[i] != hi[i] || c != lo[i] {
				half[i] = precision.RoundHi(math.Nextafter(max(hi[i]-c, c-lo[i]), math.Inf(1)))
			}
		}
		return centred{p.holding(minus), p.holding(half)}
	})
}
