//go:build goexperiment.simd && amd64

package fallback

import "psafe/host/bound"

// relaxRowsF32x16 is relaxRows.sums where no chord is taken, of rows from first on, as
// many as there are sums, whose coefficients are in columns from col on. Lanes are rows, at least a
// vector of them. It takes no minimum, so whatever the numbers it has the plain bits.
func relaxRowsF32x16(t *relaxRows[numF32x16], p, col, first int, s *rowSums[numF32x16]) {
	n, rows := t.a.N, len(s.a)
	from, flip := t.sLo, wordF32x16{}
	if first >= t.a.Cols {
		from, flip = t.sHi, signsF32x16()
	}
	from = from[p/t.a.PerBox*n*t.a.Cols+col:]
	for r := 0; r < rows; r += 2 * widthF32x16 {
		at0, at1 := min(r, rows-widthF32x16), min(r+widthF32x16, rows-widthF32x16)
		var c0, c1, charge0, charge1 vecF32x16
		for j0 := 0; j0 < n; j0 += bound.Block {
			j1 := min(j0+bound.Block, n)
			b0, b1, bCharge0, bCharge1 := relaxBlockF32x16(t, p, from, first, at0, at1, j0, j1, flip)
			c0, c1 = c0.Add(b0), c1.Add(b1)
			charge0, charge1 = charge0.Add(bCharge0), charge1.Add(bCharge1)
		}
		c0.StoreSlice(s.a[at0:])
		c1.StoreSlice(s.a[at1:])
		charge0.StoreSlice(s.b[at0:])
		charge1.StoreSlice(s.b[at1:])
	}
}

// relaxBlockF32x16 relaxes the coefficients of a block of neurons in two vectors of rows, and
// returns the block's sums of constants and charges.
func relaxBlockF32x16(t *relaxRows[numF32x16], p int, rows []numF32x16, first, at0, at1, j0, j1 int, flip wordF32x16) (c0, c1, charge0, charge1 vecF32x16) {
	signs := signsF32x16()
	i, cols := p*t.a.N+j0, t.a.Cols
	out := t.outA[i*t.rows+first:]
	rows = rows[j0*cols:]
	n := j1 - j0
	aLo, aHi, bLo, bHi, err := t.aLo[i:i+n], t.aHi[i:i+n], t.bLo[i:i+n], t.bHi[i:i+n], t.err[i:i+n]
	to0, to1 := at0, at1
	for j := range aLo {
		lo, hi, interceptLo, interceptHi, e := fillF32x16(aLo[j]), fillF32x16(aHi[j]), fillF32x16(bLo[j]), fillF32x16(bHi[j]), fillF32x16(err[j])
		a := flipF32x16(atF32x16(rows, at0), flip)
		m := a.GreaterEqual(vecF32x16{})
		a.Mul(lo.Merge(hi, m)).StoreSlice(out[to0 : to0+widthF32x16 : to0+widthF32x16])
		c0 = c0.Add(a.Mul(interceptLo.Merge(interceptHi, m)))
		charge0 = charge0.Add(absF32x16(a, signs).Mul(e))

		a = flipF32x16(atF32x16(rows, at1), flip)
		m = a.GreaterEqual(vecF32x16{})
		a.Mul(lo.Merge(hi, m)).StoreSlice(out[to1 : to1+widthF32x16 : to1+widthF32x16])
		c1 = c1.Add(a.Mul(interceptLo.Merge(interceptHi, m)))
		charge1 = charge1.Add(absF32x16(a, signs).Mul(e))
		at0, at1, to0, to1 = at0+cols, at1+cols, to0+t.rows, to1+t.rows
	}
	return c0, c1, charge0, charge1
}
