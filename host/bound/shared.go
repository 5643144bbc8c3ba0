package bound

// Boxes of weights that are used in several places. Rows may take each place by itself, as if the
// weights there were different ones, or remember that they are one (docs/theory.md
// (29)). Both bound the same box: the better counts.

// ways says in which of both rows are taken down.
type ways int

const (
	bothWays ways = iota
	byOneWeight
	byPlaces // where byOneWeight has left them out
)

// alsoShared adds, for weight boxes with width, each form once more with (29), if one of the
// layers up to k that has such weights uses them in several places.
func (p *pass) alsoShared(k int, forms []form) []form {
	if p.hooks != nil || !p.sharedUpTo(k) {
		if p.only == byPlaces {
			return nil // they have been taken down
		}
		return forms
	}
	var shared []form
	for _, f := range forms {
		shared = append(shared, form{stop: f.stop, most: f.most, shared: true})
	}
	switch p.only {
	case byOneWeight:
		return shared
	case byPlaces:
		return forms
	}
	return append(forms, shared...)
}

// sharedUpTo reports whether a layer up to k uses weights with width in several places.
func (p *pass) sharedUpTo(k int) bool {
	for j := range k + 1 {
		if p.layers[j].shared() && p.query.Boxes.wide[j] {
			return true
		}
	}
	return false
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
