package devicetest

import (
	"math"

	"psafe/host/bound"
)

// quantiles are those of an operation on n numbers: one, or one of each item, some below 0 or infinite.
type quantiles struct {
	one  float64
	list []float64
	each int
}

func drawQuantiles(g *gen, n int) quantiles {
	draw := func() float64 {
		if g.oneIn(16) {
			return []float64{-0x1p-20, -3, math.Inf(1), math.Copysign(0, -1)}[g.IntN(4)]
		}
		return g.p.Nearest(8 * g.Float64())
	}
	q := quantiles{one: draw(), each: 1 + g.IntN(n)}
	if g.oneIn(2) {
		return q
	}
	for first := 0; first < n; first += q.each {
		q.list = append(q.list, draw())
	}
	return q
}

// upload is the list, if there is one.
func (q *quantiles) upload(e *env) bound.Array {
	if q.list == nil {
		return nil
	}
	return e.in("Quantiles", q.list)
}

// of is that of number i, and known says that it is at least 0 and finite: other bounds are infinite.
func (q *quantiles) of(i int) (v float64, known bool) {
	v = q.one
	if q.list != nil {
		v = q.list[i/q.each]
	}
	return v, v >= 0 && !math.IsInf(v, 1)
}

type widenCase struct {
	bound.Widen
	quantiles
	lower, upper, mag, mean, variance []float64
	only                              bool // Upper and Mag are nil
}

func drawWiden(g *gen) opCase {
	c := &widenCase{Widen: bound.Widen{N: g.length()}, only: g.oneIn(3)}
	c.quantiles = drawQuantiles(g, c.N)
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
	a.Quantile, a.Quantiles, a.Each = c.one, c.upload(e), c.each
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
		quantile, known := c.of(i)
		if !known {
			for n, side := range []float64{-1, 1, 1}[:len(out)] {
				if out[n].v[i] != math.Inf(int(side)) {
					k.failf("%s[%d] is %v with a quantile of %v", out[n].name, i, out[n].v[i], quantile)
				}
			}
			continue
		}
		by := add(exact(c.mean[i]), mul(exact(quantile), rootDown(exact(c.variance[i]))))
		ends := []num{sub(exact(c.lower[i]), by)}
		k.lower("Lower", i, out[0].v[i], ends[0])
		if !c.only {
			ends = append(ends, add(exact(c.upper[i]), by), add(exact(c.mag[i]), by))
			k.upper("Upper", i, out[1].v[i], ends[1])
			k.upper("Mag", i, out[2].v[i], ends[2])
		}
		if k.far(by) || quantile == 0 && math.IsInf(c.variance[i], 1) { // 0 times infinity is no number
			continue
		}
		for n, want := range ends {
			if size := add(absOf(want), by); !k.far(size) {
				k.near(out[n].name, i, out[n].v[i], want, add(add(mul(k.ulps(80), size), exact(0x1p-45)), k.etas(40)))
			}
		}
	}
}
