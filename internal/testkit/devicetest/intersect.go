package devicetest

import (
	"math"

	"psafe/host/bound"
)

type intersectCase struct {
	bound.Intersect
	pre   ends
	bound []float64
}

func drawIntersect(g *gen) opCase {
	c := &intersectCase{Intersect: bound.Intersect{P: 1 + g.IntN(4), N: g.size()}}
	c.pre = g.intervals(c.P * c.N)
	if g.oneIn(3) {
		g.unbound(&c.pre)
	}
	c.bound = make([]float64, c.P*2*c.N)
	for p := range c.P {
		for i := range c.N {
			// Bounds near the interval's ends, on either side of them; some say
			// nothing, and some contradict.
			lo, hi := g.beside(c.pre.lo[p*c.N+i]), g.beside(c.pre.hi[p*c.N+i])
			c.bound[p*2*c.N+i], c.bound[p*2*c.N+c.N+i] = lo, -hi
		}
	}
	return c
}

// beside is a number a little off x, or x, or anything, or -Inf.
func (g *gen) beside(x float64) float64 {
	switch g.IntN(6) {
	case 0:
		return math.Inf(-1)
	case 1:
		return g.number()
	case 2:
		return x
	}
	if math.IsInf(x, 0) {
		return g.number()
	}
	return max(-g.p.Max(), min(g.p.Max(), g.p.Nearest(x*(1+(g.Float64()-0.5)/4))))
}

func (c *intersectCase) call(e *env) error {
	a := c.Intersect
	a.Pre = bound.Interval{Lo: e.inOut("Pre.Lo", c.pre.lo), Hi: e.inOut("Pre.Hi", c.pre.hi)}
	a.Bound = e.in("Bound", c.bound)
	if e.err != nil {
		return nil
	}
	return e.dev.Do(a)
}

// check: the intersection is exact, and everything if it is empty.
func (c *intersectCase) check(k *checker, out []output) {
	for i := range c.P * c.N {
		p, n := i/c.N, i%c.N
		lo, hi := c.pre.lo[i], c.pre.hi[i]
		if b := c.bound[p*2*c.N+n]; b > lo {
			lo = b
		}
		if b := -c.bound[p*2*c.N+c.N+n]; b < hi {
			hi = b
		}
		if lo > hi {
			lo, hi = math.Inf(-1), math.Inf(1)
		}
		if out[0].v[i] != lo || out[1].v[i] != hi {
			k.failf("Pre[%d] is [%x, %x], want [%x, %x]", i, out[0].v[i], out[1].v[i], lo, hi)
		}
	}
}
