package devicetest

import (
	"math"
	"math/big"

	"psafe/host/bound"
)

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
	if g.oneIn(3) { // inputs that are 0
		for j := range c.radius {
			if g.oneIn(2) {
				c.radius[j], c.maxSq[j] = 0, 0
			}
		}
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
	return e.dev.Do(a)
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
		if radius == 0 && maxSq == 0 {
			continue
		}
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

// tame reports whether no factor of row r is far from 1, so that what Delta adds is small.
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
