//go:build goexperiment.simd && amd64

package fallback

// noiseRowsF32x16 is noiseRows.sums for rows from first on, as many as there are sums, lanes
// being rows, at least a vector of them. It has the plain bits, but that one NaN is another.
func noiseRowsF32x16(t *noiseRows[numF32x16], p, first int, s *rowSums[numF32x16]) {
	rows := len(s.a)
	for r := 0; r < rows; r += 2 * widthF32x16 {
		at0, at1 := min(r, rows-widthF32x16), min(r+widthF32x16, rows-widthF32x16)
		var mean0, mean1, var0, var1 vecF32x16
		for b := range words(t.a.In) {
			m0, m1, v0, v1 := noiseBlockF32x16(t, p, b, first+at0, first+at1)
			mean0, mean1, var0, var1 = mean0.Add(m0), mean1.Add(m1), var0.Add(v0), var1.Add(v1)
		}
		mean0.StoreSlice(s.a[at0:])
		mean1.StoreSlice(s.a[at1:])
		var0.StoreSlice(s.b[at0:])
		var1.StoreSlice(s.b[at1:])
	}
}

// noiseBlockF32x16 returns a block's sums of two vectors of rows, at0 and at1. Its loop has
// Device.rootUp of both: a function of one would forget the constants.
func noiseBlockF32x16(t *noiseRows[numF32x16], p, block, at0, at1 int) (mean0, mean1, var0, var1 vecF32x16) {
	d, signs := t.d, signsF32x16()
	delta, tiny, one, half := fillF32x16(numF32x16(t.a.Round.Delta)), fillF32x16(d.tiny), fillF32x16(1), fillF32x16(0.5)
	more, grow, phi, eta := fillF32x16(1.5), fillF32x16(1+16*d.u), fillF32x16(d.phi), fillF32x16(d.eta)
	steps, x := d.newtonSteps(), p%t.a.Inputs*t.a.In
	radii, squares := t.radius[x:][:t.a.In], t.maxSq[x:][:t.a.In]
	for _, j := range t.usedOf(p%t.a.Inputs, block) {
		row := t.s[(p*t.a.In+int(j))*t.a.R:]
		s0, s1 := atF32x16(row, at0).Add(delta), atF32x16(row, at1).Add(delta)
		x0, x1 := tiny.Merge(s0, s0.Less(tiny)), tiny.Merge(s1, s1.Less(tiny))
		y0, y1, half0, half1 := rootSeedF32x16(x0), rootSeedF32x16(x1), x0.Mul(half), x1.Mul(half)
		for range steps {
			y0 = y0.Mul(more.Sub(half0.Mul(y0).Mul(y0)))
			y1 = y1.Mul(more.Sub(half1.Mul(y1).Mul(y1)))
		}
		c0, c1 := x0.Mul(y0).Mul(grow), x1.Mul(y1).Mul(grow)
		up0 := x0.Add(absF32x16(x0, signs).Mul(phi).Add(eta))
		up1 := x1.Add(absF32x16(x1, signs).Mul(phi).Add(eta))
		c0 = c0.Merge(one.Merge(x0, x0.LessEqual(one)), c0.Greater(vecF32x16{}).And(c0.Mul(c0).GreaterEqual(up0)))
		c1 = c1.Merge(one.Merge(x1, x1.LessEqual(one)), c1.Greater(vecF32x16{}).And(c1.Mul(c1).GreaterEqual(up1)))
		mean0, mean1 = mean0.Add(c0.Mul(fillF32x16(radii[j]))), mean1.Add(c1.Mul(fillF32x16(radii[j])))
		var0, var1 = var0.Add(s0.Mul(fillF32x16(squares[j]))), var1.Add(s1.Mul(fillF32x16(squares[j])))
	}
	return mean0, mean1, var0, var1
}
