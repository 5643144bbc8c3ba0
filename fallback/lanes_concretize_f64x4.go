// Code generated from lanes_concretize_f32x16.go by TestLanesGenerated -update. DO NOT EDIT.

//go:build goexperiment.simd && amd64

package fallback

import "psafe/host/bound"

// concretizeF64x4 is concretize.sums, lanes being rows, at least a vector of them. It returns
// false, and its sums mean nothing, if it met a number that is not finite.
func concretizeF64x4(t *concretize[numF64x4], p, first int, s *rowSums[numF64x4]) bool {
	rows, in, x := len(s.a), t.a.In, p%t.a.Inputs*t.a.In
	xLo, xHi := t.xLo[x:x+in], t.xHi[x:x+in]
	var all numF64x4
	for j, x := range xLo {
		all += x + xHi[j]
	}
	finite := fillF64x4(all)
	for r := 0; r < rows; r += 2 * widthF64x4 {
		at0, at1 := first+min(r, rows-widthF64x4), first+min(r+widthF64x4, rows-widthF64x4)
		var sum0, sum1, mag0, mag1 vecF64x4
		for j0 := 0; j0 < in; j0 += bound.Block {
			j1, at := min(j0+bound.Block, in), (p*in+j0)*t.a.R
			s0, s1, m0, m1, f := concretizeBlockF64x4(t.sLo[at:], t.sHi[at:], at0, at1, t.a.R, xLo[j0:j1], xHi[j0:j1], t.a.NonNeg)
			sum0, sum1, mag0, mag1 = sum0.Add(s0), sum1.Add(s1), mag0.Add(m0), mag1.Add(m1)
			finite = finite.Add(f)
		}
		sum0.StoreSlice(s.a[at0-first:])
		sum1.StoreSlice(s.a[at1-first:])
		mag0.StoreSlice(s.b[at0-first:])
		mag1.StoreSlice(s.b[at1-first:])
	}
	return finiteF64x4(finite)
}

// concretizeBlockF64x4 returns a block's sums of two vectors of rows, at0 and at1, and a number
// that is finite only if all coefficients are.
func concretizeBlockF64x4(lo, hi []numF64x4, at0, at1, rows int, xLo, xHi []numF64x4, nonNeg bool) (sum0, sum1, mag0, mag1, finite vecF64x4) {
	signs := signsF64x4()
	xHi = xHi[:len(xLo)]
	for j, x := range xLo {
		a, b := fillF64x4(x), fillF64x4(xHi[j])
		l, h := atF64x4(lo, at0), atF64x4(hi, at0)
		least := l.Mul(a).Min(l.Mul(b))
		if !nonNeg {
			least = least.Min(h.Mul(a).Min(h.Mul(b)))
		}
		sum0, mag0 = sum0.Add(least), mag0.Add(absF64x4(least, signs))
		finite = l.MulAdd(h, finite)

		l, h = atF64x4(lo, at1), atF64x4(hi, at1)
		least = l.Mul(a).Min(l.Mul(b))
		if !nonNeg {
			least = least.Min(h.Mul(a).Min(h.Mul(b)))
		}
		sum1, mag1 = sum1.Add(least), mag1.Add(absF64x4(least, signs))
		finite = l.MulAdd(h, finite)
		at0, at1 = at0+rows, at1+rows
	}
	return sum0, sum1, mag0, mag1, finite
}
