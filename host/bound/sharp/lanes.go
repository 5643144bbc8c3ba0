//go:build goexperiment.simd && amd64

package sharp

//go:generate go test . -run LanesGenerated -update

import (
	"psafe/internal/vector"
)

// weighLanes is weighRows in lanes: sums have the same terms in the same order, and nothing is fused.
func weighLanes(to, weights []float64, pick []int, x []float64, lanes int, v vector.Set) bool {
	switch {
	case v == vector.None || lanes%rowsBeside != 0:
		return false
	case v == vector.AVX512:
		weighRowsF64x8(to, weights, pick, x, lanes)
	default:
		weighRowsF64x4(to, weights, pick, x, lanes)
	}
	return true
}

// weighTwiceLanes is weighTwice. Max may lose a term that is no number; its sum does not.
func weighTwiceLanes(n *linear, means, deviations []float64, pick []int, x []float64, v vector.Set) bool {
	switch {
	case v == vector.None || n.rows%rowsBeside != 0:
		return false
	case v == vector.AVX512:
		weighTwiceF64x8(n, means, deviations, pick, x)
	default:
		weighTwiceF64x4(n, means, deviations, pick, x)
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
