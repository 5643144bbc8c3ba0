//go:build goexperiment.simd && amd64

package fallback

import (
	"simd/archsimd"

	"psafe/host/bound"
)

// drawBoxLanes draws the weights of groups g, ..., g+n-1 of box b, eight groups at a
// time, and returns of how many groups. Every operation is the one of bound.Philox,
// bound.NormalApprox and bound.BoxEnds, so the bits are the same whatever the numbers.
func drawBoxLanes[T bound.Real](t *drawBox[T], b, g, n int) (done int) {
	if !t.lanes || !t.a.Sampled {
		return 0
	}
	n = min(n, t.a.N/4-g) // full groups
	for ; done+8 <= n; done += 8 {
		var normal [32]float32
		normals8(&normal, t.a.Seed, t.a.First+uint64(b), t.a.Stream, uint32(g+done))
		w := 4 * (g + done)
		i := b*t.a.N + w
		switch t := any(t).(type) {
		case *drawBox[float32]:
			boxEnds32(t.lo[i:i+32], t.hi[i:i+32], t.cLo[w:w+32], t.cHi[w:w+32], t.unit[w:w+32], t.gamma[b], &normal)
		case *drawBox[float64]:
			boxEnds64(t.lo[i:i+32], t.hi[i:i+32], t.cLo[w:w+32], t.cHi[w:w+32], t.unit[w:w+32], t.gamma[b], &normal)
		}
	}
	return done
}

// normals8 is normals for eight groups from group on.
func normals8(n *[32]float32, seed, box uint64, stream, group uint32) {
	word := archsimd.BroadcastUint64x8(1<<32 - 1)
	c0 := archsimd.LoadUint64x8(&[8]uint64{0, 1, 2, 3, 4, 5, 6, 7}).Add(archsimd.BroadcastUint64x8(uint64(group)))
	c1, c2, c3 := archsimd.BroadcastUint64x8(uint64(stream)), archsimd.BroadcastUint64x8(box&(1<<32-1)), archsimd.BroadcastUint64x8(box>>32)
	m0, m1 := archsimd.BroadcastUint64x8(0xD2511F53), archsimd.BroadcastUint64x8(0xCD9E8D57)
	key0, key1 := uint32(seed), uint32(seed>>32)
	for range 10 { // words of 32 bits in lanes of 64
		p0, p1 := c0.Mul(m0), c2.Mul(m1)
		c0 = p1.ShiftAllRight(32).Xor(c1).Xor(archsimd.BroadcastUint64x8(uint64(key0)))
		c2 = p0.ShiftAllRight(32).Xor(c3).Xor(archsimd.BroadcastUint64x8(uint64(key1)))
		c1, c3 = p1.And(word), p0.And(word)
		key0 += 0x9E3779B9
		key1 += 0xBB67AE85
	}
	// Pairs (word 0, word 1) and (word 2, word 3) of a group, then in the order of
	// weights: the pairs of group 0, those of group 1, ...
	c01, c23 := c1.ShiftAllLeft(32).Or(c0), c3.ShiftAllLeft(32).Or(c2)
	first := c01.ConcatPermute(c23, archsimd.LoadUint64x8(&[8]uint64{0, 8, 1, 9, 2, 10, 3, 11}))
	second := c01.ConcatPermute(c23, archsimd.LoadUint64x8(&[8]uint64{4, 12, 5, 13, 6, 14, 7, 15}))
	normalApprox16((*[16]float32)(n[:16]), first.AsUint32x16())
	normalApprox16((*[16]float32)(n[16:]), second.AsUint32x16())
}

// normalApprox16 is bound.NormalApprox.
func normalApprox16(n *[16]float32, bits archsimd.Uint32x16) {
	sign := bits.And(archsimd.BroadcastUint32x16(1 << 31))
	v := bits.Xor(sign).AsInt32x16().ConvertToFloat32().Mul(archsimd.BroadcastFloat32x16(0x1p-31)).Add(archsimd.BroadcastFloat32x16(0x1p-32))
	y := v.Mul(archsimd.BroadcastFloat32x16(2).Sub(v)).AsUint32x16()
	// logApprox
	e := y.Sub(archsimd.BroadcastUint32x16(0x3f400000)).AsInt32x16().ShiftAllRight(23)
	m := y.Sub(e.AsUint32x16().ShiftAllLeft(23)).AsFloat32x16()
	log := horner16(m.Sub(archsimd.BroadcastFloat32x16(1)), &logCoefficients)
	log = e.ConvertToFloat32().Mul(archsimd.BroadcastFloat32x16(0x1.62e43p-1)).Add(log)
	w := log.AsUint32x16().Xor(archsimd.BroadcastUint32x16(1 << 31)).AsFloat32x16()

	central := w.Less(archsimd.BroadcastFloat32x16(5))
	p := horner16(w.Sub(archsimd.BroadcastFloat32x16(2.5)), &normalCentral)
	if central.ToBits() != 0xffff {
		p = p.Merge(horner16(w.Sub(archsimd.BroadcastFloat32x16(12)), &normalTail), central)
	}
	p.Mul(archsimd.BroadcastFloat32x16(1).Sub(v)).AsUint32x16().Xor(sign).AsFloat32x16().Store(n)
}

// horner16 is bound.horner. Leading zeros change nothing: 0 t + c is c.
func horner16(t archsimd.Float32x16, c *[10]float32) archsimd.Float32x16 {
	p := archsimd.BroadcastFloat32x16(c[0])
	p = p.Mul(t).Add(archsimd.BroadcastFloat32x16(c[1]))
	p = p.Mul(t).Add(archsimd.BroadcastFloat32x16(c[2]))
	p = p.Mul(t).Add(archsimd.BroadcastFloat32x16(c[3]))
	p = p.Mul(t).Add(archsimd.BroadcastFloat32x16(c[4]))
	p = p.Mul(t).Add(archsimd.BroadcastFloat32x16(c[5]))
	p = p.Mul(t).Add(archsimd.BroadcastFloat32x16(c[6]))
	p = p.Mul(t).Add(archsimd.BroadcastFloat32x16(c[7]))
	p = p.Mul(t).Add(archsimd.BroadcastFloat32x16(c[8]))
	return p.Mul(t).Add(archsimd.BroadcastFloat32x16(c[9]))
}

// The coefficients of bound/draw.go; TestLanesNormal compares every result.
var (
	logCoefficients = [10]float32{
		0.048774821246014934, -0.11628150544757432, 0.15015401752562585, -0.16908588501665717, 0.19981705356829352,
		-0.24987882879613785, 0.3333323992021914, -0.500001855984106, 1.000000029553957, 4.531166518048095e-09,
	}
	normalCentral = [10]float32{
		0, 3.1969680394459927e-08, 4.839788249499785e-07, -4.885796045069582e-06, -6.194745732231644e-06,
		0.0003087411769368272, -0.0017730828188758966, -0.005907660099483536, 0.34880271668923374, 2.1233134670146705,
	}
	normalTail = [10]float32{
		0, 8.750900004482134e-11, -1.8159588811786368e-09, -1.5755344565347781e-09, 4.070577985279083e-07,
		-8.19604413916867e-06, 0.0001643856313106071, -0.004174051849238484, 0.20557779348871563, 4.66594357491947,
	}
)

// boxEnds32 is bound.BoxEnds for 32 weights.
func boxEnds32(lo, hi, cLo, cHi, unit []float32, gamma float32, n *[32]float32) {
	g := archsimd.BroadcastFloat32x16(gamma)
	for i := 0; i < 32; i += 16 {
		u := archsimd.LoadFloat32x16Slice(unit[i:])
		shift, h := u.Mul(archsimd.LoadFloat32x16((*[16]float32)(n[i:]))), g.Mul(u)
		archsimd.LoadFloat32x16Slice(cLo[i:]).Add(shift).Sub(h).StoreSlice(lo[i:])
		archsimd.LoadFloat32x16Slice(cHi[i:]).Add(shift).Add(h).StoreSlice(hi[i:])
	}
}

func boxEnds64(lo, hi, cLo, cHi, unit []float64, gamma float64, n *[32]float32) {
	g := archsimd.BroadcastFloat64x8(gamma)
	for i := 0; i < 32; i += 8 {
		u := archsimd.LoadFloat64x8Slice(unit[i:])
		shift, h := u.Mul(archsimd.LoadFloat32x8((*[8]float32)(n[i:])).ConvertToFloat64()), g.Mul(u)
		archsimd.LoadFloat64x8Slice(cLo[i:]).Add(shift).Sub(h).StoreSlice(lo[i:])
		archsimd.LoadFloat64x8Slice(cHi[i:]).Add(shift).Add(h).StoreSlice(hi[i:])
	}
}
