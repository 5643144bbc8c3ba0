// Code generated from lanes_squarerows_f32x16.go by TestLanesGenerated -update. DO NOT EDIT.

//go:build goexperiment.simd && amd64

package fallback

// squaresF64x4 is SquareRows for all whole vectors of numbers, and returns how many these are.
func squaresF64x4(d *Device[numF64x4], square, v []numF64x4) (done int) {
	zero := vecF64x4{}
	for ; done+widthF64x4 <= len(v); done += widthF64x4 {
		x := loadF64x4(v[done:])
		upF64x4(d, x.Mul(x)).Merge(zero, x.NotEqual(zero)).StoreSlice(square[done:])
	}
	return done
}

// anyF64x4 reports whether one of a row's numbers, at least a vector of them, is not 0.
func anyF64x4(row []numF64x4) bool {
	for first := 0; first < len(row); first += widthF64x4 {
		x := loadF64x4(row[min(first, len(row)-widthF64x4):])
		if x.NotEqual(vecF64x4{}).ToBits() != 0 {
			return true
		}
	}
	return false
}
