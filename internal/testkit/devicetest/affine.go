package devicetest

import "psafe/host/bound"

type affineCase struct {
	bound.Affine
	w, b, z ends
}

func drawAffine(g *gen) opCase {
	c := &affineCase{Affine: bound.Affine{Batch: g.batch(), In: g.size(), Out: g.count(5), NonNeg: g.oneIn(2)}}
	if g.oneIn(50) {
		c.In, c.Out = 1+g.IntN(2), []int{127, 128, 129, 260}[g.IntN(4)]
	}
	c.Push, c.MagRound = g.p.AffineRounding(c.In)
	c.w, c.b, c.z = g.intervals(c.Boxes()*c.In*c.Out), g.intervals(c.Boxes()*c.Out), g.intervals(c.Inputs*c.In)
	if g.oneIn(6) {
		g.unbound(&c.z)
	}
	if c.In == 1 && g.oneIn(3) {
		c.bare()
	}
	if c.NonNeg {
		c.z.nonNegative()
	}
	return c
}

// bare leaves one product and no constants. One rounding is left, and the push of
// down and up, which belongs to the operation, must do for it.
func (c *affineCase) bare() {
	c.Push = bound.Rounding{}
	clear(c.b.lo)
	clear(c.b.hi)
}

func (c *affineCase) call(e *env) error {
	a := c.Affine
	n := a.Items * a.Out
	a.Pre, a.Mag = e.outPair("Pre", n), e.out("Mag", n)
	a.W, a.B, a.Z = e.pair("W", c.w), e.pair("B", c.b), e.pair("Z", c.z)
	if e.err != nil {
		return nil
	}
	return e.dev.Do(a)
}

func (c *affineCase) check(k *checker, out []output) {
	for p := range c.Items {
		for i := range c.Out {
			c.checkOne(k, out, p, i)
		}
	}
	if c.NonNeg && c.z.finite() {
		general := *c
		general.NonNeg = false
		k.sameAs(&general, out)
	}
}

// checkOne compares one output with the exact range of the bilinear form.
func (c *affineCase) checkOne(k *checker, out []output, p, i int) {
	box, x := p/c.PerBox, p%c.Inputs
	at, bias := p*c.Out+i, box*c.Out+i
	lo, hi := exact(c.b.lo[bias]), exact(c.b.hi[bias])
	mag := exact(c.b.mostAbs(bias))
	blocked := mag // the magnitude as the definition has it
	for j0 := 0; j0 < c.In; j0 += bound.Block {
		norm, zMost := newNum(), 0.0
		for j := j0; j < min(j0+bound.Block, c.In); j++ {
			w, z := (box*c.In+j)*c.Out+i, x*c.In+j
			l, h := products(c.w.lo[w], c.w.hi[w], c.z.lo[z], c.z.hi[z])
			lo, hi = add(lo, l), add(hi, h)
			mag = add(mag, mul(exact(c.w.mostAbs(w)), exact(c.z.mostAbs(z))))
			norm, zMost = add(norm, exact(c.w.mostAbs(w))), max(zMost, c.z.mostAbs(z))
		}
		blocked = add(blocked, mul(norm, exact(zMost)))
	}
	k.lower("Pre.Lo", at, out[0].v[at], lo)
	k.upper("Pre.Hi", at, out[1].v[at], hi)
	// 0 times infinity makes the magnitude NaN, which like +Inf says "unknown".
	if m := out[2].v[at]; m == m || c.z.finite() && !k.far(blocked) {
		k.upper("Mag", at, m, mag)
	}
	if k.far(blocked) || !c.z.finite() {
		return
	}
	budget := add(mul(k.ulps(2*roundings(c.In)+10), blocked), k.etas(20*c.In+40))
	k.near("Pre.Lo", at, out[0].v[at], lo, budget)
	k.near("Pre.Hi", at, out[1].v[at], hi, budget)
	k.near("Mag", at, out[2].v[at], blocked, budget)
}
