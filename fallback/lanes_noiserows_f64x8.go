// Code generated from lanes_noiserows_f32x16.go by TestLanesGenerated -update. DO NOT EDIT.

//go:build goexperiment.simd && amd64

package fallback

// noiseRowsF64x8 is noiseRows.sums for rows from first on, as many as there are sums, lanes
// being rows, at least a vector of them. It has the plain bits, but that one NaN is another.
func noiseRowsF64x8(t *noiseRows[numF64x8], p, first int, s *rowSums[numF64x8]) {
	rows := len(s.a)
	for r := 0; r < rows; r += 2 * widthF64x8 {
		at0, at1 := min(r, rows-widthF64x8), min(r+widthF64x8, rows-widthF64x8)
		var mean0, mean1, var0, var1 vecF64x8
		for b := range words(t.a.In) {
			m0, m1, v0, v1 := noiseBlockF64x8(t, p, b, first+at0, first+at1)
			mean0, mean1, var0, var1 = mean0.Add(m0), mean1.Add(m1), var0.Add(v0), var1.Add(v1)
		}
		mean0.StoreSlice(s.a[at0:])
		mean1.StoreSlice(s.a[at1:])
		var0.StoreSlice(s.b[at0:])
		var1.StoreSlice(s.b[at1:])
	}
}

// noiseBlockF64x8 returns a block's sums of two vectors of rows, at0 and at1. Its loop has
// Device.rootUp of both: a function of one would forget the constants.
func noiseBlockF64x8(t *noiseRows[numF64x8], p, block, at0, at1 int) (mean0, mean1, var0, var1 vecF64x8) {
	d, signs := t.d, signsF64x8()
	delta, tiny, one, half := fillF64x8(numF64x8(t.a.Round.Delta)), fillF64x8(d.tiny), fillF64x8(1), fillF64x8(0.5)
	more, grow, phi, eta := fillF64x8(1.5), fillF64x8(1+16*d.u), fillF64x8(d.phi), fillF64x8(d.eta)
	steps, x := d.newtonSteps(), p%t.a.Inputs*t.a.In
	radii, squares := t.radius[x:][:t.a.In], t.maxSq[x:][:t.a.In]
	for _, j := range t.usedOf(p%t.a.Inputs, block) {
		row := t.s[(p*t.a.In+int(j))*t.a.R:]
		s0, s1 := atF64x8(row, at0).Add(delta), atF64x8(row, at1).Add(delta)
		x0, x1 := tiny.Merge(s0, s0.Less(tiny)), tiny.Merge(s1, s1.Less(tiny))
		y0, y1, half0, half1 := rootSeedF64x8(x0), rootSeedF64x8(x1), x0.Mul(half), x1.Mul(half)
		for range steps {
			y0 = y0.Mul(more.Sub(half0.Mul(y0).Mul(y0)))
			y1 = y1.Mul(more.Sub(half1.Mul(y1).Mul(y1)))
		}
		c0, c1 := x0.Mul(y0).Mul(grow), x1.Mul(y1).Mul(grow)
		up0 := x0.Add(absF64x8(x0, signs).Mul(phi).Add(eta))
		up1 := x1.Add(absF64x8(x1, signs).Mul(phi).Add(eta))
		c0 = c0.Merge(one.Merge(x0, x0.LessEqual(one)), c0.Greater(vecF64x8{}).And(c0.Mul(c0).GreaterEqual(up0)))
		c1 = c1.Merge(one.Merge(x1, x1.LessEqual(one)), c1.Greater(vecF64x8{}).And(c1.Mul(c1).GreaterEqual(up1)))
		mean0, mean1 = mean0.Add(c0.Mul(fillF64x8(radii[j]))), mean1.Add(c1.Mul(fillF64x8(radii[j])))
		var0, var1 = var0.Add(s0.Mul(fillF64x8(squares[j]))), var1.Add(s1.Mul(fillF64x8(squares[j])))
	}
	return mean0, mean1, var0, var1
}
