// Code generated from lanes_relaxrows_f32x16.go by TestLanesGenerated -update. DO NOT EDIT.

//go:build goexperiment.simd && amd64

package fallback

import "psafe/host/bound"

// relaxRowsF64x8 is relaxRows.sums where no chord is taken, of rows from first on, as
// many as there are sums, whose coefficients are in columns from col on. Lanes are rows, at least a
// vector of them. It takes no minimum, so whatever the numbers it has the plain bits.
func relaxRowsF64x8(t *relaxRows[numF64x8], p, col, first int, s *rowSums[numF64x8]) {
	n, rows := t.a.N, len(s.a)
	from, flip := t.sLo, wordF64x8{}
	if first >= t.a.Cols {
		from, flip = t.sHi, signsF64x8()
	}
	from = from[p/t.a.PerBox*n*t.a.Cols+col:]
	for r := 0; r < rows; r += 2 * widthF64x8 {
		at0, at1 := min(r, rows-widthF64x8), min(r+widthF64x8, rows-widthF64x8)
		var c0, c1, charge0, charge1 vecF64x8
		for j0 := 0; j0 < n; j0 += bound.Block {
			j1 := min(j0+bound.Block, n)
			b0, b1, bCharge0, bCharge1 := relaxBlockF64x8(t, p, from, first, at0, at1, j0, j1, flip)
			c0, c1 = c0.Add(b0), c1.Add(b1)
			charge0, charge1 = charge0.Add(bCharge0), charge1.Add(bCharge1)
		}
		c0.StoreSlice(s.a[at0:])
		c1.StoreSlice(s.a[at1:])
		charge0.StoreSlice(s.b[at0:])
		charge1.StoreSlice(s.b[at1:])
	}
}

// relaxBlockF64x8 relaxes the coefficients of a block of neurons in two vectors of rows, and
// returns the block's sums of constants and charges.
func relaxBlockF64x8(t *relaxRows[numF64x8], p int, rows []numF64x8, first, at0, at1, j0, j1 int, flip wordF64x8) (c0, c1, charge0, charge1 vecF64x8) {
	signs := signsF64x8()
	i, cols := p*t.a.N+j0, t.a.Cols
	out := t.outA[i*t.rows+first:]
	rows = rows[j0*cols:]
	n := j1 - j0
	aLo, aHi, bLo, bHi, err := t.aLo[i:i+n], t.aHi[i:i+n], t.bLo[i:i+n], t.bHi[i:i+n], t.err[i:i+n]
	to0, to1 := at0, at1
	for j := range aLo {
		lo, hi, interceptLo, interceptHi, e := fillF64x8(aLo[j]), fillF64x8(aHi[j]), fillF64x8(bLo[j]), fillF64x8(bHi[j]), fillF64x8(err[j])
		a := flipF64x8(atF64x8(rows, at0), flip)
		m := a.GreaterEqual(vecF64x8{})
		a.Mul(lo.Merge(hi, m)).StoreSlice(out[to0 : to0+widthF64x8 : to0+widthF64x8])
		c0 = c0.Add(a.Mul(interceptLo.Merge(interceptHi, m)))
		charge0 = charge0.Add(absF64x8(a, signs).Mul(e))

		a = flipF64x8(atF64x8(rows, at1), flip)
		m = a.GreaterEqual(vecF64x8{})
		a.Mul(lo.Merge(hi, m)).StoreSlice(out[to1 : to1+widthF64x8 : to1+widthF64x8])
		c1 = c1.Add(a.Mul(interceptLo.Merge(interceptHi, m)))
		charge1 = charge1.Add(absF64x8(a, signs).Mul(e))
		at0, at1, to0, to1 = at0+cols, at1+cols, to0+t.rows, to1+t.rows
	}
	return c0, c1, charge0, charge1
}
