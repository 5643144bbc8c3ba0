package devicetest

import (
	"math"
	"math/big"

	"psafe/host/bound"
)

type squareRowsCase struct {
	bound.SquareRows
	a []float64
}

func drawSquareRows(g *gen) opCase {
	c := &squareRowsCase{SquareRows: bound.SquareRows{N: g.length()}}
	c.a = g.numbers(c.N)
	return c
}

func (c *squareRowsCase) call(e *env) error {
	a := c.SquareRows
	a.Square, a.A = e.out("Square", a.N), e.in("A", c.a)
	if e.err != nil {
		return nil
	}
	return e.dev.SquareRows(a)
}

func (c *squareRowsCase) check(k *checker, out []output) {
	for i, a := range c.a {
		want := mul(exact(a), exact(a))
		k.upper("Square", i, out[0].v[i], want)
		if a == 0 && out[0].v[i] != 0 {
			k.failf("Square[%d] of 0 is %x", i, out[0].v[i])
		}
		if !k.far(want) {
			k.near("Square", i, out[0].v[i], want, add(mul(k.ulps(6), want), k.etas(4)))
		}
	}
}

// rootDown is below sqrt(x) by less than 2^-490 of it.
func rootDown(x num) num {
	if x.Sign() == 0 {
		return newNum()
	}
	r := newNum().SetPrec(500).Sqrt(x)
	return newNum().Set(r.Sub(r, newNum().SetMantExp(r, -498)))
}

// sqrt2OverPi is sqrt(2/pi), cut after 40 digits and to 120 bits.
var sqrt2OverPi, _, _ = big.ParseFloat("0.7978845608028653558798921198687637369517", 10, 120, big.ToZero)

type noiseRowsCase struct {
	bound.NoiseRows
	meanIn, varIn, s, c, radius, maxSq []float64
	noIn                               bool
	outer                              int // neurons that S is said to be a sum over
}

func drawNoiseRows(g *gen) opCase {
	c := &noiseRowsCase{NoiseRows: bound.NoiseRows{P: 1 + g.IntN(4), Cols: g.count(5), In: g.size()}, noIn: g.oneIn(3)}
	c.R = c.Cols * (1 + g.IntN(2))
	c.Inputs = 1 + g.IntN(c.P)
	c.outer = g.size()
	c.Round = g.p.NoiseRounding(c.In, c.outer)
	c.s, c.c = g.magnitudes(c.P*c.In*c.R), g.magnitudes(c.P*c.R)
	c.radius, c.maxSq = g.magnitudes(c.Inputs*c.In), g.magnitudes(c.Inputs*c.In)
	if !c.noIn {
		c.meanIn, c.varIn = g.magnitudes(c.P*c.Cols), g.magnitudes(c.P*c.Cols)
	}
	if g.oneIn(8) {
		list := [][]float64{c.s, c.c, c.radius, c.maxSq}[g.IntN(4)]
		list[g.IntN(len(list))] = math.Inf(1)
	}
	return c
}

func (c *noiseRowsCase) call(e *env) error {
	a := c.NoiseRows
	a.Mean, a.Var = e.out("Mean", a.P*a.R), e.out("Var", a.P*a.R)
	a.S, a.C, a.Radius, a.MaxSq = e.in("S", c.s), e.in("C", c.c), e.in("Radius", c.radius), e.in("MaxSq", c.maxSq)
	if !c.noIn {
		a.MeanIn, a.VarIn = e.in("MeanIn", c.meanIn), e.in("VarIn", c.varIn)
	}
	if e.err != nil {
		return nil
	}
	return e.dev.NoiseRows(a)
}

func (c *noiseRowsCase) check(k *checker, out []output) {
	for p := range c.P {
		for r := range c.R {
			c.checkOne(k, out, p, r)
		}
	}
}

// checkOne compares with the exact sums for coefficients as large as rounding in
// BackSubstitute, over outer neurons, can hide.
func (c *noiseRowsCase) checkOne(k *checker, out []output, p, r int) {
	x, at := p%c.Inputs*c.In, p*c.R+r
	mean, variance, plain := newNum(), newNum(), newNum()
	if !c.noIn {
		mean, variance = exact(c.meanIn[p*c.Cols+r%c.Cols]), exact(c.varIn[p*c.Cols+r%c.Cols])
	}
	meanIn := mean
	hidden := add(exact(1), k.ulps(roundings(c.outer)-1))
	lost := mul(exact(float64(c.outer)/2), exact(k.p.Eta()))
	radii := newNum()
	for j := range c.In {
		s, radius, maxSq := c.s[(p*c.In+j)*c.R+r], c.radius[x+j], c.maxSq[x+j]
		if bad := s + radius + maxSq; math.IsNaN(bad) || math.IsInf(s, 1) || math.IsInf(radius, 1) || math.IsInf(maxSq, 1) {
			c.unknown(k, out, at)
			return
		}
		most := add(mul(exact(s), hidden), lost)
		plain = add(plain, mul(rootDown(exact(s)), exact(radius)))
		mean = add(mean, mul(sqrt2OverPi, mul(rootDown(most), exact(radius))))
		variance = add(variance, mul(most, exact(maxSq)))
		radii = add(radii, exact(radius))
	}
	if bad := c.c[at]; math.IsNaN(bad) || math.IsInf(bad, 1) {
		k.unknown("Var", at, out[1].v[at])
		return
	}
	variance = add(variance, mul(exact(c.c[at]), hidden))
	k.upper("Mean", at, out[0].v[at], mean)
	k.upper("Var", at, out[1].v[at], variance)
	if c.tame(p, r) && !k.far(mean) && !k.far(variance) {
		steps := 2*roundings(c.In) + 2*roundings(c.outer) + 80
		// Roots of Delta, and of what counts as tiny, are below 2^-49.
		floor := mul(exact(0x1p-48), radii)
		k.near("Mean", at, out[0].v[at], mean, add(add(mul(k.ulps(steps), add(plain, meanIn)), floor), k.etas(40*(c.In+c.outer)+300)))
		k.near("Var", at, out[1].v[at], variance, add(mul(k.ulps(steps), variance), mul(exact(float64(8*c.In+8)*float64(2*c.outer+8)), k.etas(4*c.In+200))))
	}
}

// tame says that no factor of row r is far from 1, so that what Delta adds is small.
func (c *noiseRowsCase) tame(p, r int) bool {
	x := p % c.Inputs * c.In
	for j := range c.In {
		if c.maxSq[x+j] > 1e3 || c.radius[x+j] > 1e3 || c.s[(p*c.In+j)*c.R+r] > 1e3 {
			return false
		}
	}
	return c.c[p*c.R+r] < 1e3
}

// unknown demands +Inf of everything that a number that is not finite went into;
// which of the two sums it is depends on the number, so either may be finite only
// if it is no smaller than what is known.
func (c *noiseRowsCase) unknown(k *checker, out []output, at int) {
	if !math.IsInf(out[0].v[at], 1) && !math.IsInf(out[1].v[at], 1) {
		k.failf("row %d: mean %v and variance %v although a factor is not finite", at, out[0].v[at], out[1].v[at])
	}
	for _, o := range out {
		if math.IsNaN(o.v[at]) {
			k.failf("%s[%d] is NaN", o.name, at)
		}
	}
}

// unknown demands +Inf.
func (c *checker) unknown(what string, i int, got float64) {
	if !math.IsInf(got, 1) {
		c.failf("%s[%d] is %v, want +Inf", what, i, got)
	}
}

type widenCase struct {
	bound.Widen
	lower, upper, mag, mean, variance []float64
	only                              bool // Upper and Mag are nil
}

func drawWiden(g *gen) opCase {
	c := &widenCase{Widen: bound.Widen{N: g.length(), Quantile: g.p.Nearest(8 * g.Float64())}, only: g.oneIn(3)}
	e := g.intervals(c.N)
	c.lower, c.upper, c.mag = e.lo, e.hi, g.magnitudes(c.N)
	c.mean, c.variance = g.magnitudes(c.N), g.magnitudes(c.N)
	if g.oneIn(4) {
		list := [][]float64{c.mean, c.variance, c.upper, c.mag}[g.IntN(4)]
		list[g.IntN(c.N)] = math.Inf(1)
	}
	return c
}

func (c *widenCase) call(e *env) error {
	a := c.Widen
	a.Lower, a.Mean, a.Var = e.inOut("Lower", c.lower), e.in("Mean", c.mean), e.in("Var", c.variance)
	if !c.only {
		a.Upper, a.Mag = e.inOut("Upper", c.upper), e.inOut("Mag", c.mag)
	}
	if e.err != nil {
		return nil
	}
	return e.dev.Widen(a)
}

func (c *widenCase) check(k *checker, out []output) {
	for i := range c.N {
		by := add(exact(c.mean[i]), mul(exact(c.Quantile), rootDown(exact(c.variance[i]))))
		ends := []num{sub(exact(c.lower[i]), by)}
		k.lower("Lower", i, out[0].v[i], ends[0])
		if !c.only {
			ends = append(ends, add(exact(c.upper[i]), by), add(exact(c.mag[i]), by))
			k.upper("Upper", i, out[1].v[i], ends[1])
			k.upper("Mag", i, out[2].v[i], ends[2])
		}
		if k.far(by) {
			continue
		}
		for n, want := range ends {
			if size := add(absOf(want), by); !k.far(size) {
				k.near(out[n].name, i, out[n].v[i], want, add(add(mul(k.ulps(80), size), exact(0x1p-45)), k.etas(40)))
			}
		}
	}
}

type varyCase struct {
	bound.Vary
	z              ends
	mean, variance []float64
}

func drawVary(g *gen) opCase {
	c := &varyCase{Vary: bound.Vary{
		N: g.length(), Quantile: g.p.Nearest(8 * g.Float64()), Lipschitz: []float64{1, 0.25}[g.IntN(2)],
	}}
	c.z, c.mean, c.variance = g.intervals(c.N), g.magnitudes(c.N), g.magnitudes(c.N)
	if g.oneIn(4) {
		g.unbound(&c.z)
	}
	if g.oneIn(4) {
		[][]float64{c.mean, c.variance}[g.IntN(2)][g.IntN(c.N)] = math.Inf(1)
	}
	return c
}

func (c *varyCase) call(e *env) error {
	a := c.Vary
	a.Radius, a.RadiusSq, a.MaxSq = e.out("Radius", a.N), e.out("RadiusSq", a.N), e.out("MaxSq", a.N)
	a.Z, a.Mean, a.Var = e.pair("Z", c.z), e.in("Mean", c.mean), e.in("Var", c.variance)
	if e.err != nil {
		return nil
	}
	return e.dev.Vary(a)
}

func (c *varyCase) check(k *checker, out []output) {
	for i := range c.N {
		by := mul(exact(c.Lipschitz), add(exact(c.mean[i]), mul(exact(c.Quantile), rootDown(exact(c.variance[i])))))
		width := sub(exact(c.z.hi[i]), exact(c.z.lo[i]))
		radius, m := least(by, width), exact(max(-c.z.lo[i], c.z.hi[i]))
		k.upper("Radius", i, out[0].v[i], radius)
		k.upper("RadiusSq", i, out[1].v[i], mul(radius, radius))
		k.upper("MaxSq", i, out[2].v[i], mul(m, m))
		if got := out[0].v[i]; !math.IsInf(got, 1) {
			k.upper("RadiusSq", i, out[1].v[i], mul(exact(got), exact(got)))
		}
		if k.far(add(by, width)) || k.far(mul(m, m)) || k.far(mul(radius, radius)) {
			continue
		}
		floor := exact(0x1p-45)
		k.near("Radius", i, out[0].v[i], radius, add(add(mul(k.ulps(80), radius), floor), k.etas(40)))
		k.near("MaxSq", i, out[2].v[i], mul(m, m), add(mul(k.ulps(8), mul(m, m)), k.etas(8)))
	}
}
