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
// of them, returning 0, if it met a number that is not finite.
func affineLanes32(t *affine[float32], p, from, n int, sums *[3][affineTile]float32) int {
	n = min(n, affineTile) &^ 15
	in, out := t.a.In, t.a.Out
	box, x := p/t.a.PerBox, p%t.a.Inputs
	var finite archsimd.Float32x16
	for j0 := 0; j0 < in; j0 += bound.Block {
		var block [3][affineTile]float32
		j1 := min(j0+bound.Block, in)
		at, end := (box*in+j0)*out+from, (box*in+j1-1)*out+from+n
		zLo, zHi := t.zLo[x*in+j0:x*in+j1], t.zHi[x*in+j0:x*in+j1]
		var zMin, zSum float32
		for j, lo := range zLo {
			zMin = min(zMin, min(lo, -zHi[j]))
			zSum += lo + zHi[j]
		}
		finite = finite.Add(affineBlock32(&block, t.wLo[at:end], t.wHi[at:end], out, n, zLo, zHi, t.a.NonNeg))
		finite = finite.Add(archsimd.BroadcastFloat32x16(zSum))
		addBlock32(sums, &block, n, -zMin)
	}
	if finite.Sub(finite).Equal(archsimd.Float32x16{}).ToBits() != 0xffff {
		return 0
	}
	return n
}

// affineBlock32 is affineRow or affineRowNonNeg for a block of inputs, whose weights
// are out apart. The result is finite only if all weights are (it is a sum of products of their ends): Min and Max do not say
// what they return for a NaN, the compiler may exchange their operands.
func affineBlock32(block *[3][affineTile]float32, wLo, wHi []float32, out, n int, zLo, zHi []float32, nonNeg bool) (finite archsimd.Float32x16) {
	sign := archsimd.BroadcastUint32x16(1 << 31)
	for j, z := range zLo {
		a, b := archsimd.BroadcastFloat32x16(z), archsimd.BroadcastFloat32x16(zHi[j])
		wl, wh := wLo[j*out:j*out+n], wHi[j*out:j*out+n]
		for i := 0; i+16 <= n && i+16 <= affineTile; i += 16 {
			l, h := archsimd.LoadFloat32x16((*[16]float32)(wl[i:i+16])), archsimd.LoadFloat32x16((*[16]float32)(wh[i:i+16]))
			least, most := l.Mul(a).Min(l.Mul(b)), h.Mul(a).Max(h.Mul(b))
			if !nonNeg {
				least, most = least.Min(h.Mul(a).Min(h.Mul(b))), most.Max(l.Mul(a).Max(l.Mul(b)))
			}
			lo, hi, norm := (*[16]float32)(block[0][i:i+16]), (*[16]float32)(block[1][i:i+16]), (*[16]float32)(block[2][i:i+16])
			archsimd.LoadFloat32x16(lo).Add(least).Store(lo)
			archsimd.LoadFloat32x16(hi).Add(most).Store(hi)
			archsimd.LoadFloat32x16(norm).Add(l.AsUint32x16().Xor(sign).AsFloat32x16().Max(h)).Store(norm)
			finite = l.MulAdd(h, finite)
		}
	}
	return finite
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
	var finite archsimd.Float64x8
	for j0 := 0; j0 < in; j0 += bound.Block {
		var block [3][affineTile]float64
		j1 := min(j0+bound.Block, in)
		at, end := (box*in+j0)*out+from, (box*in+j1-1)*out+from+n
		zLo, zHi := t.zLo[x*in+j0:x*in+j1], t.zHi[x*in+j0:x*in+j1]
		var zMin, zSum float64
		for j, lo := range zLo {
			zMin = min(zMin, min(lo, -zHi[j]))
			zSum += lo + zHi[j]
		}
		finite = finite.Add(affineBlock64(&block, t.wLo[at:end], t.wHi[at:end], out, n, zLo, zHi, t.a.NonNeg))
		finite = finite.Add(archsimd.BroadcastFloat64x8(zSum))
		addBlock64(sums, &block, n, -zMin)
	}
	if finite.Sub(finite).Equal(archsimd.Float64x8{}).ToBits() != 0xff {
		return 0
	}
	return n
}

func affineBlock64(block *[3][affineTile]float64, wLo, wHi []float64, out, n int, zLo, zHi []float64, nonNeg bool) (finite archsimd.Float64x8) {
	sign := archsimd.BroadcastUint64x8(1 << 63)
	for j, z := range zLo {
		a, b := archsimd.BroadcastFloat64x8(z), archsimd.BroadcastFloat64x8(zHi[j])
		wl, wh := wLo[j*out:j*out+n], wHi[j*out:j*out+n]
		for i := 0; i+8 <= n && i+8 <= affineTile; i += 8 {
			l, h := archsimd.LoadFloat64x8((*[8]float64)(wl[i:i+8])), archsimd.LoadFloat64x8((*[8]float64)(wh[i:i+8]))
			least, most := l.Mul(a).Min(l.Mul(b)), h.Mul(a).Max(h.Mul(b))
			if !nonNeg {
				least, most = least.Min(h.Mul(a).Min(h.Mul(b))), most.Max(l.Mul(a).Max(l.Mul(b)))
			}
			lo, hi, norm := (*[8]float64)(block[0][i:i+8]), (*[8]float64)(block[1][i:i+8]), (*[8]float64)(block[2][i:i+8])
			archsimd.LoadFloat64x8(lo).Add(least).Store(lo)
			archsimd.LoadFloat64x8(hi).Add(most).Store(hi)
			archsimd.LoadFloat64x8(norm).Add(l.AsUint64x8().Xor(sign).AsFloat64x8().Max(h)).Store(norm)
			finite = l.MulAdd(h, finite)
		}
	}
	return finite
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
