package devicetest

import (
	"math"

	"psafe/host/bound"
)

type pairNoiseCase struct {
	bound.PairNoise
	sumIn, v, taps, unit, other []float64
	z                           ends
}

func drawPairNoise(g *gen) opCase {
	c := &pairNoiseCase{PairNoise: bound.PairNoise{
		P: 1 + g.IntN(4), PerBox: 1 + g.IntN(3), R: g.count(6), In: 1 + g.IntN(9), Positions: 1 + g.IntN(4),
		K: g.size(), Channels: 1 + g.IntN(3), Squared: g.oneIn(2),
	}}
	c.Inputs = 1 + g.IntN(c.P)
	c.Round = g.p.PairRounding(c.K)
	c.v, c.z = g.magnitudes((c.P+c.PerBox-1)/c.PerBox*c.K*c.Channels), g.intervals(c.Inputs*c.In)
	for range c.Positions * c.K {
		c.taps = append(c.taps, float64(g.IntN(c.In+1)-1))
	}
	for range c.R {
		c.unit = append(c.unit, float64(g.IntN(c.Positions*c.Channels)))
	}
	for i := range c.P * c.R {
		c.other = append(c.other, float64(g.IntN(c.Positions)*c.Channels+int(c.unit[i%c.R])%c.Channels))
	}
	if !g.oneIn(3) {
		c.sumIn = g.magnitudes(c.P * c.R)
	}
	switch g.IntN(12) {
	case 0, 1:
		g.unbound(&c.z)
	case 2:
		c.lose(g.p)
	}
	if g.oneIn(8) {
		c.v[g.IntN(len(c.v))] = math.Inf(1)
	}
	return c
}

// lose makes sums of differences 1 lose most of what is added to their first term, or of
// differences eta all of it.
func (c *pairNoiseCase) lose(p bound.Precision) {
	c.sumIn, c.Squared = nil, false
	for i := range c.z.lo {
		c.z.lo[i], c.z.hi[i] = 1, 1
		if c.R%2 == 0 {
			c.z.lo[i], c.z.hi[i] = p.Eta(), p.Eta()
		}
	}
	for i := range c.v {
		switch k := i / c.Channels % c.K; {
		case c.R%2 == 0:
			c.v[i] = p.Nearest(0.45)
		case k == 0:
			c.v[i] = 1
		default:
			c.v[i] = p.Nearest(0.9 * p.Unit())
		}
	}
	for i := range c.taps {
		c.taps[i] = float64(-(i / c.K % 2)) // of every other position none
	}
}

func (c *pairNoiseCase) call(e *env) error {
	a := c.PairNoise
	a.Sum = e.out("Sum", a.P*a.R)
	a.V, a.Z, a.Taps, a.Unit, a.Other = e.in("V", c.v), e.pair("Z", c.z), e.in("Taps", c.taps), e.in("Unit", c.unit), e.in("Other", c.other)
	if c.sumIn != nil {
		a.SumIn = e.in("SumIn", c.sumIn)
	}
	if e.err != nil {
		return nil
	}
	return e.dev.Do(a)
}

func (c *pairNoiseCase) check(k *checker, out []output) {
	for at, got := range out[0].v {
		p, u, v := at/c.R, int(c.unit[at%c.R]), int(c.other[at])
		want, extra, known, tame := newNum(), newNum(), true, true
		if c.sumIn != nil {
			want = exact(c.sumIn[at])
		}
		for t := range c.K {
			weight := c.v[(p/c.PerBox*c.K+t)*c.Channels+u%c.Channels]
			m, finite := c.difference(p, int(c.taps[u/c.Channels*c.K+t]), int(c.taps[v/c.Channels*c.K+t]))
			if !finite || math.IsInf(weight, 1) {
				known = false
				break
			}
			if c.Squared {
				m = mul(m, m)
			}
			tame = tame && !k.far(m)
			want, extra = add(want, mul(exact(weight), m)), add(extra, mul(exact(weight), k.etas(4)))
		}
		if !known {
			k.unknown("Sum", at, got)
			continue
		}
		k.upper("Sum", at, got, want)
		if tame && !k.far(want) {
			k.near("Sum", at, got, want, add(add(mul(k.ulps(2*roundings(c.K)+40), want), extra), k.etas(6*c.K+60)))
		}
	}
}

// difference is the exact greatest magnitude of input i minus input j, if there is one.
func (c *pairNoiseCase) difference(p, i, j int) (m num, finite bool) {
	if i == j {
		return newNum(), true
	}
	var lo, hi [2]float64
	for n, in := range []int{i, j} {
		if in >= 0 {
			lo[n], hi[n] = c.z.lo[p%c.Inputs*c.In+in], c.z.hi[p%c.Inputs*c.In+in]
		}
		if math.IsInf(lo[n], 0) || math.IsInf(hi[n], 0) {
			return nil, false
		}
	}
	return most(absOf(sub(exact(hi[0]), exact(lo[1]))), absOf(sub(exact(hi[1]), exact(lo[0])))), true
}
