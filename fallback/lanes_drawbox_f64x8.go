// Code generated from lanes_drawbox_f32x16.go by TestLanesGenerated -update. DO NOT EDIT.

//go:build goexperiment.simd && amd64

package fallback

// boxEndsF64x8 is bound.BoxEnds for as many weights as n has numbers, a whole number of
// vectors.
func boxEndsF64x8(lo, hi, cLo, cHi, unit []numF64x8, gamma numF64x8, n []float32) {
	g := fillF64x8(gamma)
	for i := 0; i < len(n); i += widthF64x8 {
		u := loadF64x8(unit[i:])
		shift, h := u.Mul(drawnF64x8(n[i:])), g.Mul(u)
		loadF64x8(cLo[i:]).Add(shift).Sub(h).StoreSlice(lo[i:])
		loadF64x8(cHi[i:]).Add(shift).Add(h).StoreSlice(hi[i:])
	}
}
