//go:build !(goexperiment.simd && amd64)

package gpu

func hashLanes([]byte, uint32) (sum uint32, bytes int) { return 0, 0 }

func numbersLanes([]float64, []byte) int { return 0 }

func singlesLanes([]float32, []float64) int { return 0 }
