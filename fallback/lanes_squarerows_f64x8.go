// Code generated from lanes_squarerows_f32x16.go by TestLanesGenerated -update. DO NOT EDIT.

//go:build goexperiment.simd && amd64

package fallback

// squaresF64x8 is SquareRows for all whole vectors of numbers, and returns how many these are.
func squaresF64x8(d *Device[numF64x8], square, v []numF64x8) (done int) {
	zero := vecF64x8{}
	for ; done+widthF64x8 <= len(v); done += widthF64x8 {
		x := loadF64x8(v[done:])
		upF64x8(d, x.Mul(x)).Merge(zero, x.NotEqual(zero)).StoreSlice(square[done:])
	}
	return done
}

// anyF64x8 reports whether one of a row's numbers, at least a vector of them, is not 0.
func anyF64x8(row []numF64x8) bool {
	for first := 0; first < len(row); first += widthF64x8 {
		x := loadF64x8(row[min(first, len(row)-widthF64x8):])
		if x.NotEqual(vecF64x8{}).ToBits() != 0 {
			return true
		}
	}
	return false
}
