package devicetest

import (
	"math"

	"psafe/host/bound"
)

type varyCase struct {
	bound.Vary
	quantiles
	z              ends
	mean, variance []float64
}

func drawVary(g *gen) opCase {
	c := &varyCase{Vary: bound.Vary{N: g.length(), Lipschitz: []float64{1, 0.25}[g.IntN(2)]}}
	c.quantiles = drawQuantiles(g, c.N)
	c.z, c.mean, c.variance = g.intervals(c.N), g.magnitudes(c.N), g.magnitudes(c.N)
	for i := range c.z.lo {
		if g.oneIn(8) { // numbers, and mostly 0
			c.z.hi[i] = c.z.lo[i]
			if g.oneIn(2) {
				c.z.lo[i], c.z.hi[i] = 0, 0
			}
		}
	}
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
	a.Quantile, a.Quantiles, a.Each = c.one, c.upload(e), c.each
	a.Radius, a.RadiusSq, a.MaxSq = e.out("Radius", a.N), e.out("RadiusSq", a.N), e.out("MaxSq", a.N)
	a.Z, a.Mean, a.Var = e.pair("Z", c.z), e.in("Mean", c.mean), e.in("Var", c.variance)
	if e.err != nil {
		return nil
	}
	return e.dev.Do(a)
}

func (c *varyCase) check(k *checker, out []output) {
	for i := range c.N {
		quantile, known := c.of(i)
		width := sub(exact(c.z.hi[i]), exact(c.z.lo[i]))
		by := width
		if known {
			by = mul(exact(c.Lipschitz), add(exact(c.mean[i]), mul(exact(quantile), rootDown(exact(c.variance[i])))))
		}
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
		if known && quantile == 0 && math.IsInf(c.variance[i], 1) { // 0 times infinity is no number
			continue
		}
		if c.z.lo[i] == c.z.hi[i] {
			k.near("Radius", i, out[0].v[i], newNum(), newNum())
			k.near("RadiusSq", i, out[1].v[i], newNum(), newNum())
		}
		if c.z.lo[i] == 0 && c.z.hi[i] == 0 {
			k.near("MaxSq", i, out[2].v[i], newNum(), newNum())
		}
		floor := exact(0x1p-45)
		k.near("Radius", i, out[0].v[i], radius, add(add(mul(k.ulps(80), radius), floor), k.etas(40)))
		k.near("MaxSq", i, out[2].v[i], mul(m, m), add(mul(k.ulps(8), mul(m, m)), k.etas(8)))
	}
}
