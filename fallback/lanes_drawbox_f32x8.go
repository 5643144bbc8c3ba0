// Code generated from lanes_drawbox_f32x16.go by TestLanesGenerated -update. DO NOT EDIT.

//go:build goexperiment.simd && amd64

package fallback

// boxEndsF32x8 is bound.BoxEnds for as many weights as n has numbers, a whole number of
// vectors.
func boxEndsF32x8(lo, hi, cLo, cHi, unit []numF32x8, gamma numF32x8, n []float32) {
	g := fillF32x8(gamma)
	for i := 0; i < len(n); i += widthF32x8 {
		u := loadF32x8(unit[i:])
		shift, h := u.Mul(drawnF32x8(n[i:])), g.Mul(u)
		loadF32x8(cLo[i:]).Add(shift).Sub(h).StoreSlice(lo[i:])
		loadF32x8(cHi[i:]).Add(shift).Add(h).StoreSlice(hi[i:])
	}
}
