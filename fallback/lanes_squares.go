//go:build goexperiment.simd && amd64

package fallback

import (
	"psafe/host/bound"
	"psafe/internal/vector"
)

// anyLanes reports whether one of a row's numbers is not 0, if vectors may be used for it.
func anyLanes[T bound.Real](of vector.Set, row []T) (some, known bool) {
	switch row := any(row).(type) {
	case []float32:
		if of == vector.AVX512 && len(row) >= widthF32x16 {
			return anyF32x16(row), true
		}
		if of >= vector.AVX2 && len(row) >= widthF32x8 {
			return anyF32x8(row), true
		}
	case []float64:
		if of == vector.AVX512 && len(row) >= widthF64x8 {
			return anyF64x8(row), true
		}
		if of >= vector.AVX2 && len(row) >= widthF64x4 {
			return anyF64x4(row), true
		}
	}
	return false, false
}

// squareRowsLanes is SquareRows for the first numbers of v, and returns of how many.
func squareRowsLanes[T bound.Real](d *Device[T], square, v []T) int {
	switch d := any(d).(type) {
	case *Device[float32]:
		square, v := any(square).([]float32), any(v).([]float32)
		if d.vectors == vector.AVX512 {
			return squaresF32x16(d, square, v)
		}
		if d.vectors >= vector.AVX2 {
			return squaresF32x8(d, square, v)
		}
	case *Device[float64]:
		square, v := any(square).([]float64), any(v).([]float64)
		if d.vectors == vector.AVX512 {
			return squaresF64x8(d, square, v)
		}
		if d.vectors >= vector.AVX2 {
			return squaresF64x4(d, square, v)
		}
	}
	return 0
}
