//go:build goexperiment.simd && amd64

package fallback

import "psafe/host/bound"

// affineF32x16 is affine.sums for n outputs from from on, n at least a vector. It returns
// false, and its sums mean nothing, if it met a number that is not finite.
func affineF32x16(t *affine[numF32x16], p, from, n int, sums *[3][affineTile]numF32x16) bool {
	in, out := t.a.In, t.a.Out
	box, x := p/t.a.PerBox, p%t.a.Inputs
	var slots [3][affineTile]numF32x16
	var finite vecF32x16
	for j0 := 0; j0 < in; j0 += bound.Block {
		j1 := min(j0+bound.Block, in)
		at, end := (box*in+j0)*out+from, (box*in+j1-1)*out+from+n
		wLo, wHi := t.wLo[at:end], t.wHi[at:end]
		zLo, zHi := t.zLo[x*in+j0:x*in+j1], t.zHi[x*in+j0:x*in+j1]
		var zMin, zSum numF32x16 // -max|z|
		for j, lo := range zLo {
			zMin = min(zMin, min(lo, -zHi[j]))
			zSum += lo + zHi[j]
		}
		finite = finite.Add(fillF32x16(zSum))
		for i := 0; i < n; i += 2 * widthF32x16 {
			// The last vector may overlap the one before it, or be the same.
			i0, i1 := min(i, n-widthF32x16), min(i+widthF32x16, n-widthF32x16)
			if t.a.NonNeg {
				finite = finite.Add(affineNonNegF32x16(&slots, i, wLo[i0:], wHi[i0:], out, i1-i0, zLo, zHi, -zMin))
			} else {
				finite = finite.Add(affineAnyF32x16(&slots, i, wLo[i0:], wHi[i0:], out, i1-i0, zLo, zHi, -zMin))
			}
		}
	}
	for k := range sums {
		unslot(sums[k][:n], slots[k][:], widthF32x16)
	}
	return finiteF32x16(finite)
}

// affineNonNegF32x16 adds a block of inputs that are never negative to two vectors of outputs,
// with sums at slot and after it. Weights of an input are out apart, those of the second vector
// apart from those of the first. The result is finite only if all weights are (it is a sum of
// products of their ends).
func affineNonNegF32x16(slots *[3][affineTile]numF32x16, slot int, wLo, wHi []numF32x16, out, apart int, zLo, zHi []numF32x16, zMax numF32x16) (finite vecF32x16) {
	signs := signsF32x16()
	var lo0, lo1, hi0, hi1, norm0, norm1 vecF32x16
	zHi = zHi[:len(zLo)]
	size := apart + widthF32x16
	for j, z := range zLo {
		wl, wh := wLo[j*out:j*out+size], wHi[j*out:j*out+size]
		a, b := fillF32x16(z), fillF32x16(zHi[j])
		l, h := loadF32x16(wl), loadF32x16(wh)
		lo0 = lo0.Add(l.Mul(a).Min(l.Mul(b)))
		hi0 = hi0.Add(h.Mul(a).Max(h.Mul(b)))
		norm0 = norm0.Add(flipF32x16(l, signs).Max(h))
		finite = l.MulAdd(h, finite)

		l, h = loadF32x16(wl[apart:]), loadF32x16(wh[apart:])
		lo1 = lo1.Add(l.Mul(a).Min(l.Mul(b)))
		hi1 = hi1.Add(h.Mul(a).Max(h.Mul(b)))
		norm1 = norm1.Add(flipF32x16(l, signs).Max(h))
		finite = l.MulAdd(h, finite)
	}
	factor := fillF32x16(zMax)
	add2F32x16(slots[0][slot:], lo0, lo1)
	add2F32x16(slots[1][slot:], hi0, hi1)
	add2F32x16(slots[2][slot:], norm0.Mul(factor), norm1.Mul(factor))
	return finite
}

// affineAnyF32x16 is affineNonNegF32x16 for inputs of any sign.
func affineAnyF32x16(slots *[3][affineTile]numF32x16, slot int, wLo, wHi []numF32x16, out, apart int, zLo, zHi []numF32x16, zMax numF32x16) (finite vecF32x16) {
	signs := signsF32x16()
	var lo0, lo1, hi0, hi1, norm0, norm1 vecF32x16
	zHi = zHi[:len(zLo)]
	size := apart + widthF32x16
	for j, z := range zLo {
		wl, wh := wLo[j*out:j*out+size], wHi[j*out:j*out+size]
		a, b := fillF32x16(z), fillF32x16(zHi[j])
		l, h := loadF32x16(wl), loadF32x16(wh)
		la, lb, ha, hb := l.Mul(a), l.Mul(b), h.Mul(a), h.Mul(b)
		lo0 = lo0.Add(la.Min(lb).Min(ha.Min(hb)))
		hi0 = hi0.Add(la.Max(lb).Max(ha.Max(hb)))
		norm0 = norm0.Add(flipF32x16(l, signs).Max(h))
		finite = l.MulAdd(h, finite)

		l, h = loadF32x16(wl[apart:]), loadF32x16(wh[apart:])
		la, lb, ha, hb = l.Mul(a), l.Mul(b), h.Mul(a), h.Mul(b)
		lo1 = lo1.Add(la.Min(lb).Min(ha.Min(hb)))
		hi1 = hi1.Add(la.Max(lb).Max(ha.Max(hb)))
		norm1 = norm1.Add(flipF32x16(l, signs).Max(h))
		finite = l.MulAdd(h, finite)
	}
	factor := fillF32x16(zMax)
	add2F32x16(slots[0][slot:], lo0, lo1)
	add2F32x16(slots[1][slot:], hi0, hi1)
	add2F32x16(slots[2][slot:], norm0.Mul(factor), norm1.Mul(factor))
	return finite
}

// add2F32x16 adds two vectors to sums.
func add2F32x16(sums []numF32x16, a, b vecF32x16) {
	loadF32x16(sums).Add(a).StoreSlice(sums)
	loadF32x16(sums[widthF32x16:]).Add(b).StoreSlice(sums[widthF32x16:])
}
