package covary

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/internal/testscale"
)

// TestFormUp: the largest value of a quadratic form over a box is at most what is said of it, and not
// much less.
func TestFormUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 3))
	for range testscale.Cases(t, 300) {
		n := 2 + rng.IntN(5)
		r := TopRow{N: n + 1, K: make([]float64, (n+1)*(n+1)), Delta: make([]float64, n+1)}
		b := make([]float64, n*n)
		for i := range b {
			b[i] = rng.NormFloat64()
		}
		for i := range n {
			for j := range n {
				for k := range n {
					r.K[i*(n+1)+j] += b[i*n+k] * b[j*n+k]
				}
			}
		}
		reach := make([]float64, n)
		for j := range reach {
			reach[j] = rng.Float64() * float64(rng.IntN(3))
		}
		most := 0.0
		for corner := range 1 << n {
			v := 0.0
			for i := range n {
				for j := range n {
					d := r.K[i*(n+1)+j] * reach[i] * reach[j]
					if corner>>i&1 != corner>>j&1 {
						d = -d
					}
					v += d
				}
			}
			most = max(most, v)
		}
		if got := r.FormUp(reach); got < most*(1-1e-12) || got > most*math.Pi/2*1.001+1e-9 {
			t.Fatalf("%v of the form, its largest value is %v", got, most)
		}
	}
}
