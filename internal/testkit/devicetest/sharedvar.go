package devicetest

import (
	"math"

	"psafe/host/bound"
)

type sharedVarCase struct {
	bound.SharedVar
	sharedCase
	varIn, v, vb []float64
}

func drawSharedVar(g *gen) opCase {
	c := &sharedVarCase{sharedCase: drawShared(g)}
	s := &c.sharedCase
	c.SharedVar = bound.SharedVar{P: s.items, R: s.rows, Cols: s.rows, In: s.in, Inputs: s.inputs, Positions: s.positions,
		K: s.k, Channels: s.channels, Round: g.p.SharedRounding(s.positions, s.k, s.channels)}
	if g.flavour == tiny && g.oneIn(2) {
		g.flavour = huge // variances that make what underflows in squares show
	}
	c.v, c.vb = g.magnitudes(s.k*s.channels), g.magnitudes(s.channels)
	if s.rows%2 == 0 && g.oneIn(2) {
		c.Cols = s.rows / 2
	}
	if !g.oneIn(3) {
		c.varIn = g.magnitudes(s.items * c.Cols)
	}
	if s.faint {
		c.varIn = nil
		for i := range c.v {
			c.v[i] = g.p.Nearest(0.2)
		}
	}
	if g.oneIn(6) {
		s.spoil(g)
	} else if g.oneIn(10) {
		list := [][]float64{c.v, c.vb}[g.IntN(2)]
		list[g.IntN(len(list))] = math.Inf(1)
	}
	return c
}

func (c *sharedVarCase) call(e *env) error {
	a := c.SharedVar
	a.Var = e.out("Var", a.P*a.R)
	a.G, a.A, a.V, a.VB, a.MaxSq = e.pair("G", c.g), e.in("A", c.a), e.in("V", c.v), e.in("VB", c.vb), e.in("MaxSq", c.maxSq)
	if c.varIn != nil {
		a.VarIn = e.in("VarIn", c.varIn)
	}
	if e.err != nil {
		return nil
	}
	return e.dev.Do(a)
}

func (c *sharedVarCase) check(k *checker, out []output) {
	for item := range c.P {
		for r := range c.R {
			c.checkRow(k, out[0], item, r)
		}
	}
}

// checkRow compares with the exact variance over the exact ranges of the factors, whatever
// rounding has hidden of them.
func (c *sharedVarCase) checkRow(k *checker, out output, item, r int) {
	at := item*c.R + r
	if !c.finite(item, r) || max(0, most64(c.v), most64(c.vb)) > k.p.Max() {
		k.unknown("Var", at, out.v[at])
		return
	}
	want := newNum()
	if c.varIn != nil {
		want = exact(c.varIn[item*c.Cols+r%c.Cols])
	}
	loose, ok := want, true
	square := func(v float64, x, width num) {
		want = add(want, mul(exact(v), mul(x, x)))
		x = add(absOf(x), width)
		loose = add(loose, mul(exact(v), add(mul(x, x), k.etas(4))))
		ok = ok && !k.far(mul(x, x))
	}
	for o := range c.Channels {
		signed, mag := c.sums(item, o, r)
		ok = ok && !k.far(mag)
		for t := range c.K {
			i := ((item*c.K+t)*c.Channels+o)*c.R + r
			square(c.v[t*c.Channels+o], most(absOf(c.least[i]), absOf(c.most[i])), c.width(k, item, mag))
		}
		square(c.vb[o], signed, add(mul(k.ulps(2*roundings(c.Positions)), mag), k.etas(4)))
	}
	k.upper("Var", at, out.v[at], want)
	if ok && !k.far(loose) {
		budget := add(sub(loose, want), mul(k.ulps(2*roundings(c.K)+2*roundings(c.Channels)+40), loose))
		k.near("Var", at, out.v[at], want, add(budget, k.etas(6*(c.K+1)*c.Channels+60)))
	}
}

// most64 is the largest of a list of numbers that are not negative.
func most64(v []float64) (m float64) {
	for _, x := range v {
		m = max(m, x)
	}
	return m
}
