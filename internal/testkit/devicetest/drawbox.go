package devicetest

import (
	"math"

	"psafe/host/arith"
	"psafe/host/bound"
)

type drawBoxCase struct {
	bound.DrawBox
	centre      ends
	unit, gamma []float64
}

func drawDrawBox(g *gen) opCase {
	c := &drawBoxCase{DrawBox: bound.DrawBox{
		Boxes: 1 + g.IntN(4), N: []int{1, 2, 3, 4, 5, 31, 64, 65, 130}[g.IntN(9)], Sampled: g.oneIn(2),
		Seed: g.Uint64(), First: g.Uint64() >> g.IntN(64), Stream: g.Uint32() >> g.IntN(32),
	}}
	c.centre = g.intervals(c.N)
	c.unit, c.gamma = g.magnitudes(c.N), g.magnitudes(c.Boxes)
	if g.oneIn(4) { // the number of the box carries into its upper word
		c.First = math.MaxUint32 - 1
	}
	return c
}

func (c *drawBoxCase) call(e *env) error {
	a := c.DrawBox
	a.Box = e.outPair("Box", a.Boxes*a.N)
	a.Centre, a.Unit, a.Gamma = e.pair("Centre", c.centre), e.in("Unit", c.unit), e.in("Gamma", c.gamma)
	if e.err != nil {
		return nil
	}
	return e.dev.Do(a)
}

// check compares with the definition, bound.BoxEnds, bit for bit: what is drawn is
// read by the host too (bound.HostBox), and must be the same box.
func (c *drawBoxCase) check(k *checker, out []output) {
	for b := range c.Boxes {
		for w := range c.N {
			var n float32
			if c.Sampled {
				n = arith.Normal(c.Seed, c.First+uint64(b), c.Stream, uint32(w))
			}
			var lo, hi float64
			if k.p == bound.Float32 {
				l, h := bound.BoxEnds(float32(c.centre.lo[w]), float32(c.centre.hi[w]), float32(c.unit[w]), float32(c.gamma[b]), n)
				lo, hi = float64(l), float64(h)
			} else {
				lo, hi = bound.BoxEnds(c.centre.lo[w], c.centre.hi[w], c.unit[w], c.gamma[b], float64(n))
			}
			k.same(out[0], b*c.N+w, lo)
			k.same(out[1], b*c.N+w, hi)
		}
	}
}

// same demands equal bits, any NaN being equal to any other.
func (c *checker) same(got output, i int, want float64) {
	if x := got.v[i]; math.Float64bits(x) != math.Float64bits(want) && (x == x || want == want) {
		c.failf("%s[%d] is %x, want %x", got.name, i, x, want)
	}
}
