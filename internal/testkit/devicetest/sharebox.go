package devicetest

import (
	"math"

	"psafe/host/bound"
)

type shareBoxCase struct {
	bound.ShareBox
	sharedCase
	cIn          []float64
	weight, bias ends
}

func drawShareBox(g *gen) opCase {
	c := &shareBoxCase{sharedCase: drawShared(g)}
	s := &c.sharedCase
	c.ShareBox = bound.ShareBox{P: s.items, PerBox: 1 + g.IntN(3), R: s.rows, In: s.in, Inputs: s.inputs, Positions: s.positions,
		K: s.k, Channels: s.channels, Round: g.p.SharedRounding(s.positions, s.k, s.channels)}
	boxes := (c.P + c.PerBox - 1) / c.PerBox
	if g.flavour == tiny && g.oneIn(2) {
		g.flavour = ordinary // weights that make what underflows in factors show
	}
	c.cIn, c.weight, c.bias = g.numbers(s.items*s.rows), g.intervals(boxes*s.k*s.channels), g.intervals(boxes*s.channels)
	if s.faint || s.dim {
		h := g.p.Nearest(0.45 * (g.p.Eta() / c.a[0])) // times a factor: less than half of eta
		if s.dim {
			h = 64
		}
		for i := range c.weight.lo {
			c.weight.lo[i], c.weight.hi[i] = -h, h
		}
		clear(c.cIn)
	}
	// Weight boxes are smaller than a quarter of the largest number (model.go).
	for _, e := range []ends{c.weight, c.bias} {
		for i := range e.lo {
			quarter := g.p.Nearest(g.p.Max() / 4)
			e.lo[i], e.hi[i] = min(max(e.lo[i], -quarter), quarter), min(max(e.hi[i], -quarter), quarter)
		}
	}
	if g.oneIn(6) {
		s.spoil(g)
	}
	return c
}

func (c *shareBoxCase) call(e *env) error {
	a := c.ShareBox
	a.W, a.C = e.out("W", a.P*a.K*a.Channels*a.R), e.out("C", a.P*a.R)
	a.CIn, a.G, a.A, a.MaxSq = e.in("CIn", c.cIn), e.pair("G", c.g), e.in("A", c.a), e.in("MaxSq", c.maxSq)
	a.Weight, a.Bias = e.pair("Weight", c.weight), e.pair("Bias", c.bias)
	if e.err != nil {
		return nil
	}
	return e.dev.Do(a)
}

func (c *shareBoxCase) check(k *checker, out []output) {
	for i, w := range out[0].v {
		at := i/c.R%(c.K*c.Channels) + i/c.R/(c.K*c.Channels)/c.PerBox*c.K*c.Channels
		if !(w >= c.weight.lo[at] && w <= c.weight.hi[at]) {
			k.failf("W[%d] is %x, outside its interval [%x, %x]", i, w, c.weight.lo[at], c.weight.hi[at])
			return
		}
	}
	for item := range c.P {
		for r := range c.R {
			c.checkRow(k, out, item, r)
		}
	}
}

// checkRow: for all weights of the box, and all factors in their exact ranges, the row is no less
// than with W and C.
func (c *shareBoxCase) checkRow(k *checker, out []output, item, r int) {
	at := item*c.R + r
	if !c.finite(item, r) {
		if got := out[1].v[at]; !math.IsInf(got, -1) {
			k.failf("C[%d] is %v although a factor is unknown", at, got)
		}
		return
	}
	want := exact(c.cIn[at])
	loose, size, tame := want, absOf(want), true
	sum := func(t ends, i int, w, lo, hi, width num) {
		least := func(lo, hi num) num {
			from, to := sub(exact(t.lo[i]), w), sub(exact(t.hi[i]), w)
			return least(mul(from, lo), mul(from, hi), mul(to, lo), mul(to, hi))
		}
		want, loose = add(want, least(lo, hi)), add(loose, least(sub(lo, width), add(hi, width)))
		size = add(size, mul(exact(t.mostAbs(i)), add(most(absOf(lo), absOf(hi)), width)))
	}
	for o := range c.Channels {
		signed, mag := c.sums(item, o, r)
		width := c.width(k, item, mag)
		tame = tame && !k.far(add(mag, width))
		for t := range c.K {
			i, b := ((item*c.K+t)*c.Channels+o)*c.R+r, (item/c.PerBox*c.K+t)*c.Channels+o
			sum(c.weight, b, exact(out[0].v[i]), c.least[i], c.most[i], width)
			if c.accurate(k, b, i) {
				c.checkChord(k, out[0].v[i], b, i, width)
			}
		}
		sum(c.bias, item/c.PerBox*c.Channels+o, newNum(), signed, signed, add(mul(k.ulps(2*roundings(c.Positions)), mag), k.etas(4)))
	}
	k.lower("C", at, out[1].v[at], want)
	if tame && !k.far(size) {
		budget := add(sub(want, loose), mul(k.ulps(2*roundings(c.K)+2*roundings(c.Channels)+6*c.Channels+40), size))
		k.near("C", at, out[1].v[at], want, add(budget, k.etas(10*(c.K+1)*c.Channels+60)))
	}
}

// accurate reports whether factor i and weight b are neither large nor small, so that a reciprocal
// is accurate.
func (c *shareBoxCase) accurate(k *checker, b, i int) bool {
	d := sub(c.most[i], c.least[i])
	return !k.far(mul(d, exact(c.weight.mostAbs(b)))) && d.Cmp(exact(0x1p-60)) > 0 && d.Cmp(exact(0x1p60)) < 0 && c.weight.mostAbs(b) < 0x1p60
}

// checkChord: the weight is where the chord of the factor's range is, up to the range's width.
func (c *shareBoxCase) checkChord(k *checker, w float64, b, i int, width num) {
	l, h := exact(c.weight.lo[b]), exact(c.weight.hi[b])
	lo, hi := c.least[i], c.most[i]
	if lo.Sign() >= 0 || hi.Sign() <= 0 {
		return // up to the width, anything between an end and the chord
	}
	off := absOf(sub(mul(sub(exact(w), l), sub(hi, lo)), mul(sub(h, l), newNum().Neg(lo))))
	allowed := add(mul(mul(k.ulps(16), exact(2*c.weight.mostAbs(b))), sub(hi, lo)), mul(exact(6), mul(sub(h, l), width)))
	if off.Cmp(add(allowed, k.etas(1<<20))) > 0 {
		k.failf("W[%d] is %x in [%x, %x], for factors in [%s, %s]: not on the chord", i, w, c.weight.lo[b], c.weight.hi[b], text(lo), text(hi))
	}
}
