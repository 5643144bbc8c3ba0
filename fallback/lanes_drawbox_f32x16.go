//go:build goexperiment.simd && amd64

package fallback

// boxEndsF32x16 is bound.BoxEnds for as many weights as n has numbers, a whole number of
// vectors.
func boxEndsF32x16(lo, hi, cLo, cHi, unit []numF32x16, gamma numF32x16, n []float32) {
	g := fillF32x16(gamma)
	for i := 0; i < len(n); i += widthF32x16 {
		u := loadF32x16(unit[i:])
		shift, h := u.Mul(drawnF32x16(n[i:])), g.Mul(u)
		loadF32x16(cLo[i:]).Add(shift).Sub(h).StoreSlice(lo[i:])
		loadF32x16(cHi[i:]).Add(shift).Add(h).StoreSlice(hi[i:])
	}
}
