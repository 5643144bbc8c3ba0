//go:build goexperiment.simd && amd64

package fallback

import (
	"simd/archsimd"

	"psafe/host/bound"
)

// affineLanes is affine.sums for the first outputs of a tile and returns of how many.
func affineLanes[T bound.Real](t *affine[T], p, from, to int, sums *[3][affineTile]T) (done int) {
	if !t.d.lanes {
		return 0
	}
	switch t := any(t).(type) {
	case *affine[float32]:
		return affineLanes32(t, p, from, to-from, any(sums).(*[3][affineTile]float32))
	case *affine[float64]:
		return affineLanes64(t, p, from, to-from, any(sums).(*[3][affineTile]float64))
	}
	return 0
}

// affineLanes32 leaves outputs to the plain loop that do not fill a vector, and all
// of them, returning 0, if it met a number that is not finite: of an input, it sees
// that; of a weight, it sees that a sum is not finite (affineRows32).
func affineLanes32(t *affine[float32], p, from, n int, sums *[3][affineTile]float32) int {
	n = min(n, affineTile) &^ 15
	in, out := t.a.In, t.a.Out
	box, x := p/t.a.PerBox, p%t.a.Inputs
	var notFinite float32 // 0 or NaN
	for j0 := 0; j0 < in; j0 += bound.Block {
		var block [3][affineTile]float32
		var zMin float32
		zLo, zHi := t.zLo[x*in+j0:x*in+min(j0+bound.Block, in)], t.zHi[x*in+j0:x*in+min(j0+bound.Block, in)]
		for j, lo := range zLo {
			zMin = min(zMin, min(lo, -zHi[j]))
			notFinite += (lo - lo) + (zHi[j] - zHi[j])
		}
		at := (box*in+j0)*out + from
		for ; len(zLo) >= 2; zLo, zHi, at = zLo[2:], zHi[2:], at+2*out {
			affineRows32(&block, t.wLo[at:at+out+n], t.wHi[at:at+out+n], out, n, zLo, zHi, t.a.NonNeg)
		}
		if len(zLo) == 1 {
			affineRow(block[0][:n], block[1][:n], block[2][:n], t.wLo[at:at+n], t.wHi[at:at+n], zLo[0], zHi[0])
		}
		addBlock32(sums, &block, n, -zMin)
	}
	for i := range n {
		notFinite += (sums[0][i] - sums[0][i]) + (sums[1][i] - sums[1][i])
	}
	if notFinite != 0 {
		return 0
	}
	return n
}

// affineRows32 is affineRow for one input and the next, whose weights are out further.
//
// Vector minima and maxima lose a NaN in the first operand. If an end-point of a
// weight is not finite, neither is any of its two products; in the order of operands
// below the least or the largest of the four products then is not finite either.
func affineRows32(block *[3][affineTile]float32, wLo, wHi []float32, out, n int, zLo, zHi []float32, nonNeg bool) {
	sign := archsimd.BroadcastUint32x16(1 << 31)
	a, b := archsimd.BroadcastFloat32x16(zLo[0]), archsimd.BroadcastFloat32x16(zHi[0])
	c, d := archsimd.BroadcastFloat32x16(zLo[1]), archsimd.BroadcastFloat32x16(zHi[1])
	lo0, hi0, lo1, hi1 := wLo[:n], wHi[:n], wLo[out:out+n], wHi[out:out+n]
	for i := 0; i+16 <= n && i+16 <= affineTile; i += 16 {
		lo, hi, norm := (*[16]float32)(block[0][i:i+16]), (*[16]float32)(block[1][i:i+16]), (*[16]float32)(block[2][i:i+16])
		l, h := archsimd.LoadFloat32x16((*[16]float32)(lo0[i:i+16])), archsimd.LoadFloat32x16((*[16]float32)(hi0[i:i+16]))
		least, most := l.Mul(a).Min(l.Mul(b)), h.Mul(a).Max(h.Mul(b))
		if !nonNeg {
			least, most = least.Min(h.Mul(a).Min(h.Mul(b))), most.Max(l.Mul(a).Max(l.Mul(b)))
		}
		sumLo := archsimd.LoadFloat32x16(lo).Add(least)
		sumHi := archsimd.LoadFloat32x16(hi).Add(most)
		sum := archsimd.LoadFloat32x16(norm).Add(l.AsUint32x16().Xor(sign).AsFloat32x16().Max(h))
		l, h = archsimd.LoadFloat32x16((*[16]float32)(lo1[i:i+16])), archsimd.LoadFloat32x16((*[16]float32)(hi1[i:i+16]))
		least, most = l.Mul(c).Min(l.Mul(d)), h.Mul(c).Max(h.Mul(d))
		if !nonNeg {
			least, most = least.Min(h.Mul(c).Min(h.Mul(d))), most.Max(l.Mul(c).Max(l.Mul(d)))
		}
		sumLo.Add(least).Store(lo)
		sumHi.Add(most).Store(hi)
		sum.Add(l.AsUint32x16().Xor(sign).AsFloat32x16().Max(h)).Store(norm)
	}
}

// addBlock32 adds the sums of a block to the totals.
func addBlock32(sums, block *[3][affineTile]float32, n int, zMax float32) {
	factor := archsimd.BroadcastFloat32x16(zMax)
	for i := 0; i+16 <= n && i+16 <= affineTile; i += 16 {
		lo, hi, norm := (*[16]float32)(sums[0][i:i+16]), (*[16]float32)(sums[1][i:i+16]), (*[16]float32)(sums[2][i:i+16])
		archsimd.LoadFloat32x16(lo).Add(archsimd.LoadFloat32x16((*[16]float32)(block[0][i : i+16]))).Store(lo)
		archsimd.LoadFloat32x16(hi).Add(archsimd.LoadFloat32x16((*[16]float32)(block[1][i : i+16]))).Store(hi)
		archsimd.LoadFloat32x16(norm).Add(archsimd.LoadFloat32x16((*[16]float32)(block[2][i : i+16])).Mul(factor)).Store(norm)
	}
}

func affineLanes64(t *affine[float64], p, from, n int, sums *[3][affineTile]float64) int {
	n = min(n, affineTile) &^ 7
	in, out := t.a.In, t.a.Out
	box, x := p/t.a.PerBox, p%t.a.Inputs
	var notFinite float64 // 0 or NaN
	for j0 := 0; j0 < in; j0 += bound.Block {
		var block [3][affineTile]float64
		var zMin float64
		zLo, zHi := t.zLo[x*in+j0:x*in+min(j0+bound.Block, in)], t.zHi[x*in+j0:x*in+min(j0+bound.Block, in)]
		for j, lo := range zLo {
			zMin = min(zMin, min(lo, -zHi[j]))
			notFinite += (lo - lo) + (zHi[j] - zHi[j])
		}
		at := (box*in+j0)*out + from
		for ; len(zLo) >= 2; zLo, zHi, at = zLo[2:], zHi[2:], at+2*out {
			affineRows64(&block, t.wLo[at:at+out+n], t.wHi[at:at+out+n], out, n, zLo, zHi, t.a.NonNeg)
		}
		if len(zLo) == 1 {
			affineRow(block[0][:n], block[1][:n], block[2][:n], t.wLo[at:at+n], t.wHi[at:at+n], zLo[0], zHi[0])
		}
		addBlock64(sums, &block, n, -zMin)
	}
	for i := range n {
		notFinite += (sums[0][i] - sums[0][i]) + (sums[1][i] - sums[1][i])
	}
	if notFinite != 0 {
		return 0
	}
	return n
}

// affineRows64 is affineRow for one input and the next, whose weights are out further.
func affineRows64(block *[3][affineTile]float64, wLo, wHi []float64, out, n int, zLo, zHi []float64, nonNeg bool) {
	sign := archsimd.BroadcastUint64x8(1 << 63)
	a, b := archsimd.BroadcastFloat64x8(zLo[0]), archsimd.BroadcastFloat64x8(zHi[0])
	c, d := archsimd.BroadcastFloat64x8(zLo[1]), archsimd.BroadcastFloat64x8(zHi[1])
	lo0, hi0, lo1, hi1 := wLo[:n], wHi[:n], wLo[out:out+n], wHi[out:out+n]
	for i := 0; i+8 <= n && i+8 <= affineTile; i += 8 {
		lo, hi, norm := (*[8]float64)(block[0][i:i+8]), (*[8]float64)(block[1][i:i+8]), (*[8]float64)(block[2][i:i+8])
		l, h := archsimd.LoadFloat64x8((*[8]float64)(lo0[i:i+8])), archsimd.LoadFloat64x8((*[8]float64)(hi0[i:i+8]))
		least, most := l.Mul(a).Min(l.Mul(b)), h.Mul(a).Max(h.Mul(b))
		if !nonNeg {
			least, most = least.Min(h.Mul(a).Min(h.Mul(b))), most.Max(l.Mul(a).Max(l.Mul(b)))
		}
		sumLo := archsimd.LoadFloat64x8(lo).Add(least)
		sumHi := archsimd.LoadFloat64x8(hi).Add(most)
		sum := archsimd.LoadFloat64x8(norm).Add(l.AsUint64x8().Xor(sign).AsFloat64x8().Max(h))
		l, h = archsimd.LoadFloat64x8((*[8]float64)(lo1[i:i+8])), archsimd.LoadFloat64x8((*[8]float64)(hi1[i:i+8]))
		least, most = l.Mul(c).Min(l.Mul(d)), h.Mul(c).Max(h.Mul(d))
		if !nonNeg {
			least, most = least.Min(h.Mul(c).Min(h.Mul(d))), most.Max(l.Mul(c).Max(l.Mul(d)))
		}
		sumLo.Add(least).Store(lo)
		sumHi.Add(most).Store(hi)
		sum.Add(l.AsUint64x8().Xor(sign).AsFloat64x8().Max(h)).Store(norm)
	}
}

func addBlock64(sums, block *[3][affineTile]float64, n int, zMax float64) {
	factor := archsimd.BroadcastFloat64x8(zMax)
	for i := 0; i+8 <= n && i+8 <= affineTile; i += 8 {
		lo, hi, norm := (*[8]float64)(sums[0][i:i+8]), (*[8]float64)(sums[1][i:i+8]), (*[8]float64)(sums[2][i:i+8])
		archsimd.LoadFloat64x8(lo).Add(archsimd.LoadFloat64x8((*[8]float64)(block[0][i : i+8]))).Store(lo)
		archsimd.LoadFloat64x8(hi).Add(archsimd.LoadFloat64x8((*[8]float64)(block[1][i : i+8]))).Store(hi)
		archsimd.LoadFloat64x8(norm).Add(archsimd.LoadFloat64x8((*[8]float64)(block[2][i : i+8])).Mul(factor)).Store(norm)
	}
}
