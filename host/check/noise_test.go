package check

import (
	"testing"

	"psafe/host/arith/gauss"
)

func BenchmarkAbsMean(b *testing.B) {
	for i := range b.N {
		gauss.AbsMeanUp(float64(i%1000)/300, 1)
	}
}
