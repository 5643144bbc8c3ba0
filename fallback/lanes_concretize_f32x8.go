// Code generated from lanes_concretize_f32x16.go by TestLanesGenerated -update. DO NOT EDIT.

//go:build goexperiment.simd && amd64

package fallback

import "psafe/host/bound"

// concretizeF32x8 is concretize.sums, lanes being rows, at least a vector of them. It returns
// false, and its sums mean nothing, if it met a number that is not finite.
func concretizeF32x8(nonNeg bool, lo, hi, xLo, xHi []numF32x8, s *rowSums[numF32x8]) bool {
	rows := len(s.a)
	var all numF32x8
	for j, x := range xLo {
		all += x + xHi[j]
	}
	finite := fillF32x8(all)
	for r := 0; r < rows; r += 2 * widthF32x8 {
		at0, at1 := min(r, rows-widthF32x8), min(r+widthF32x8, rows-widthF32x8)
		var sum0, sum1, mag0, mag1 vecF32x8
		for j0 := 0; j0 < len(xLo); j0 += bound.Block {
			j1 := min(j0+bound.Block, len(xLo))
			s0, s1, m0, m1, f := concretizeBlockF32x8(lo[j0*rows:j1*rows], hi[j0*rows:j1*rows], at0, at1, rows, xLo[j0:j1], xHi[j0:j1], nonNeg)
			sum0, sum1, mag0, mag1 = sum0.Add(s0), sum1.Add(s1), mag0.Add(m0), mag1.Add(m1)
			finite = finite.Add(f)
		}
		sum0.StoreSlice(s.a[at0:])
		sum1.StoreSlice(s.a[at1:])
		mag0.StoreSlice(s.b[at0:])
		mag1.StoreSlice(s.b[at1:])
	}
	return finiteF32x8(finite)
}

// concretizeBlockF32x8 returns a block's sums of two vectors of rows, at0 and at1, and a number
// that is finite only if all coefficients are.
func concretizeBlockF32x8(lo, hi []numF32x8, at0, at1, rows int, xLo, xHi []numF32x8, nonNeg bool) (sum0, sum1, mag0, mag1, finite vecF32x8) {
	signs := signsF32x8()
	xHi = xHi[:len(xLo)]
	for j, x := range xLo {
		a, b := fillF32x8(x), fillF32x8(xHi[j])
		l, h := atF32x8(lo, at0), atF32x8(hi, at0)
		least := l.Mul(a).Min(l.Mul(b))
		if !nonNeg {
			least = least.Min(h.Mul(a).Min(h.Mul(b)))
		}
		sum0, mag0 = sum0.Add(least), mag0.Add(absF32x8(least, signs))
		finite = l.MulAdd(h, finite)

		l, h = atF32x8(lo, at1), atF32x8(hi, at1)
		least = l.Mul(a).Min(l.Mul(b))
		if !nonNeg {
			least = least.Min(h.Mul(a).Min(h.Mul(b)))
		}
		sum1, mag1 = sum1.Add(least), mag1.Add(absF32x8(least, signs))
		finite = l.MulAdd(h, finite)
		at0, at1 = at0+rows, at1+rows
	}
	return sum0, sum1, mag0, mag1, finite
}
