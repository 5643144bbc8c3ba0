// Code generated from lanes_squarerows_f32x16.go by TestLanesGenerated -update. DO NOT EDIT.

//go:build goexperiment.simd && amd64

package fallback

// squaresF32x8 is SquareRows for all whole vectors of numbers, and returns how many these are.
func squaresF32x8(d *Device[numF32x8], square, v []numF32x8) (done int) {
	zero := vecF32x8{}
	for ; done+widthF32x8 <= len(v); done += widthF32x8 {
		x := loadF32x8(v[done:])
		upF32x8(d, x.Mul(x)).Merge(zero, x.NotEqual(zero)).StoreSlice(square[done:])
	}
	return done
}

// anyF32x8 reports whether one of a row's numbers, at least a vector of them, is not 0.
func anyF32x8(row []numF32x8) bool {
	for first := 0; first < len(row); first += widthF32x8 {
		x := loadF32x8(row[min(first, len(row)-widthF32x8):])
		if x.NotEqual(vecF32x8{}).ToBits() != 0 {
			return true
		}
	}
	return false
}
