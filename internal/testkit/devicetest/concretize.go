package devicetest

import "psafe/host/bound"

type concretizeCase struct {
	bound.Concretize
	s, x  ends
	c     []float64
	noHi  bool // S.Hi is nil
	bare  bool // no constants
	outer int  // neurons that S is said to be a sum over
}

func drawConcretize(g *gen) opCase {
	c := &concretizeCase{Concretize: bound.Concretize{P: 1 + g.IntN(4), R: g.count(5), In: g.size(), NonNeg: g.oneIn(2)}}
	c.Inputs = 1 + g.IntN(c.P)
	c.outer = g.size()
	c.Round = g.p.ConcretizeRounding(c.In, c.outer)
	c.s, c.x, c.c = g.intervals(c.P*c.In*c.R), g.intervals(c.Inputs*c.In), g.numbers(c.P*c.R)
	if c.In == 1 && g.oneIn(3) {
		c.bare = true
		c.Round = bound.RowsRounding{}
		clear(c.c)
	}
	if g.oneIn(8) {
		g.unbound(&c.s)
	}
	if c.NonNeg {
		c.x.nonNegative()
		c.noHi = g.oneIn(2)
	}
	return c
}

func (c *concretizeCase) call(e *env) error {
	a := c.Concretize
	a.Bound = e.out("Bound", a.P*a.R)
	a.S.Lo = e.in("S.Lo", c.s.lo)
	if !c.noHi {
		a.S.Hi = e.in("S.Hi", c.s.hi)
	}
	a.C, a.X = e.in("C", c.c), e.pair("X", c.x)
	if e.err != nil {
		return nil
	}
	return e.dev.Do(a)
}

func (c *concretizeCase) check(k *checker, out []output) {
	for p := range c.P {
		for r := range c.R {
			c.checkOne(k, out[0], p, r)
		}
	}
	if c.NonNeg && !c.noHi && c.s.finite() {
		general := *c
		general.NonNeg = false
		k.sameAs(&general, out)
	}
}

// checkOne compares a bound with the exact minimum, less what underflow in S may
// have cost: (outer/2) eta a coefficient.
func (c *concretizeCase) checkOne(k *checker, out output, p, r int) {
	x, at := p%c.Inputs, p*c.R+r
	want, mag, size := exact(c.c[at]), newNum(), newNum()
	for j := range c.In {
		s, xj := (p*c.In+j)*c.R+r, x*c.In+j
		lo, _ := products(c.s.lo[s], c.s.hi[s], c.x.lo[xj], c.x.hi[xj])
		want, mag = add(want, lo), add(mag, absOf(lo))
		size = add(size, exact(c.x.mostAbs(xj)))
	}
	claim := want
	if !c.bare {
		claim = sub(want, mul(size, mul(exact(float64(c.outer)/2), exact(k.p.Eta()))))
	}
	k.lower("Bound", at, out.v[at], claim)
	magnitude := add(mag, absOf(exact(c.c[at])))
	if k.far(magnitude) || k.far(size) || !c.s.finite() {
		return
	}
	under := mul(mul(size, exact(k.p.Eta())), exact(float64(4*c.outer+20)))
	budget := add(add(mul(k.ulps(2*roundings(c.In)+12), magnitude), k.etas(20*(c.In+c.outer)+40)), under)
	k.near("Bound", at, out.v[at], want, budget)
}
