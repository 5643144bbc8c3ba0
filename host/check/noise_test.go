package check

import (
	"testing"

	"psafe/host/check/curves"
)

func BenchmarkAbsMean(b *testing.B) {
	for i := range b.N {
		curves.AbsMeanUp(float64(i%1000)/300, 1)
	}
}
