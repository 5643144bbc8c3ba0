//go:build goexperiment.simd && amd64

package sharp

//go:generate go test . -run LanesGenerated -update

import (
	"psafe/internal/vector"
)

// weighLanes are weighRows and weighRowsMost in lanes, a lane being a row: sums have the same terms
// in the same order, and nothing is fused. Max may lose a term that is no number; its sum does not.
func weighLanes(to, most, weights []float64, at []int, x []float64, v vector.Set) bool {
	switch {
	case v == vector.None || len(to)%rowsBeside != 0:
		return false
	case v == vector.AVX512 && most == nil:
		weighRowsF64x8(to, weights, at, x)
	case v == vector.AVX512:
		weighRowsMostF64x8(to, most, weights, at, x)
	case most == nil:
		weighRowsF64x4(to, weights, at, x)
	default:
		weighRowsMostF64x4(to, most, weights, at, x)
	}
	return true
}

// rangeLanes is part.addRanges. The next number is the next word, as x is above 0; what is no
// number or infinite ends as none.
func rangeLanes(mean, a, own []float64, n *linear, radius, grow float64, v vector.Set) bool {
	switch {
	case v == vector.None || n.rows%rowsBeside != 0 || len(mean)%rowsBeside != 0:
		return false
	case v == vector.AVX512:
		addRangesF64x8(mean, a, own, n, radius, grow)
	default:
		addRangesF64x4(mean, a, own, n, radius, grow)
	}
	return true
}
