//go:build goexperiment.simd && amd64

package fallback

import (
	"simd/archsimd"

	"psafe/host/bound"
)

// affineLanes adds the products of the inputs z[from:to], a block, to the sums of the
// first outputs of a tile of n, and returns of how many. The first weight is w[at].
func affineLanes[T bound.Real](t *affine[T], at, n, from, to int, block *[3][affineTile]T) (done int) {
	switch t := any(t).(type) {
	case *affine[float32]:
		return affineBlock32(t, at, n, from, to, any(block).(*[3][affineTile]float32))
	case *affine[float64]:
		return affineBlock64(t, at, n, from, to, any(block).(*[3][affineTile]float64))
	}
	return 0
}

func affineBlock32(t *affine[float32], at, n, from, to int, block *[3][affineTile]float32) int {
	out, n := t.a.Out, n&^15
	j := from
	for ; j+2 <= to; j, at = j+2, at+2*out {
		w := [4][]float32{t.wLo[at : at+n], t.wHi[at : at+n], t.wLo[at+out : at+out+n], t.wHi[at+out : at+out+n]}
		z := [4]float32{t.zLo[j], t.zHi[j], t.zLo[j+1], t.zHi[j+1]}
		if t.a.NonNeg {
			affineRowsNonNeg32(block, n, w, z)
		} else {
			affineRows32(block, n, w, z)
		}
	}
	if j < to { // an odd row
		affineRow(block[0][:n], block[1][:n], block[2][:n], t.wLo[at:at+n], t.wHi[at:at+n], t.zLo[j], t.zHi[j])
	}
	return n
}

// affineRowsNonNeg32 is affineRowNonNeg for one input and the next: w holds their
// lower and upper ends, z theirs.
func affineRowsNonNeg32(block *[3][affineTile]float32, n int, w [4][]float32, z [4]float32) {
	sign := archsimd.BroadcastUint32x16(1 << 31)
	a, b := archsimd.BroadcastFloat32x16(z[0]), archsimd.BroadcastFloat32x16(z[1])
	c, d := archsimd.BroadcastFloat32x16(z[2]), archsimd.BroadcastFloat32x16(z[3])
	w0, w1, w2, w3 := w[0][:n], w[1][:n], w[2][:n], w[3][:n]
	for i := 0; i+16 <= n && i+16 <= affineTile; i += 16 {
		lo, hi, norm := (*[16]float32)(block[0][i:i+16]), (*[16]float32)(block[1][i:i+16]), (*[16]float32)(block[2][i:i+16])
		l, h := archsimd.LoadFloat32x16((*[16]float32)(w0[i:i+16])), archsimd.LoadFloat32x16((*[16]float32)(w1[i:i+16]))
		sumLo := archsimd.LoadFloat32x16(lo).Add(l.Mul(a).Min(l.Mul(b)))
		sumHi := archsimd.LoadFloat32x16(hi).Add(h.Mul(a).Max(h.Mul(b)))
		sum := archsimd.LoadFloat32x16(norm).Add(l.AsUint32x16().Xor(sign).AsFloat32x16().Max(h))
		l, h = archsimd.LoadFloat32x16((*[16]float32)(w2[i:i+16])), archsimd.LoadFloat32x16((*[16]float32)(w3[i:i+16]))
		sumLo.Add(l.Mul(c).Min(l.Mul(d))).Store(lo)
		sumHi.Add(h.Mul(c).Max(h.Mul(d))).Store(hi)
		sum.Add(l.AsUint32x16().Xor(sign).AsFloat32x16().Max(h)).Store(norm)
	}
}

// affineRows32 is affineRow for one input and the next.
//
// Vector minima lose a NaN in the first operand. If an end-point of a weight is not
// finite, neither is any of its two products; in the order of operands below the
// least or the largest of the four products then is not finite either, so that the
// sums tell (affine.sums).
func affineRows32(block *[3][affineTile]float32, n int, w [4][]float32, z [4]float32) {
	sign := archsimd.BroadcastUint32x16(1 << 31)
	a, b := archsimd.BroadcastFloat32x16(z[0]), archsimd.BroadcastFloat32x16(z[1])
	c, d := archsimd.BroadcastFloat32x16(z[2]), archsimd.BroadcastFloat32x16(z[3])
	w0, w1, w2, w3 := w[0][:n], w[1][:n], w[2][:n], w[3][:n]
	for i := 0; i+16 <= n && i+16 <= affineTile; i += 16 {
		lo, hi, norm := (*[16]float32)(block[0][i:i+16]), (*[16]float32)(block[1][i:i+16]), (*[16]float32)(block[2][i:i+16])
		l, h := archsimd.LoadFloat32x16((*[16]float32)(w0[i:i+16])), archsimd.LoadFloat32x16((*[16]float32)(w1[i:i+16]))
		la, lb, ha, hb := l.Mul(a), l.Mul(b), h.Mul(a), h.Mul(b)
		sumLo := archsimd.LoadFloat32x16(lo).Add(la.Min(lb).Min(ha.Min(hb)))
		sumHi := archsimd.LoadFloat32x16(hi).Add(ha.Max(hb).Max(la.Max(lb)))
		sum := archsimd.LoadFloat32x16(norm).Add(l.AsUint32x16().Xor(sign).AsFloat32x16().Max(h))
		l, h = archsimd.LoadFloat32x16((*[16]float32)(w2[i:i+16])), archsimd.LoadFloat32x16((*[16]float32)(w3[i:i+16]))
		la, lb, ha, hb = l.Mul(c), l.Mul(d), h.Mul(c), h.Mul(d)
		sumLo.Add(la.Min(lb).Min(ha.Min(hb))).Store(lo)
		sumHi.Add(ha.Max(hb).Max(la.Max(lb))).Store(hi)
		sum.Add(l.AsUint32x16().Xor(sign).AsFloat32x16().Max(h)).Store(norm)
	}
}

func affineBlock64(t *affine[float64], at, n, from, to int, block *[3][affineTile]float64) int {
	out, n := t.a.Out, n&^7
	j := from
	for ; j+2 <= to; j, at = j+2, at+2*out {
		w := [4][]float64{t.wLo[at : at+n], t.wHi[at : at+n], t.wLo[at+out : at+out+n], t.wHi[at+out : at+out+n]}
		z := [4]float64{t.zLo[j], t.zHi[j], t.zLo[j+1], t.zHi[j+1]}
		if t.a.NonNeg {
			affineRowsNonNeg64(block, n, w, z)
		} else {
			affineRows64(block, n, w, z)
		}
	}
	if j < to { // an odd row
		affineRow(block[0][:n], block[1][:n], block[2][:n], t.wLo[at:at+n], t.wHi[at:at+n], t.zLo[j], t.zHi[j])
	}
	return n
}

// affineRowsNonNeg64 is affineRowNonNeg for one input and the next: w holds their
// lower and upper ends, z theirs.
func affineRowsNonNeg64(block *[3][affineTile]float64, n int, w [4][]float64, z [4]float64) {
	sign := archsimd.BroadcastUint64x8(1 << 63)
	a, b := archsimd.BroadcastFloat64x8(z[0]), archsimd.BroadcastFloat64x8(z[1])
	c, d := archsimd.BroadcastFloat64x8(z[2]), archsimd.BroadcastFloat64x8(z[3])
	w0, w1, w2, w3 := w[0][:n], w[1][:n], w[2][:n], w[3][:n]
	for i := 0; i+8 <= n && i+8 <= affineTile; i += 8 {
		lo, hi, norm := (*[8]float64)(block[0][i:i+8]), (*[8]float64)(block[1][i:i+8]), (*[8]float64)(block[2][i:i+8])
		l, h := archsimd.LoadFloat64x8((*[8]float64)(w0[i:i+8])), archsimd.LoadFloat64x8((*[8]float64)(w1[i:i+8]))
		sumLo := archsimd.LoadFloat64x8(lo).Add(l.Mul(a).Min(l.Mul(b)))
		sumHi := archsimd.LoadFloat64x8(hi).Add(h.Mul(a).Max(h.Mul(b)))
		sum := archsimd.LoadFloat64x8(norm).Add(l.AsUint64x8().Xor(sign).AsFloat64x8().Max(h))
		l, h = archsimd.LoadFloat64x8((*[8]float64)(w2[i:i+8])), archsimd.LoadFloat64x8((*[8]float64)(w3[i:i+8]))
		sumLo.Add(l.Mul(c).Min(l.Mul(d))).Store(lo)
		sumHi.Add(h.Mul(c).Max(h.Mul(d))).Store(hi)
		sum.Add(l.AsUint64x8().Xor(sign).AsFloat64x8().Max(h)).Store(norm)
	}
}

// affineRows64 is affineRow for one input and the next.
func affineRows64(block *[3][affineTile]float64, n int, w [4][]float64, z [4]float64) {
	sign := archsimd.BroadcastUint64x8(1 << 63)
	a, b := archsimd.BroadcastFloat64x8(z[0]), archsimd.BroadcastFloat64x8(z[1])
	c, d := archsimd.BroadcastFloat64x8(z[2]), archsimd.BroadcastFloat64x8(z[3])
	w0, w1, w2, w3 := w[0][:n], w[1][:n], w[2][:n], w[3][:n]
	for i := 0; i+8 <= n && i+8 <= affineTile; i += 8 {
		lo, hi, norm := (*[8]float64)(block[0][i:i+8]), (*[8]float64)(block[1][i:i+8]), (*[8]float64)(block[2][i:i+8])
		l, h := archsimd.LoadFloat64x8((*[8]float64)(w0[i:i+8])), archsimd.LoadFloat64x8((*[8]float64)(w1[i:i+8]))
		la, lb, ha, hb := l.Mul(a), l.Mul(b), h.Mul(a), h.Mul(b)
		sumLo := archsimd.LoadFloat64x8(lo).Add(la.Min(lb).Min(ha.Min(hb)))
		sumHi := archsimd.LoadFloat64x8(hi).Add(ha.Max(hb).Max(la.Max(lb)))
		sum := archsimd.LoadFloat64x8(norm).Add(l.AsUint64x8().Xor(sign).AsFloat64x8().Max(h))
		l, h = archsimd.LoadFloat64x8((*[8]float64)(w2[i:i+8])), archsimd.LoadFloat64x8((*[8]float64)(w3[i:i+8]))
		la, lb, ha, hb = l.Mul(c), l.Mul(d), h.Mul(c), h.Mul(d)
		sumLo.Add(la.Min(lb).Min(ha.Min(hb))).Store(lo)
		sumHi.Add(ha.Max(hb).Max(la.Max(lb))).Store(hi)
		sum.Add(l.AsUint64x8().Xor(sign).AsFloat64x8().Max(h)).Store(norm)
	}
}
