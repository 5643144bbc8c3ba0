//go:build !(goexperiment.simd && amd64)

package sharp

import "psafe/internal/vector"

func weighLanes(_, _ []float64, _ []int, _ []float64, _ int, _ vector.Set) bool { return false }

func weighTwiceLanes(_ *linear, _, _ []float64, _ []int, _ []float64, _ vector.Set) bool {
	return false
}

func rangeLanes(_, _, _ []float64, _ *linear, _, _ float64, _ vector.Set) bool { return false }
