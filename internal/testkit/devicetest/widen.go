package devicetest

import (
	"math"

	"psafe/host/bound"
)

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
	return e.dev.Do(a)
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
