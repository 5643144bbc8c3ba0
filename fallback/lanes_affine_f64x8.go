// Code generated from lanes_affine_f32x16.go by TestLanesGenerated -update. DO NOT EDIT.

//go:build goexperiment.simd && amd64

package fallback

import "psafe/host/bound"

// affineF64x8 is affine.sums for n outputs from from on, n at least a vector. It returns
// false, and its sums mean nothing, if it met a number that is not finite.
func affineF64x8(t *affine[numF64x8], p, from, n int, sums *[3][affineTile]numF64x8) bool {
	in, out := t.a.In, t.a.Out
	box, x := p/t.a.PerBox, p%t.a.Inputs
	var slots [3][affineTile]numF64x8
	var finite vecF64x8
	for j0 := 0; j0 < in; j0 += bound.Block {
		j1 := min(j0+bound.Block, in)
		at, end := (box*in+j0)*out+from, (box*in+j1-1)*out+from+n
		wLo, wHi := t.wLo[at:end], t.wHi[at:end]
		zLo, zHi := t.zLo[x*in+j0:x*in+j1], t.zHi[x*in+j0:x*in+j1]
		var zMin, zSum numF64x8 // -max|z|
		for j, lo := range zLo {
			zMin = min(zMin, min(lo, -zHi[j]))
			zSum += lo + zHi[j]
		}
		finite = finite.Add(fillF64x8(zSum))
		for i := 0; i < n; i += 2 * widthF64x8 {
			at0, at1 := min(i, n-widthF64x8), min(i+widthF64x8, n-widthF64x8)
			finite = finite.Add(affineBlockF64x8(&slots, i, wLo, wHi, out, at0, at1, zLo, zHi, -zMin, t.a.NonNeg))
		}
	}
	for k := range sums {
		unslot(sums[k][:n], slots[k][:], widthF64x8)
	}
	return finiteF64x8(finite)
}

// affineBlockF64x8 adds a block of inputs to two vectors of outputs, at0 and at1, with sums
// at slot and after it; weights of an input are out apart. The result is finite only if all
// weights are (it is a sum of products of their ends).
func affineBlockF64x8(slots *[3][affineTile]numF64x8, slot int, wLo, wHi []numF64x8, out, at0, at1 int, zLo, zHi []numF64x8, zMax numF64x8, nonNeg bool) (finite vecF64x8) {
	signs := signsF64x8()
	var lo0, lo1, hi0, hi1, norm0, norm1 vecF64x8
	zHi = zHi[:len(zLo)]
	for j, z := range zLo {
		a, b := fillF64x8(z), fillF64x8(zHi[j])
		l, h := loadF64x8(wLo[at0:]), loadF64x8(wHi[at0:])
		least, most := l.Mul(a).Min(l.Mul(b)), h.Mul(a).Max(h.Mul(b))
		if !nonNeg {
			least, most = least.Min(h.Mul(a).Min(h.Mul(b))), most.Max(l.Mul(a).Max(l.Mul(b)))
		}
		lo0, hi0 = lo0.Add(least), hi0.Add(most)
		norm0 = norm0.Add(flipF64x8(l, signs).Max(h))
		finite = l.MulAdd(h, finite)

		l, h = loadF64x8(wLo[at1:]), loadF64x8(wHi[at1:])
		least, most = l.Mul(a).Min(l.Mul(b)), h.Mul(a).Max(h.Mul(b))
		if !nonNeg {
			least, most = least.Min(h.Mul(a).Min(h.Mul(b))), most.Max(l.Mul(a).Max(l.Mul(b)))
		}
		lo1, hi1 = lo1.Add(least), hi1.Add(most)
		norm1 = norm1.Add(flipF64x8(l, signs).Max(h))
		finite = l.MulAdd(h, finite)
		at0, at1 = at0+out, at1+out
	}
	factor := fillF64x8(zMax)
	add2F64x8(slots[0][slot:], lo0, lo1)
	add2F64x8(slots[1][slot:], hi0, hi1)
	add2F64x8(slots[2][slot:], norm0.Mul(factor), norm1.Mul(factor))
	return finite
}

// add2F64x8 adds two vectors to sums.
func add2F64x8(sums []numF64x8, a, b vecF64x8) {
	loadF64x8(sums).Add(a).StoreSlice(sums)
	loadF64x8(sums[widthF64x8:]).Add(b).StoreSlice(sums[widthF64x8:])
}
