package devicetest

import "psafe/host/bound"

type mergeRowsCase struct {
	bound.MergeRows
	weight, bias, c, d ends
	round              []float64
}

func drawMergeRows(g *gen) opCase {
	c := &mergeRowsCase{MergeRows: bound.MergeRows{Batch: g.batch(), In: g.count(4), Out: g.size(), Rows: g.count(4)}}
	c.weight, c.bias = g.intervals(c.Boxes()*c.In*c.Out), g.intervals(c.Boxes()*c.Out)
	c.c, c.d = g.intervals(c.Inputs*c.Rows*c.Out), g.intervals(c.Inputs*c.Rows)
	c.Abs = g.p.MergeRounding(c.Out, c.Out).Abs
	bare := g.oneIn(4) // one product, no constants: down and up must do
	if bare {
		c.Abs = 0
		clear(c.d.lo)
		clear(c.d.hi)
	}
	for row := range c.Inputs * c.Rows {
		cl, ch := c.c.lo[row*c.Out:(row+1)*c.Out], c.c.hi[row*c.Out:(row+1)*c.Out]
		if bare || g.oneIn(2) { // few coefficients, as rows of properties have
			keep, also := g.IntN(c.Out), g.IntN(c.Out)
			for i := range cl {
				if i != keep && (bare || i != also) {
					cl[i], ch[i] = 0, 0
				}
			}
		}
		nonZero := 0
		for i := range cl {
			if cl[i] != 0 || ch[i] != 0 {
				nonZero++
			}
		}
		c.round = append(c.round, g.p.MergeRounding(nonZero, c.Out).Rel)
		if bare {
			c.round[row] = 0
		}
	}
	return c
}

func (c *mergeRowsCase) call(e *env) error {
	a := c.MergeRows
	a.W, a.B = e.outPair("W", a.Items*a.In*a.Rows), e.outPair("B", a.Items*a.Rows)
	a.Weight, a.Bias, a.C, a.D = e.pair("Weight", c.weight), e.pair("Bias", c.bias), e.pair("C", c.c), e.pair("D", c.d)
	a.Round = e.in("Round", c.round)
	if e.err != nil {
		return nil
	}
	return e.dev.Do(a)
}

func (c *mergeRowsCase) check(k *checker, out []output) {
	zero := ends{[]float64{0}, []float64{0}}
	for p := range c.Items {
		box, x := p/c.PerBox, p%c.Inputs
		for r := range c.Rows {
			row := x*c.Rows + r
			for j := range c.In {
				c.checkDot(k, out[0], out[1], (p*c.In+j)*c.Rows+r, row, c.weight, (box*c.In+j)*c.Out, zero, 0)
			}
			c.checkDot(k, out[2], out[3], p*c.Rows+r, row, c.bias, box*c.Out, c.d, row)
		}
	}
}

// checkDot compares entry at of an output with the exact range of row times
// v[from:] plus d[di].
func (c *mergeRowsCase) checkDot(k *checker, outLo, outHi output, at, row int, v ends, from int, d ends, di int) {
	lo, hi, mag := exact(d.lo[di]), exact(d.hi[di]), exact(d.mostAbs(di))
	for i := range c.Out {
		ci, vi := row*c.Out+i, from+i
		l, h := products(c.c.lo[ci], c.c.hi[ci], v.lo[vi], v.hi[vi])
		lo, hi = add(lo, l), add(hi, h)
		mag = add(mag, mul(exact(c.c.mostAbs(ci)), exact(v.mostAbs(vi))))
	}
	k.lower(outLo.name, at, outLo.v[at], lo)
	k.upper(outHi.name, at, outHi.v[at], hi)
	if !k.far(mag) {
		budget := add(mul(add(mul(exact(2.1), exact(c.round[row])), k.ulps(6)), mag), k.etas(20*c.Out+40))
		k.near(outLo.name, at, outLo.v[at], lo, budget)
		k.near(outHi.name, at, outHi.v[at], hi, budget)
	}
}
