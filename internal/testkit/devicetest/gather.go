package devicetest

import (
	"math"

	"psafe/host/bound"
)

type gatherCase struct {
	bound.Gather
	out, in, index []float64
}

func drawGather(g *gen) opCase {
	c := &gatherCase{Gather: bound.Gather{P: 1 + g.IntN(4), N: g.count(40), T: g.count(70), R: g.count(5)}}
	if g.oneIn(3) {
		c.R = 1
	}
	c.Total = c.T
	if g.oneIn(2) {
		c.At = g.IntN(4)
		c.Total += c.At + g.IntN(4)
	}
	c.in, c.out = g.numbers(c.P*c.N*c.R), g.numbers(c.P*c.Total*c.R)
	c.in[g.IntN(len(c.in))] = math.Inf(1)
	for range c.T {
		c.index = append(c.index, float64(g.IntN(c.N+1)-1))
	}
	return c
}

func (c *gatherCase) call(e *env) error {
	a := c.Gather
	a.Out, a.In, a.Index = e.inOut("Out", c.out), e.in("In", c.in), e.in("Index", c.index)
	if e.err != nil {
		return nil
	}
	return e.dev.Do(a)
}

// check: copies have the bits of what was copied, and other places are left alone.
func (c *gatherCase) check(k *checker, out []output) {
	want := append([]float64(nil), c.out...)
	for p := range c.P {
		for t, at := range c.index {
			for r := range c.R {
				x := 0.0
				if at >= 0 {
					x = c.in[(p*c.N+int(at))*c.R+r]
				}
				want[(p*c.Total+c.At+t)*c.R+r] = x
			}
		}
	}
	for i, x := range want {
		if got := out[0].v[i]; math.Float64bits(got) != math.Float64bits(x) {
			k.failf("Out[%d] is %x, want %x", i, got, x)
		}
	}
}
