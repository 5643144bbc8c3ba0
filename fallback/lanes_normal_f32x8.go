// Code generated from lanes_normal_f32x16.go by TestLanesGenerated -update. DO NOT EDIT.

//go:build goexperiment.simd && amd64

package fallback

// normalsF32x8 is normals for 2 * widthF32x8 / 4 groups from group on.
func normalsF32x8(n *[2 * widthF32x8]float32, seed, box uint64, stream, group uint32) {
	word := pairsF32x8(1<<32 - 1)
	// Words of 32 bits in lanes of 64; group is below 2^31, so no counter overflows.
	c0 := countersF32x8().Add(pairsF32x8(uint64(group)))
	c1, c2, c3 := pairsF32x8(uint64(stream)), pairsF32x8(box&(1<<32-1)), pairsF32x8(box>>32)
	m0, m1 := pairsF32x8(0xD2511F53), pairsF32x8(0xCD9E8D57)
	key0, key1 := uint32(seed), uint32(seed>>32)
	for range 10 {
		p0, p1 := multiplyF32x8(c0, m0), multiplyF32x8(c2, m1)
		c0 = p1.ShiftAllRight(32).Xor(c1).Xor(pairsF32x8(uint64(key0)))
		c2 = p0.ShiftAllRight(32).Xor(c3).Xor(pairsF32x8(uint64(key1)))
		c1, c3 = p1.And(word), p0.And(word)
		key0 += 0x9E3779B9
		key1 += 0xBB67AE85
	}
	// The four words of a group side by side, groups in order.
	c01, c23 := c1.ShiftAllLeft(32).Or(c0), c3.ShiftAllLeft(32).Or(c2)
	normalApproxF32x8(asWordsF32x8(c01.InterleaveLoGrouped(c23))).StoreSlice(n[:widthF32x8])
	normalApproxF32x8(asWordsF32x8(c01.InterleaveHiGrouped(c23))).StoreSlice(n[widthF32x8:])
}

// normalApproxF32x8 is arith.NormalApprox.
func normalApproxF32x8(bits wordF32x8) vecF32x8 {
	signs := signsF32x8()
	sign := bits.And(signs)
	v := convertF32x8(bits.Xor(sign)).Mul(fillF32x8(0x1p-31)).Add(fillF32x8(0x1p-32))
	y := bitsF32x8(v.Mul(fillF32x8(2).Sub(v)))
	// logApprox
	e := exponentF32x8(y.Sub(wordsF32x8(0x3f400000)))
	m := floatF32x8(y.Sub(e.ShiftAllLeft(23)))
	log := hornerF32x8(m.Sub(fillF32x8(1)), &logCoefficients)
	log = convertF32x8(e).Mul(fillF32x8(0x1.62e43p-1)).Add(log)
	w := flipF32x8(log, signs)

	central := w.Less(fillF32x8(5))
	p := hornerF32x8(w.Sub(fillF32x8(2.5)), &normalCentral)
	if central.ToBits() != allF32x8 {
		p = p.Merge(hornerF32x8(w.Sub(fillF32x8(12)), &normalTail), central)
	}
	return flipF32x8(p.Mul(fillF32x8(1).Sub(v)), sign)
}

// hornerF32x8 is bound.horner. Leading zeros change nothing: 0 t + c is c.
func hornerF32x8(t vecF32x8, c *[10]float32) vecF32x8 {
	p := fillF32x8(c[0])
	p = p.Mul(t).Add(fillF32x8(c[1]))
	p = p.Mul(t).Add(fillF32x8(c[2]))
	p = p.Mul(t).Add(fillF32x8(c[3]))
	p = p.Mul(t).Add(fillF32x8(c[4]))
	p = p.Mul(t).Add(fillF32x8(c[5]))
	p = p.Mul(t).Add(fillF32x8(c[6]))
	p = p.Mul(t).Add(fillF32x8(c[7]))
	p = p.Mul(t).Add(fillF32x8(c[8]))
	return p.Mul(t).Add(fillF32x8(c[9]))
}
