package devicetest

import "psafe/host/bound"

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
	return e.dev.Do(a)
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
