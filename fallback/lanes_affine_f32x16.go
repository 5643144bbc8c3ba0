//go:build goexperiment.simd && amd64

package fallback

import "psafe/host/bound"

// affineF32x16 is affine.sums for items p, ..., p+items-1 of one weight box and n outputs from
// from on, n at least a vector. It returns false, and its sums mean nothing, if it met a number
// that is not finite.
func affineF32x16(t *affine[numF32x16], p, items, from, n int, s *affineScratch[numF32x16]) bool {
	in, out := t.a.In, t.a.Out
	box := p / t.a.PerBox
	clear(s.slots[:items])
	var finite vecF32x16
	for j0 := 0; j0 < in; j0 += bound.Block {
		j1 := min(j0+bound.Block, in)
		at, end := (box*in+j0)*out+from, (box*in+j1-1)*out+from+n
		wLo, wHi := t.wLo[at:end], t.wHi[at:end]
		// What depends on the weights alone is the same for all items.
		var norms [affineTile]numF32x16
		for i := 0; i < n; i += 2 * widthF32x16 {
			finite = finite.Add(affineNormsF32x16(norms[i:], wLo, wHi, out, min(i, n-widthF32x16), min(i+widthF32x16, n-widthF32x16), j1-j0))
		}
		for k := range items {
			x := (p + k) % t.a.Inputs * in
			finite = finite.Add(affineBlockF32x16(&s.slots[k], &norms, wLo, wHi, out, n, t.zLo[x+j0:x+j1], t.zHi[x+j0:x+j1], t.a.NonNeg))
		}
	}
	for k := range items {
		for e := range s.sums[k] {
			unslot(s.sums[k][e][:n], s.slots[k][e][:], widthF32x16)
		}
	}
	return finiteF32x16(finite)
}

// affineNormsF32x16 sums the magnitudes of a block's weights for two vectors of outputs, at0 and
// at1; weights of an input are out apart. The result is finite only if all weights are (it is a
// sum of products of their ends).
func affineNormsF32x16(norms, wLo, wHi []numF32x16, out, at0, at1, inputs int) (finite vecF32x16) {
	signs := signsF32x16()
	var norm0, norm1, finite1 vecF32x16
	for range inputs {
		l, h := atF32x16(wLo, at0), atF32x16(wHi, at0)
		norm0 = norm0.Add(flipF32x16(l, signs).Max(h))
		finite = l.MulAdd(h, finite)
		l, h = atF32x16(wLo, at1), atF32x16(wHi, at1)
		norm1 = norm1.Add(flipF32x16(l, signs).Max(h))
		finite1 = l.MulAdd(h, finite1)
		at0, at1 = at0+out, at1+out
	}
	norm0.StoreSlice(norms)
	norm1.StoreSlice(norms[widthF32x16:])
	return finite.Add(finite1)
}

// affineBlockF32x16 adds a block of inputs to n outputs, with sums at slots. The result is
// finite only if all inputs are.
func affineBlockF32x16(slots *affineSums[numF32x16], norms *[affineTile]numF32x16, wLo, wHi []numF32x16, out, n int, zLo, zHi []numF32x16, nonNeg bool) vecF32x16 {
	var zMin, zSum numF32x16 // -max|z|
	for j, lo := range zLo {
		zMin = min(zMin, min(lo, -zHi[j]))
		zSum += lo + zHi[j]
	}
	zMax := fillF32x16(-zMin)
	for i := 0; i < n; i += 2 * widthF32x16 {
		// The last vector may overlap the one before it, or be the same.
		at0, at1 := min(i, n-widthF32x16), min(i+widthF32x16, n-widthF32x16)
		if nonNeg {
			affineNonNegF32x16(slots, i, wLo, wHi, out, at0, at1, zLo, zHi)
		} else {
			affineAnyF32x16(slots, i, wLo, wHi, out, at0, at1, zLo, zHi)
		}
		add2F32x16(slots[2][i:], atF32x16(norms[:], i).Mul(zMax), atF32x16(norms[:], i+widthF32x16).Mul(zMax))
	}
	return fillF32x16(zSum)
}

// affineNonNegF32x16 adds the products of a block of inputs that are never negative to two
// vectors of outputs, at0 and at1, with sums at slot and after it.
func affineNonNegF32x16(slots *affineSums[numF32x16], slot int, wLo, wHi []numF32x16, out, at0, at1 int, zLo, zHi []numF32x16) {
	var lo0, lo1, hi0, hi1 vecF32x16
	zHi = zHi[:len(zLo)]
	for j, z := range zLo {
		a, b := fillF32x16(z), fillF32x16(zHi[j])
		l, h := atF32x16(wLo, at0), atF32x16(wHi, at0)
		lo0, hi0 = lo0.Add(l.Mul(a).Min(l.Mul(b))), hi0.Add(h.Mul(a).Max(h.Mul(b)))
		l, h = atF32x16(wLo, at1), atF32x16(wHi, at1)
		lo1, hi1 = lo1.Add(l.Mul(a).Min(l.Mul(b))), hi1.Add(h.Mul(a).Max(h.Mul(b)))
		at0, at1 = at0+out, at1+out
	}
	add2F32x16(slots[0][slot:], lo0, lo1)
	add2F32x16(slots[1][slot:], hi0, hi1)
}

// affineAnyF32x16 is affineNonNegF32x16 for inputs of any sign.
func affineAnyF32x16(slots *affineSums[numF32x16], slot int, wLo, wHi []numF32x16, out, at0, at1 int, zLo, zHi []numF32x16) {
	var lo0, lo1, hi0, hi1 vecF32x16
	zHi = zHi[:len(zLo)]
	for j, z := range zLo {
		a, b := fillF32x16(z), fillF32x16(zHi[j])
		l, h := atF32x16(wLo, at0), atF32x16(wHi, at0)
		la, lb, ha, hb := l.Mul(a), l.Mul(b), h.Mul(a), h.Mul(b)
		lo0, hi0 = lo0.Add(la.Min(lb).Min(ha.Min(hb))), hi0.Add(la.Max(lb).Max(ha.Max(hb)))
		l, h = atF32x16(wLo, at1), atF32x16(wHi, at1)
		la, lb, ha, hb = l.Mul(a), l.Mul(b), h.Mul(a), h.Mul(b)
		lo1, hi1 = lo1.Add(la.Min(lb).Min(ha.Min(hb))), hi1.Add(la.Max(lb).Max(ha.Max(hb)))
		at0, at1 = at0+out, at1+out
	}
	add2F32x16(slots[0][slot:], lo0, lo1)
	add2F32x16(slots[1][slot:], hi0, hi1)
}

// atF32x16 is the vector that starts at p[i]. With the capacity stated, the compiler knows that it
// is not 0.
func atF32x16(p []numF32x16, i int) vecF32x16 {
	return loadF32x16(p[i : i+widthF32x16 : i+widthF32x16])
}

// add2F32x16 adds two vectors to sums.
func add2F32x16(sums []numF32x16, a, b vecF32x16) {
	loadF32x16(sums).Add(a).StoreSlice(sums)
	loadF32x16(sums[widthF32x16:]).Add(b).StoreSlice(sums[widthF32x16:])
}
