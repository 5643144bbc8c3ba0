//go:build goexperiment.simd && amd64

package fallback

import "psafe/host/bound"

// concretizeF32x16 is concretize.sums, lanes being rows, at least a vector of them. It returns
// false, and its sums mean nothing, if it met a number that is not finite.
func concretizeF32x16(t *concretize[numF32x16], p, first int, s *rowSums[numF32x16]) bool {
	rows, in, x := len(s.a), t.a.In, p%t.a.Inputs*t.a.In
	xLo, xHi := t.xLo[x:x+in], t.xHi[x:x+in]
	var all numF32x16
	for j, x := range xLo {
		all += x + xHi[j]
	}
	finite := fillF32x16(all)
	for r := 0; r < rows; r += 2 * widthF32x16 {
		at0, at1 := first+min(r, rows-widthF32x16), first+min(r+widthF32x16, rows-widthF32x16)
		var sum0, sum1, mag0, mag1 vecF32x16
		for j0 := 0; j0 < in; j0 += bound.Block {
			j1, at := min(j0+bound.Block, in), (p*in+j0)*t.a.R
			s0, s1, m0, m1, f := concretizeBlockF32x16(t.sLo[at:], t.sHi[at:], at0, at1, t.a.R, xLo[j0:j1], xHi[j0:j1], t.a.NonNeg)
			sum0, sum1, mag0, mag1 = sum0.Add(s0), sum1.Add(s1), mag0.Add(m0), mag1.Add(m1)
			finite = finite.Add(f)
		}
		sum0.StoreSlice(s.a[at0-first:])
		sum1.StoreSlice(s.a[at1-first:])
		mag0.StoreSlice(s.b[at0-first:])
		mag1.StoreSlice(s.b[at1-first:])
	}
	return finiteF32x16(finite)
}

// concretizeBlockF32x16 returns a block's sums of two vectors of rows, at0 and at1, and a number
// that is finite only if all coefficients are.
func concretizeBlockF32x16(lo, hi []numF32x16, at0, at1, rows int, xLo, xHi []numF32x16, nonNeg bool) (sum0, sum1, mag0, mag1, finite vecF32x16) {
	signs := signsF32x16()
	xHi = xHi[:len(xLo)]
	for j, x := range xLo {
		a, b := fillF32x16(x), fillF32x16(xHi[j])
		l, h := atF32x16(lo, at0), atF32x16(hi, at0)
		least := l.Mul(a).Min(l.Mul(b))
		if !nonNeg {
			least = least.Min(h.Mul(a).Min(h.Mul(b)))
		}
		sum0, mag0 = sum0.Add(least), mag0.Add(absF32x16(least, signs))
		finite = l.MulAdd(h, finite)

		l, h = atF32x16(lo, at1), atF32x16(hi, at1)
		least = l.Mul(a).Min(l.Mul(b))
		if !nonNeg {
			least = least.Min(h.Mul(a).Min(h.Mul(b)))
		}
		sum1, mag1 = sum1.Add(least), mag1.Add(absF32x16(least, signs))
		finite = l.MulAdd(h, finite)
		at0, at1 = at0+rows, at1+rows
	}
	return sum0, sum1, mag0, mag1, finite
}
