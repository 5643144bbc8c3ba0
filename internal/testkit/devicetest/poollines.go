package devicetest

import (
	"math"

	"psafe/host/bound"
)

type poolLinesCase struct {
	bound.PoolLines
	pre           ends
	mag, radius   []float64
	members, slot []float64
	lead          []float64
}

func drawPoolLines(g *gen) opCase {
	c := &poolLinesCase{PoolLines: bound.PoolLines{
		P: 1 + g.IntN(3), N: g.size(), U: g.count(12), Window: 1 + g.IntN(5), Greatest: g.oneIn(2), Charge: g.p.RelaxCharge(g.size()),
	}}
	n := c.P * c.N
	c.pre, c.mag, c.members = g.poolEnds(n), g.magnitudes(n), g.members(c.U, c.Window, c.N)
	if g.oneIn(2) {
		c.radius = g.magnitudes(n)
	}
	if g.oneIn(8) {
		c.mag[g.IntN(n)] = math.Inf(1)
	}
	leads := g.oneIn(2)
	for i := range c.P * c.U {
		window := c.members[i%c.U*c.Window:][:c.Window]
		star := starOf(g.p, c.pre, i/c.U*c.N, window)
		if s := g.IntN(c.Window); g.oneIn(4) && window[s] >= 0 {
			star = s // any member may be it
		}
		c.slot = append(c.slot, float64(star))
		for s := range window {
			if leads {
				c.lead = append(c.lead, g.lead(c.pre, i/c.U*c.N, window, star, s))
			}
		}
	}
	return c
}

// lead draws a lower bound of y_* - y_s: mostly between what the intervals allow and what they
// make certain.
func (g *gen) lead(pre ends, item int, window []float64, star, s int) float64 {
	switch g.IntN(12) {
	case 0:
		return math.Inf(-1)
	case 1:
		return g.number()
	case 2:
		return []float64{math.Inf(1), 0, math.Copysign(0, -1)}[g.IntN(3)]
	}
	if window[star] < 0 || window[s] < 0 {
		return g.number()
	}
	a, b := item+int(window[star]), item+int(window[s])
	least, most := pre.lo[a]-pre.hi[b], pre.hi[a]-pre.lo[b]
	if d := least + g.Float64()*(most-least); math.Abs(d) <= g.p.Max() {
		return g.p.Nearest(d)
	}
	return math.Inf(-1)
}

func (c *poolLinesCase) call(e *env) error {
	a, n := c.PoolLines, c.P*c.U
	a.Lower, a.Upper = bound.Line{A: e.out("Lower.A", n), B: e.out("Lower.B", n)}, bound.Line{A: e.out("Upper.A", n), B: e.out("Upper.B", n)}
	a.Err, a.V, a.Above, a.MagOut = e.out("Err", n), e.outPair("V", n), e.outPair("Above", n), e.out("MagOut", n)
	a.Star = e.outPair("Star", n)
	a.Pre, a.Mag, a.Members, a.Slot = e.pair("Pre", c.pre), e.in("Mag", c.mag), e.in("Members", c.members), e.in("Slot", c.slot)
	if c.radius != nil {
		a.RadiusOut, a.Radius = e.out("RadiusOut", n), e.in("Radius", c.radius)
	}
	if c.lead != nil {
		a.Lead = e.in("Lead", c.lead)
	}
	if e.err != nil {
		return nil
	}
	return e.dev.Do(a)
}

// poolUnit is a unit of a case and what came out for it.
type poolUnit struct {
	index                        int
	known                        bool    // there is a star
	l, u                         float64 // the star's interval
	others                       []poolOther
	s, t                         float64
	err, vLo, vHi, aboveLo, mag  float64
	magIn, radius, greatest, c   float64
	starLo, starHi               float64
	lowerA, lowerB, up, radiusIn float64
}

// poolOther is a member beside the star: its upper end, and how far it may be above the star.
type poolOther struct{ hi, over float64 }

func (c *poolLinesCase) check(k *checker, out []output) {
	for i := range c.P * c.U {
		u := c.unit(i)
		for o, to := range []*float64{&u.lowerA, &u.lowerB, &u.s, &u.t, &u.err, &u.vLo, &u.vHi, &u.aboveLo, &u.up, &u.mag, &u.starLo, &u.starHi, &u.radius} {
			if o < len(out) {
				*to = out[o].v[i]
			}
		}
		c.checkUnit(k, &u)
		c.checkUpper(k, &u)
		c.checkTight(k, &u)
	}
}

// unit gathers what goes into unit i.
func (c *poolLinesCase) unit(i int) poolUnit {
	window, item, star := c.members[i%c.U*c.Window:][:c.Window], i/c.U*c.N, int(c.slot[i])
	u := poolUnit{index: i, l: math.Inf(-1), u: math.Inf(1), magIn: math.Inf(1)}
	if u.known = window[star] >= 0; u.known {
		at := item + int(window[star])
		u.l, u.u, u.magIn = c.pre.lo[at], c.pre.hi[at], c.mag[at]
	}
	u.c, u.greatest = u.l, u.l
	for s, j := range window {
		if j < 0 {
			continue
		}
		at := item + int(j)
		if c.radius != nil {
			u.radiusIn = max(u.radiusIn, c.radius[at])
		}
		if s == star {
			continue
		}
		lo, hi := c.pre.lo[at], c.pre.hi[at]
		o := poolOther{hi, math.Inf(1)}
		if c.lead != nil && math.Abs(c.lead[i*c.Window+s]) <= math.MaxFloat64 {
			o.over = -c.lead[i*c.Window+s]
		}
		u.c, u.greatest = max(u.c, hi), max(u.greatest, lo)
		u.others = append(u.others, o)
	}
	return u
}

// over returns how far the pool may be above the star, for all that is known.
func (u *poolUnit) delta(c *poolLinesCase) float64 {
	if c.lead == nil {
		return math.Inf(1)
	}
	d := 0.0
	for _, o := range u.others {
		d = max(d, o.over)
	}
	return d
}

// checkUnit: everything but the upper line.
func (c *poolLinesCase) checkUnit(k *checker, u *poolUnit) {
	i := u.index
	if u.lowerA != 1 || u.lowerB != 0 {
		k.failf("lower line of unit %d is %v y + %v, not that of y", i, u.lowerA, u.lowerB)
	}
	low := u.l
	if c.Greatest {
		low = u.greatest
	}
	if u.vLo != low {
		k.failf("V.Lo[%d] is %x, want %x", i, u.vLo, low)
	}
	if u.starLo != u.l || u.starHi != u.u {
		k.failf("Star[%d] is [%x, %x], the star is in [%x, %x]", i, u.starLo, u.starHi, u.l, u.u)
	}
	most, delta := max(u.u, u.c), u.delta(c)
	want := exact(most)
	if reach := add(exact(u.u), exact(delta)); reach.Cmp(want) < 0 {
		want = reach
	}
	k.upper("V.Hi", i, u.vHi, want)
	if !k.far(absOf(want)) {
		k.near("V.Hi", i, u.vHi, want, add(mul(k.ulps(4), most3(u.u, u.c, min(delta, most))), k.etas(4)))
	}
	if b, m := u.t, u.magIn; math.IsInf(b, 0) || math.IsInf(m, 0) {
		if !math.IsInf(u.mag, 1) {
			k.failf("Mag[%d] is %v for intercept %x, magnitude %x", i, u.mag, b, m)
		}
	} else {
		want := add(absOf(exact(b)), exact(m))
		k.upper("Mag", i, u.mag, want)
		if !k.far(want) {
			k.near("Mag", i, u.mag, want, add(mul(k.ulps(4), want), k.etas(4)))
		}
	}
	if c.radius != nil && u.radius != u.radiusIn {
		k.failf("Radius[%d] is %v, want %v", i, u.radius, u.radiusIn)
	}
	if b, m := u.t, u.magIn; math.IsInf(b, 0) || math.IsInf(m, 0) {
		if u.err <= k.p.Max() {
			k.failf("Err[%d] is %x for intercept %x, magnitude %x", i, u.err, b, m)
		}
	} else {
		want := add(mul(exact(c.Charge.G1), absOf(exact(b))), mul(exact(c.Charge.G2), exact(m)))
		k.upper("Err", i, u.err, want)
		if !k.far(exact(m)) && !k.far(absOf(exact(b))) {
			k.near("Err", i, u.err, want, add(mul(k.ulps(20), want), k.etas(20)))
		}
	}
}

// most3 is the greatest magnitude of three.
func most3(a, b, c float64) num { return most(absOf(exact(a)), absOf(exact(b)), absOf(exact(c))) }

// checkUpper: the line is above the pool wherever the star and the others may be, and Above
// holds its values: both sides are lines between the star's ends and where a member's upper
// end meets what is known of the difference.
func (c *poolLinesCase) checkUpper(k *checker, u *poolUnit) {
	i := u.index
	finite := !math.IsInf(u.l, 0) && !math.IsInf(u.u, 0)
	if !(u.s >= 0 && u.s <= 1) || u.t != u.t || math.IsInf(u.t, -1) || u.s > 0 && u.s < 0x1p-30 || math.IsInf(u.t, 1) && u.s != 0 {
		k.failf("upper line of unit %d is %x y + %x", i, u.s, u.t)
		return
	}
	if !finite && !math.IsInf(u.t, 1) {
		k.failf("upper line of unit %d is %x y + %x round a star in [%v, %v]", i, u.s, u.t, u.l, u.u)
	}
	if u.up != u.vHi || !(u.aboveLo <= u.up) {
		k.failf("Above[%d] is [%x, %x], V.Hi is %x", i, u.aboveLo, u.up, u.vHi)
	}
	if math.IsInf(u.t, 1) {
		return
	}
	at := []num{exact(u.l), exact(u.u)}
	for _, o := range u.others {
		if y := sub(exact(o.hi), exact(o.over)); y.Cmp(at[0]) > 0 && y.Cmp(at[1]) < 0 {
			at = append(at, y)
		}
	}
	for _, y := range at {
		pool := y
		for _, o := range u.others {
			pool = most(pool, least(exact(o.hi), add(y, exact(o.over))))
		}
		if line := add(mul(exact(u.s), y), exact(u.t)); line.Cmp(pool) < 0 {
			k.failf("upper line %x y + %x of unit %d, star in [%x, %x], others %x, is below the pool at y = %s by %s",
				u.s, u.t, i, u.l, u.u, u.others, text(y), text(sub(pool, line)))
		}
	}
	k.lower("Above.Lo", i, u.aboveLo, add(mul(exact(u.s), exact(u.l)), exact(u.t)))
}

// checkTight: the line is no higher at the middle than both the chord and the difference, up to
// rounding, and is the star itself where nothing else reaches it.
func (c *poolLinesCase) checkTight(k *checker, u *poolUnit) {
	if !u.known || math.IsInf(u.l, 0) || math.IsInf(u.u, 0) {
		return
	}
	if u.c == u.l {
		if u.s != 1 || u.t != 0 || u.aboveLo != u.l {
			k.failf("unit %d is its star, but has upper line %x y + %x, and Above.Lo %x for %x", u.index, u.s, u.t, u.aboveLo, u.l)
		}
		return
	}
	delta := u.delta(c)
	size := max(math.Abs(u.l), math.Abs(u.u))
	half := exact(0.5)
	middle := mul(half, add(exact(u.l), exact(u.u)))
	chord := mul(half, add(exact(u.c), exact(max(u.c, u.u))))
	want := least(chord, add(middle, exact(delta)))
	if delta < size*0x1p20 {
		size = max(size, delta)
	}
	if !math.IsInf(u.c, 0) {
		size = max(size, math.Abs(u.c))
	} else if math.IsInf(delta, 0) {
		return
	}
	if !(size < 0x1p60) || size < 0x1p-60 {
		return
	}
	rounding := mul(exact(size), k.ulps(12))
	if gap := max(u.u-u.c, 0); gap < 0x1p-20*(u.u-u.l) || gap > (1-0x1p-20)*(u.u-u.l) {
		rounding = add(rounding, exact(0x1p-19*(u.u-u.l))) // the slope was below the least, or above 1
	}
	line := add(mul(exact(u.s), middle), exact(u.t))
	if over := sub(line, want); over.Cmp(rounding) > 0 {
		k.failf("upper line %x y + %x of unit %d is above the better one at the middle of [%x, %x] by %s, allowed %s (c %x, delta %x)",
			u.s, u.t, u.index, u.l, u.u, text(over), text(rounding), u.c, delta)
	}
	if above := add(mul(exact(u.s), exact(u.l)), exact(u.t)); !k.far(absOf(above)) {
		k.near("Above.Lo", u.index, u.aboveLo, least(above, exact(u.vHi)), rounding)
	}
}
