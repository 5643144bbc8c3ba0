// Code generated from lanes_affine_f32x16.go by TestLanesGenerated -update. DO NOT EDIT.

//go:build goexperiment.simd && amd64

package fallback

import "psafe/host/bound"

// affineF64x4 is affine.sums for n outputs from from on, n at least a vector. It returns
// false, and its sums mean nothing, if it met a number that is not finite.
func affineF64x4(t *affine[numF64x4], p, from, n int, sums *[3][affineTile]numF64x4) bool {
	in, out := t.a.In, t.a.Out
	box, x := p/t.a.PerBox, p%t.a.Inputs
	var slots [3][affineTile]numF64x4
	var finite vecF64x4
	for j0 := 0; j0 < in; j0 += bound.Block {
		j1 := min(j0+bound.Block, in)
		at, end := (box*in+j0)*out+from, (box*in+j1-1)*out+from+n
		wLo, wHi := t.wLo[at:end], t.wHi[at:end]
		zLo, zHi := t.zLo[x*in+j0:x*in+j1], t.zHi[x*in+j0:x*in+j1]
		var zMin, zSum numF64x4 // -max|z|
		for j, lo := range zLo {
			zMin = min(zMin, min(lo, -zHi[j]))
			zSum += lo + zHi[j]
		}
		finite = finite.Add(fillF64x4(zSum))
		for i := 0; i < n; i += 2 * widthF64x4 {
			// The last vector may overlap the one before it, or be the same.
			i0, i1 := min(i, n-widthF64x4), min(i+widthF64x4, n-widthF64x4)
			if t.a.NonNeg {
				finite = finite.Add(affineNonNegF64x4(&slots, i, wLo[i0:], wHi[i0:], out, i1-i0, zLo, zHi, -zMin))
			} else {
				finite = finite.Add(affineAnyF64x4(&slots, i, wLo[i0:], wHi[i0:], out, i1-i0, zLo, zHi, -zMin))
			}
		}
	}
	for k := range sums {
		unslot(sums[k][:n], slots[k][:], widthF64x4)
	}
	return finiteF64x4(finite)
}

// affineNonNegF64x4 adds a block of inputs that are never negative to two vectors of outputs,
// with sums at slot and after it. Weights of an input are out apart, those of the second vector
// apart from those of the first. The result is finite only if all weights are (it is a sum of
// products of their ends).
func affineNonNegF64x4(slots *[3][affineTile]numF64x4, slot int, wLo, wHi []numF64x4, out, apart int, zLo, zHi []numF64x4, zMax numF64x4) (finite vecF64x4) {
	signs := signsF64x4()
	var lo0, lo1, hi0, hi1, norm0, norm1 vecF64x4
	zHi = zHi[:len(zLo)]
	size := apart + widthF64x4
	for j, z := range zLo {
		wl, wh := wLo[j*out:j*out+size], wHi[j*out:j*out+size]
		a, b := fillF64x4(z), fillF64x4(zHi[j])
		l, h := loadF64x4(wl), loadF64x4(wh)
		lo0 = lo0.Add(l.Mul(a).Min(l.Mul(b)))
		hi0 = hi0.Add(h.Mul(a).Max(h.Mul(b)))
		norm0 = norm0.Add(flipF64x4(l, signs).Max(h))
		finite = l.MulAdd(h, finite)

		l, h = loadF64x4(wl[apart:]), loadF64x4(wh[apart:])
		lo1 = lo1.Add(l.Mul(a).Min(l.Mul(b)))
		hi1 = hi1.Add(h.Mul(a).Max(h.Mul(b)))
		norm1 = norm1.Add(flipF64x4(l, signs).Max(h))
		finite = l.MulAdd(h, finite)
	}
	factor := fillF64x4(zMax)
	add2F64x4(slots[0][slot:], lo0, lo1)
	add2F64x4(slots[1][slot:], hi0, hi1)
	add2F64x4(slots[2][slot:], norm0.Mul(factor), norm1.Mul(factor))
	return finite
}

// affineAnyF64x4 is affineNonNegF64x4 for inputs of any sign.
func affineAnyF64x4(slots *[3][affineTile]numF64x4, slot int, wLo, wHi []numF64x4, out, apart int, zLo, zHi []numF64x4, zMax numF64x4) (finite vecF64x4) {
	signs := signsF64x4()
	var lo0, lo1, hi0, hi1, norm0, norm1 vecF64x4
	zHi = zHi[:len(zLo)]
	size := apart + widthF64x4
	for j, z := range zLo {
		wl, wh := wLo[j*out:j*out+size], wHi[j*out:j*out+size]
		a, b := fillF64x4(z), fillF64x4(zHi[j])
		l, h := loadF64x4(wl), loadF64x4(wh)
		la, lb, ha, hb := l.Mul(a), l.Mul(b), h.Mul(a), h.Mul(b)
		lo0 = lo0.Add(la.Min(lb).Min(ha.Min(hb)))
		hi0 = hi0.Add(la.Max(lb).Max(ha.Max(hb)))
		norm0 = norm0.Add(flipF64x4(l, signs).Max(h))
		finite = l.MulAdd(h, finite)

		l, h = loadF64x4(wl[apart:]), loadF64x4(wh[apart:])
		la, lb, ha, hb = l.Mul(a), l.Mul(b), h.Mul(a), h.Mul(b)
		lo1 = lo1.Add(la.Min(lb).Min(ha.Min(hb)))
		hi1 = hi1.Add(la.Max(lb).Max(ha.Max(hb)))
		norm1 = norm1.Add(flipF64x4(l, signs).Max(h))
		finite = l.MulAdd(h, finite)
	}
	factor := fillF64x4(zMax)
	add2F64x4(slots[0][slot:], lo0, lo1)
	add2F64x4(slots[1][slot:], hi0, hi1)
	add2F64x4(slots[2][slot:], norm0.Mul(factor), norm1.Mul(factor))
	return finite
}

// add2F64x4 adds two vectors to sums.
func add2F64x4(sums []numF64x4, a, b vecF64x4) {
	loadF64x4(sums).Add(a).StoreSlice(sums)
	loadF64x4(sums[widthF64x4:]).Add(b).StoreSlice(sums[widthF64x4:])
}
