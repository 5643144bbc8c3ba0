package devicetest

import "psafe/host/bound"

type backSubstituteCase struct {
	bound.BackSubstitute
	a, cIn []float64
	w, b   ends
	noHi   bool
	bare   bool
}

func drawBackSubstitute(g *gen) opCase {
	c := &backSubstituteCase{BackSubstitute: bound.BackSubstitute{
		PerBox: 1 + g.IntN(3), P: 1 + g.IntN(4), R: g.count(5), In: g.inputs(), Out: g.size(),
	}, noHi: g.oneIn(3), bare: g.oneIn(3)}
	boxes := (c.P + c.PerBox - 1) / c.PerBox
	c.a, c.cIn = g.numbers(c.P*c.Out*c.R), g.numbers(c.P*c.R)
	c.w, c.b = g.intervals(boxes*c.In*c.Out), g.intervals(boxes*c.Out)
	if c.bare {
		// C is then rounded once, by the addition that down makes good.
		for i := range c.b.lo {
			c.b.lo[i], c.b.hi[i] = 0, 0
			if i%c.Out == 0 {
				c.b.lo[i], c.b.hi[i] = 1, 1
			}
		}
	}
	return c
}

// inputs returns how many inputs rows are taken to: around a run of eight.
func (g *gen) inputs() int {
	if g.large {
		return g.size()
	}
	return []int{1, 2, 7, 8, 9, 17}[g.IntN(6)]
}

func (c *backSubstituteCase) call(e *env) error {
	a := c.BackSubstitute
	n := a.P * a.In * a.R
	a.S.Lo = e.out("S.Lo", n)
	a.C = e.out("C", a.P*a.R)
	if !c.noHi {
		a.S.Hi = e.out("S.Hi", n)
	}
	a.A, a.CIn, a.W, a.B = e.in("A", c.a), e.in("CIn", c.cIn), e.pair("W", c.w), e.pair("B", c.b)
	if e.err != nil {
		return nil
	}
	return e.dev.Do(a)
}

// check: S within the rounding of its sum, for which Relax has charged the row; C
// below by its own down, but for the same rounding of its sum.
func (c *backSubstituteCase) check(k *checker, out []output) {
	for p := range c.P {
		box := p / c.PerBox
		for r := range c.R {
			for j := range c.In {
				c.checkS(k, out, (p*c.In+j)*c.R+r, c.dot(k, p, r, c.w, (box*c.In+j)*c.Out))
			}
			c.checkC(k, out[1], p*c.R+r, c.dot(k, p, r, c.b, box*c.Out))
		}
	}
}

func (c *backSubstituteCase) checkS(k *checker, out []output, at int, want signedDot) {
	if k.far(want.mag) {
		return
	}
	k.near("S.Lo", at, out[0].v[at], want.lo, want.err)
	if !c.noHi {
		k.near("S.Hi", at, out[2].v[at], want.hi, want.err)
		if !(out[0].v[at] <= out[2].v[at]) {
			k.failf("S[%d] is [%x, %x]: RelaxRows needs Lo <= Hi", at, out[0].v[at], out[2].v[at])
		}
	}
}

func (c *backSubstituteCase) checkC(k *checker, out output, at int, dot signedDot) {
	cIn := exact(c.cIn[at])
	want, magnitude := add(cIn, dot.lo), add(absOf(cIn), dot.mag)
	if k.far(magnitude) {
		return
	}
	allowed := dot.err
	if c.bare {
		allowed = newNum()
	}
	k.lower("C", at, out.v[at], add(want, allowed))
	k.near("C", at, out.v[at], want, add(add(dot.err, mul(k.ulps(4), magnitude)), k.etas(8)))
}

// signedDot is sum_i (A_i >= 0 ? A_i v.lo_i : A_i v.hi_i), the same with lo and hi
// exchanged, the sum of magnitudes, and what rounding may add to either sum.
type signedDot struct{ lo, hi, mag, err num }

func (c *backSubstituteCase) dot(k *checker, p, r int, v ends, from int) signedDot {
	s := signedDot{lo: newNum(), hi: newNum(), mag: newNum()}
	for i := range c.Out {
		a := c.a[(p*c.Out+i)*c.R+r]
		l, h := products(a, a, v.lo[from+i], v.hi[from+i])
		s.lo, s.hi = add(s.lo, l), add(s.hi, h)
		s.mag = add(s.mag, mul(absOf(exact(a)), exact(v.mostAbs(from+i))))
	}
	// g_k <= 1.01 k u for the sizes here.
	s.err = add(mul(mul(k.ulps(roundings(c.Out)-1), exact(1.01)), s.mag), k.etas(c.Out))
	return s
}
