//go:build goexperiment.simd && amd64

package fallback

// squaresF32x16 is SquareRows for all whole vectors of numbers, and returns how many these are.
func squaresF32x16(d *Device[numF32x16], square, v []numF32x16) (done int) {
	zero := vecF32x16{}
	for ; done+widthF32x16 <= len(v); done += widthF32x16 {
		x := loadF32x16(v[done:])
		upF32x16(d, x.Mul(x)).Merge(zero, x.NotEqual(zero)).StoreSlice(square[done:])
	}
	return done
}

// anyF32x16 reports whether one of a row's numbers, at least a vector of them, is not 0.
func anyF32x16(row []numF32x16) bool {
	for first := 0; first < len(row); first += widthF32x16 {
		x := loadF32x16(row[min(first, len(row)-widthF32x16):])
		if x.NotEqual(vecF32x16{}).ToBits() != 0 {
			return true
		}
	}
	return false
}
