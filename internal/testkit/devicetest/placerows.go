package devicetest

import "psafe/host/bound"

type placeRowsCase struct {
	bound.PlaceRows
	w, b              ends
	taps, unit, other []float64 // other is nil for rows of one place
	noHi              bool
}

func drawPlaceRows(g *gen) opCase {
	c := &placeRowsCase{PlaceRows: bound.PlaceRows{
		PerBox: 1 + g.IntN(3), P: 1 + g.IntN(4), R: g.count(9), In: g.size(), Positions: 1 + g.IntN(5), K: 1 + g.IntN(9), Channels: 1 + g.IntN(4),
	}, noHi: g.oneIn(3)}
	boxes, units := (c.P+c.PerBox-1)/c.PerBox, c.Positions*c.Channels
	c.w, c.b = g.intervals(boxes*c.K*c.Channels), g.intervals(boxes*c.Channels)
	if g.oneIn(6) {
		for _, v := range []ends{c.w, c.b} { // sums of two overflow
			for i := range v.lo {
				v.lo[i] = g.sign() * g.p.Max()
				v.hi[i] = v.lo[i]
			}
		}
	}
	// Positions overlap, as those of windows do; now and then one names an input twice.
	for p := range c.Positions {
		for k, j := range g.Perm(max(c.In, c.K))[:c.K] {
			switch {
			case p > 0 && g.oneIn(3):
				j = int(c.taps[(p-1)*c.K+k])
			case j >= c.In || g.oneIn(5):
				j = -1
			case g.oneIn(20):
				j = 0
			}
			c.taps = append(c.taps, float64(j))
		}
	}
	n := c.R
	if c.Each = g.oneIn(2); c.Each {
		n *= c.P
	}
	for range n {
		c.unit = append(c.unit, float64(g.IntN(units)))
	}
	if g.oneIn(3) {
		return c
	}
	for i := range c.P * c.R {
		v := float64(g.IntN(units))
		if g.oneIn(6) {
			v = c.unit[c.unitAt(i)]
		}
		c.other = append(c.other, v)
	}
	c.Squares = g.oneIn(3)
	if c.Squares {
		c.w.nonNegative()
		c.b.nonNegative()
	}
	c.noHi = c.noHi || c.Squares
	return c
}

func (c *placeRowsCase) call(e *env) error {
	a := c.PlaceRows
	a.S.Lo, a.C.Lo = e.out("S.Lo", a.P*a.In*a.R), e.out("C.Lo", a.P*a.R)
	if !c.noHi {
		a.S.Hi, a.C.Hi = e.out("S.Hi", a.P*a.In*a.R), e.out("C.Hi", a.P*a.R)
	}
	a.W, a.B, a.Taps, a.Unit = e.pair("W", c.w), e.pair("B", c.b), e.in("Taps", c.taps), e.in("Unit", c.unit)
	if c.other != nil {
		a.Other = e.in("Other", c.other)
	}
	if e.err != nil {
		return nil
	}
	return e.dev.Do(a)
}

// terms are intervals of what is summed at an input, or as the constant.
type terms struct {
	lo, hi, size num
	n            int
}

func newTerms() *terms { return &terms{lo: newNum(), hi: newNum(), size: newNum()} }

// put adds entry i of v, or subtracts it.
func (t *terms) put(v ends, i int, squares, minus bool) {
	lo, hi := exact(v.lo[i]), exact(v.hi[i])
	if squares {
		lo, minus = hi, false
	}
	if minus {
		lo, hi = sub(newNum(), hi), sub(newNum(), lo)
	}
	t.lo, t.hi, t.size, t.n = add(t.lo, lo), add(t.hi, hi), add(t.size, most(absOf(lo), absOf(hi))), t.n+1
}

// check compares with the exact range of the coefficients of the difference, in which a
// weight that meets one input on both sides is no variable.
func (c *placeRowsCase) check(k *checker, out []output) {
	for i := range c.P * c.R {
		p, r := i/c.R, i%c.R
		coefficients, constant := c.row(p, r)
		for j, t := range coefficients {
			c.compare(k, out, 0, (p*c.In+j)*c.R+r, t)
		}
		c.compare(k, out, 1, i, constant)
	}
}

// unitAt is where the unit of row number i of all items stands.
func (c *placeRowsCase) unitAt(i int) int {
	if c.Each {
		return i
	}
	return i % c.R
}

// row is row r of item p.
func (c *placeRowsCase) row(p, r int) (coefficients []*terms, constant *terms) {
	for range c.In {
		coefficients = append(coefficients, newTerms())
	}
	constant = newTerms()
	box, u := p/c.PerBox, int(c.unit[c.unitAt(p*c.R+r)])
	v := -1
	if c.other != nil {
		v = int(c.other[p*c.R+r])
	}
	for k := range c.K {
		at := func(unit int) int { return int(c.taps[unit/c.Channels*c.K+k]) }
		weight := func(unit int) int { return (box*c.K+k)*c.Channels + unit%c.Channels }
		if v >= 0 && weight(u) == weight(v) && at(u) == at(v) {
			continue
		}
		if j := at(u); j >= 0 {
			coefficients[j].put(c.w, weight(u), c.Squares, false)
		}
		if v < 0 {
			continue
		}
		if j := at(v); j >= 0 {
			coefficients[j].put(c.w, weight(v), c.Squares, true)
		}
	}
	bias := func(unit int) int { return box*c.Channels + unit%c.Channels }
	if v < 0 || bias(u) != bias(v) {
		constant.put(c.b, bias(u), c.Squares, false)
		if v >= 0 {
			constant.put(c.b, bias(v), c.Squares, true)
		}
	}
	return coefficients, constant
}

// compare demands ends on the sound side, and exact ones where nothing met.
func (c *placeRowsCase) compare(k *checker, out []output, of, i int, t *terms) {
	budget := newNum()
	if t.n > 1 {
		budget = add(mul(k.ulps(4*t.n), t.size), k.etas(4*t.n))
	}
	lists := []output{out[of]}
	if !c.noHi {
		lists = append(lists, out[2+of])
	}
	for n, o := range lists {
		got, want := o.v[i], t.lo
		if n == 1 {
			want = t.hi
		}
		if n == 1 || c.Squares {
			k.upper(o.name, i, got, want)
		} else {
			k.lower(o.name, i, got, want)
		}
		if !k.far(t.size) || t.n <= 1 {
			k.near(o.name, i, got, want, budget)
		}
	}
}
