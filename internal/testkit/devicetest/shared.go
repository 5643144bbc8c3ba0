package devicetest

import (
	"math"
	"math/big"

	"psafe/host/bound"
)

// sharedCase is a layer with shared weights and rows over it: what SharedVar and ShareBox have in
// common.
type sharedCase struct {
	items, inputs, rows, in, positions, k, channels int

	a, taps, maxSq []float64
	z              ends
	g              ends // of factors, as BackSubstitute may give them
	// By factor: its exact range over z, and the sum of magnitudes.
	least, most, mag []num
	// faint says that there are many factors, all so small that squares and products underflow, dim
	// that the terms of each do.
	faint, dim bool
}

func drawShared(g *gen) sharedCase {
	c := sharedCase{items: 1 + g.IntN(3), rows: g.count(4), in: 1 + g.IntN(5), positions: 1 + g.IntN(3), k: 1 + g.IntN(3), channels: 1 + g.IntN(3)}
	*[]*int{&c.positions, &c.positions, &c.k, &c.channels}[g.IntN(4)] = g.size()
	c.inputs = 1 + g.IntN(c.items)
	switch g.IntN(16) {
	case 0:
		c.faint, c.positions, c.k, c.channels = true, 1, 65, 3
	case 1:
		c.dim, c.positions, c.k, c.channels = true, 65, 1, 1
	}
	c.a = g.numbers(c.items * c.positions * c.channels * c.rows)
	if flavour := g.flavour; flavour == tiny && g.oneIn(2) {
		g.flavour = ordinary
		c.z = g.intervals(c.inputs * c.in)
		g.flavour = flavour
	} else {
		c.z = g.intervals(c.inputs * c.in)
	}
	for range c.positions * c.k {
		c.taps = append(c.taps, float64(g.IntN(c.in+1)-1))
	}
	switch {
	case c.faint:
		c.even(g.p.Nearest(1.2 * math.Ldexp(1, math.Ilogb(g.p.Eta())/2-1)))
	case c.dim:
		c.even(3 * g.p.Eta())
	case g.oneIn(2):
		c.cancel(g)
	}
	for i := range c.z.lo {
		m := exact(c.z.mostAbs(i))
		c.maxSq = append(c.maxSq, ceil(g.p, mul(m, m)))
	}
	if g.large {
		c.g = g.intervals(c.items * c.k * c.channels * c.rows)
		return c
	}
	c.factors(g.p)
	return c
}

// cancel makes terms of factors cancel, up to their last bits: all inputs are nearly one, and
// coefficients come with their negatives.
func (c *sharedCase) cancel(g *gen) {
	for i := range c.z.lo {
		if lo := c.z.lo[0]; g.oneIn(2) {
			c.z.lo[i], c.z.hi[i] = lo, lo
		} else {
			c.z.lo[i], c.z.hi[i] = c.z.lo[0], c.z.hi[0]
		}
	}
	step := c.channels * c.rows
	for i := range c.a {
		if q := i / step % c.positions; q%2 == 1 && g.IntN(16) > 0 {
			c.a[i] = -c.a[i-step]
		}
	}
}

// even makes all coefficients one number, and all inputs [-1,1].
func (c *sharedCase) even(a float64) {
	for i := range c.a {
		c.a[i] = a
	}
	for i := range c.z.lo {
		c.z.lo[i], c.z.hi[i] = -1, 1
	}
}

// factors finds the exact range of every factor and what BackSubstitute may give for it: as near
// to 0 as rounding and underflow can take it.
func (c *sharedCase) factors(p bound.Precision) {
	err := func(mag num) num {
		relative := exact(float64(roundings(c.positions)-1) * p.Unit())
		return add(mul(relative, mag), mul(exact(float64(c.positions)/2), exact(p.Eta())))
	}
	for i := range c.items * c.k * c.channels * c.rows {
		r, o, k, item := i%c.rows, i/c.rows%c.channels, i/c.rows/c.channels%c.k, i/c.rows/c.channels/c.k
		least, most, mag := newNum(), newNum(), newNum()
		for q := range c.positions {
			j := int(c.taps[q*c.k+k])
			if j < 0 {
				continue
			}
			at, a := item%c.inputs*c.in+j, c.a[((item*c.positions+q)*c.channels+o)*c.rows+r]
			lo, hi := products(a, a, c.z.lo[at], c.z.hi[at])
			least, most = add(least, lo), add(most, hi)
			mag = add(mag, mul(absOf(exact(a)), exact(c.z.mostAbs(at))))
		}
		c.least, c.most, c.mag = append(c.least, least), append(c.most, most), append(c.mag, mag)
		c.g.add(hidden(p, least, most, err(mag)))
	}
}

// hidden is a computed interval for [lo, hi] with ends as near to 0 as ends that are wrong by err
// can be.
func hidden(p bound.Precision, lo, hi, err num) (float64, float64) {
	inLo, inHi := floor(p, add(lo, err)), ceil(p, sub(hi, err))
	if inLo <= inHi {
		return inLo, inHi
	}
	v := max(inHi, min(inLo, 0)) // within err of both
	if v >= inHi && v <= inLo {
		return v, v
	}
	return nearest(p, lo), nearest(p, hi)
}

// floor and ceil are the neighbours of x in the format, infinite where there is none; nearest is
// the nearest.
func floor(p bound.Precision, x num) float64 {
	v, accuracy := x.Float64()
	if accuracy == big.Above {
		v = math.Nextafter(v, math.Inf(-1))
	}
	if v > p.Max() {
		return math.Inf(1)
	}
	return p.RoundLo(v)
}

func ceil(p bound.Precision, x num) float64 { return -floor(p, newNum().Neg(x)) }

func nearest(p bound.Precision, x num) float64 {
	v, _ := x.Float64()
	return p.Nearest(v)
}

// sums are the exact sums of the coefficients of channel o in row r, and of their magnitudes.
func (c *sharedCase) sums(item, o, r int) (signed, mag num) {
	signed, mag = newNum(), newNum()
	for q := range c.positions {
		a := exact(c.a[((item*c.positions+q)*c.channels+o)*c.rows+r])
		signed, mag = add(signed, a), add(mag, absOf(a))
	}
	return signed, mag
}

// width returns what a factor may be widened by, at most, for tests of tightness: 1.25 of what
// rounding can do with a sum of magnitudes times the greatest input, which has a root in it.
func (c *sharedCase) width(k *checker, item int, mag num) num {
	greatest := exact(0x1p-48)
	for j := range c.in {
		greatest = most(greatest, exact(c.z.mostAbs(item%c.inputs*c.in+j)))
	}
	share := add(mul(mul(k.ulps(roundings(c.positions)), exact(1.25)), mag), k.etas(4))
	return add(mul(share, greatest), k.etas(5*c.positions+40))
}

// finite reports whether nothing that row r of an item depends on is infinite; lists are by row.
func (c *sharedCase) finite(item, r int) bool {
	bad := false
	for i, a := range c.a {
		bad = bad || math.IsInf(a, 0) && i%c.rows == r && i/(c.rows*c.channels*c.positions) == item
	}
	for i, lo := range c.g.lo {
		bad = bad || (math.IsInf(lo, 0) || math.IsInf(c.g.hi[i], 0)) && i%c.rows == r && i/(c.rows*c.channels*c.k) == item
	}
	for _, m := range c.maxSq[item%c.inputs*c.in : (item%c.inputs+1)*c.in] {
		bad = bad || math.IsInf(m, 1)
	}
	return !bad
}

// spoil makes a number infinite that a result depends on.
func (c *sharedCase) spoil(g *gen) {
	i := g.IntN(len(c.g.lo))
	switch g.IntN(4) {
	case 0:
		c.a[g.IntN(len(c.a))] = math.Inf(1 - 2*g.IntN(2))
	case 1:
		c.maxSq[g.IntN(len(c.maxSq))] = math.Inf(1)
	case 2:
		c.g.lo[i] = math.Inf(-1)
	case 3:
		c.g.hi[i] = math.Inf(1)
	}
}
