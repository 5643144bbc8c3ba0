package devicetest

import "psafe/host/bound"

type shareRowsCase struct {
	bound.ShareRows
	a, w []float64
}

func drawShareRows(g *gen) opCase {
	c := &shareRowsCase{ShareRows: bound.ShareRows{
		P: 1 + g.IntN(3), R: g.count(5), Positions: 1 + g.IntN(5), K: 1 + g.IntN(6), Channels: g.size(),
	}}
	c.a, c.w = g.numbers(c.P*c.Positions*c.Channels*c.R), g.numbers(c.P*c.K*c.Channels*c.R)
	return c
}

func (c *shareRowsCase) call(e *env) error {
	a := c.ShareRows
	a.S = e.out("S", a.P*a.Positions*a.K*a.R)
	a.A, a.W = e.in("A", c.a), e.in("W", c.w)
	if e.err != nil {
		return nil
	}
	return e.dev.Do(a)
}

// check: S within the rounding of its sum, for which Relax has charged the row.
func (c *shareRowsCase) check(k *checker, out []output) {
	for i, got := range out[0].v {
		r, t, q := i%c.R, i/c.R%c.K, i/c.R/c.K
		want, mag := newNum(), newNum()
		for o := range c.Channels {
			x := mul(exact(c.a[(q*c.Channels+o)*c.R+r]), exact(c.w[((q/c.Positions*c.K+t)*c.Channels+o)*c.R+r]))
			want, mag = add(want, x), add(mag, absOf(x))
		}
		if !k.far(mag) {
			// g_k <= 1.01 k u for the sizes here.
			k.near("S", i, got, want, add(mul(mul(k.ulps(roundings(c.Channels)-1), exact(1.01)), mag), k.etas(c.Channels)))
		}
	}
}
