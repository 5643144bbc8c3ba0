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
			at0, at1 := min(i, n-widthF32x16), min(i+widthF32x16, n-widthF32x16)
			finite = finite.Add(affineBlockF32x16(&slots, i, wLo, wHi, out, at0, at1, zLo, zHi, -zMin, t.a.NonNeg))
		}
	}
	for k := range sums {
		unslot(sums[k][:n], slots[k][:], widthF32x16)
	}
	return finiteF32x16(finite)
}

// affineBlockF32x16 adds a block of inputs to two vectors of outputs, at0 and at1, with sums
// at slot and after it; weights of an input are out apart. The result is finite only if all
// weights are (it is a sum of products of their ends).
func affineBlockF32x16(slots *[3][affineTile]numF32x16, slot int, wLo, wHi []numF32x16, out, at0, at1 int, zLo, zHi []numF32x16, zMax numF32x16, nonNeg bool) (finite vecF32x16) {
	signs := signsF32x16()
	var lo0, lo1, hi0, hi1, norm0, norm1 vecF32x16
	zHi = zHi[:len(zLo)]
	for j, z := range zLo {
		a, b := fillF32x16(z), fillF32x16(zHi[j])
		l, h := loadF32x16(wLo[at0:]), loadF32x16(wHi[at0:])
		least, most := l.Mul(a).Min(l.Mul(b)), h.Mul(a).Max(h.Mul(b))
		if !nonNeg {
			least, most = least.Min(h.Mul(a).Min(h.Mul(b))), most.Max(l.Mul(a).Max(l.Mul(b)))
		}
		lo0, hi0 = lo0.Add(least), hi0.Add(most)
		norm0 = norm0.Add(flipF32x16(l, signs).Max(h))
		finite = l.MulAdd(h, finite)

		l, h = loadF32x16(wLo[at1:]), loadF32x16(wHi[at1:])
		least, most = l.Mul(a).Min(l.Mul(b)), h.Mul(a).Max(h.Mul(b))
		if !nonNeg {
			least, most = least.Min(h.Mul(a).Min(h.Mul(b))), most.Max(l.Mul(a).Max(l.Mul(b)))
		}
		lo1, hi1 = lo1.Add(least), hi1.Add(most)
		norm1 = norm1.Add(flipF32x16(l, signs).Max(h))
		finite = l.MulAdd(h, finite)
		at0, at1 = at0+out, at1+out
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
