// Code generated from lanes_affine_f32x16.go by TestLanesGenerated -update. DO NOT EDIT.

//go:build goexperiment.simd && amd64

package fallback

import "psafe/host/bound"

// affineF32x8 is affine.sums for items p, ..., p+items-1 of one weight box and n outputs from
// from on, n at least a vector. It returns false, and its sums mean nothing, if it met a number
// that is not finite.
func affineF32x8(t *affine[numF32x8], p, items, from, n int, s *affineScratch[numF32x8]) bool {
	in, out := t.a.In, t.a.Out
	box := p / t.a.PerBox
	clear(s.slots[:items])
	var finite vecF32x8
	for j0 := 0; j0 < in; j0 += bound.Block {
		j1 := min(j0+bound.Block, in)
		at, end := (box*in+j0)*out+from, (box*in+j1-1)*out+from+n
		wLo, wHi := t.wLo[at:end], t.wHi[at:end]
		// What depends on the weights alone is the same for all items.
		var norms [affineTile]numF32x8
		for i := 0; i < n; i += 2 * widthF32x8 {
			finite = finite.Add(affineNormsF32x8(norms[i:], wLo, wHi, out, min(i, n-widthF32x8), min(i+widthF32x8, n-widthF32x8), j1-j0))
		}
		for k := range items {
			x := (p + k) % t.a.Inputs * in
			finite = finite.Add(affineBlockF32x8(&s.slots[k], &norms, wLo, wHi, out, n, t.zLo[x+j0:x+j1], t.zHi[x+j0:x+j1], t.a.NonNeg))
		}
	}
	for k := range items {
		for e := range s.sums[k] {
			unslot(s.sums[k][e][:n], s.slots[k][e][:], widthF32x8)
		}
	}
	return finiteF32x8(finite)
}

// affineNormsF32x8 sums the magnitudes of a block's weights for two vectors of outputs, at0 and
// at1; weights of an input are out apart. The result is finite only if all weights are (it is a
// sum of products of their ends).
func affineNormsF32x8(norms, wLo, wHi []numF32x8, out, at0, at1, inputs int) (finite vecF32x8) {
	signs := signsF32x8()
	var norm0, norm1, finite1 vecF32x8
	for range inputs {
		l, h := atF32x8(wLo, at0), atF32x8(wHi, at0)
		norm0 = norm0.Add(flipF32x8(l, signs).Max(h))
		finite = l.MulAdd(h, finite)
		l, h = atF32x8(wLo, at1), atF32x8(wHi, at1)
		norm1 = norm1.Add(flipF32x8(l, signs).Max(h))
		finite1 = l.MulAdd(h, finite1)
		at0, at1 = at0+out, at1+out
	}
	norm0.StoreSlice(norms)
	norm1.StoreSlice(norms[widthF32x8:])
	return finite.Add(finite1)
}

// affineBlockF32x8 adds a block of inputs to n outputs, with sums at slots. The result is
// finite only if all inputs are.
func affineBlockF32x8(slots *affineSums[numF32x8], norms *[affineTile]numF32x8, wLo, wHi []numF32x8, out, n int, zLo, zHi []numF32x8, nonNeg bool) vecF32x8 {
	var zMin, zSum numF32x8 // -max|z|
	for j, lo := range zLo {
		zMin = min(zMin, min(lo, -zHi[j]))
		zSum += lo + zHi[j]
	}
	zMax := fillF32x8(-zMin)
	for i := 0; i < n; i += 2 * widthF32x8 {
		// The last vector may overlap the one before it, or be the same.
		at0, at1 := min(i, n-widthF32x8), min(i+widthF32x8, n-widthF32x8)
		if nonNeg {
			affineNonNegF32x8(slots, i, wLo, wHi, out, at0, at1, zLo, zHi)
		} else {
			affineAnyF32x8(slots, i, wLo, wHi, out, at0, at1, zLo, zHi)
		}
		add2F32x8(slots[2][i:], atF32x8(norms[:], i).Mul(zMax), atF32x8(norms[:], i+widthF32x8).Mul(zMax))
	}
	return fillF32x8(zSum)
}

// affineNonNegF32x8 adds the products of a block of inputs that are never negative to two
// vectors of outputs, at0 and at1, with sums at slot and after it.
func affineNonNegF32x8(slots *affineSums[numF32x8], slot int, wLo, wHi []numF32x8, out, at0, at1 int, zLo, zHi []numF32x8) {
	var lo0, lo1, hi0, hi1 vecF32x8
	zHi = zHi[:len(zLo)]
	for j, z := range zLo {
		a, b := fillF32x8(z), fillF32x8(zHi[j])
		l, h := atF32x8(wLo, at0), atF32x8(wHi, at0)
		lo0, hi0 = lo0.Add(l.Mul(a).Min(l.Mul(b))), hi0.Add(h.Mul(a).Max(h.Mul(b)))
		l, h = atF32x8(wLo, at1), atF32x8(wHi, at1)
		lo1, hi1 = lo1.Add(l.Mul(a).Min(l.Mul(b))), hi1.Add(h.Mul(a).Max(h.Mul(b)))
		at0, at1 = at0+out, at1+out
	}
	add2F32x8(slots[0][slot:], lo0, lo1)
	add2F32x8(slots[1][slot:], hi0, hi1)
}

// affineAnyF32x8 is affineNonNegF32x8 for inputs of any sign.
func affineAnyF32x8(slots *affineSums[numF32x8], slot int, wLo, wHi []numF32x8, out, at0, at1 int, zLo, zHi []numF32x8) {
	var lo0, lo1, hi0, hi1 vecF32x8
	zHi = zHi[:len(zLo)]
	for j, z := range zLo {
		a, b := fillF32x8(z), fillF32x8(zHi[j])
		l, h := atF32x8(wLo, at0), atF32x8(wHi, at0)
		la, lb, ha, hb := l.Mul(a), l.Mul(b), h.Mul(a), h.Mul(b)
		lo0, hi0 = lo0.Add(la.Min(lb).Min(ha.Min(hb))), hi0.Add(la.Max(lb).Max(ha.Max(hb)))
		l, h = atF32x8(wLo, at1), atF32x8(wHi, at1)
		la, lb, ha, hb = l.Mul(a), l.Mul(b), h.Mul(a), h.Mul(b)
		lo1, hi1 = lo1.Add(la.Min(lb).Min(ha.Min(hb))), hi1.Add(la.Max(lb).Max(ha.Max(hb)))
		at0, at1 = at0+out, at1+out
	}
	add2F32x8(slots[0][slot:], lo0, lo1)
	add2F32x8(slots[1][slot:], hi0, hi1)
}

// atF32x8 is the vector that starts at p[i]. With the capacity stated, the compiler knows that it
// is not 0.
func atF32x8(p []numF32x8, i int) vecF32x8 {
	return loadF32x8(p[i : i+widthF32x8 : i+widthF32x8])
}

// add2F32x8 adds two vectors to sums.
func add2F32x8(sums []numF32x8, a, b vecF32x8) {
	loadF32x8(sums).Add(a).StoreSlice(sums)
	loadF32x8(sums[widthF32x8:]).Add(b).StoreSlice(sums[widthF32x8:])
}
