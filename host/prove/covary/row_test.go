package covary

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/internal/testscale"
)

// TestProvedMore: what y misses until Diag(y) - M has no negative eigenvalue is found, and not much more;
// M has the eigenvalues 1 and -1.
func TestProvedMore(t *testing.T) {
	for _, misses := range []float64{0x1p-7, 0x1p-12, 0x1p-20, 0} {
		y := []float64{1 - misses, 1 - misses}
		e, known := provedMore([]float64{0, 1, 1, 0}, y)
		if !known || e < misses || e > 4*misses+0x1p-26 {
			t.Errorf("%v is missing: %v %v", misses, e, known)
		}
	}
	if e, known := provedMore([]float64{0, 1, 1, 0}, []float64{0, 0}); known {
		t.Errorf("1 is missing: %v", e)
	}
}

// TestForm: the largest value of a form over a box is at most what is said, and not much less. A matrix of
// zeros has no trace to enlarge, and ends too.
func TestForm(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 13))
	for i := range testscale.Cases(t, 300) {
		n := 2 + r.IntN(5)
		known := &Row{N: n, K: make([]float64, (n+1)*(n+1)), Delta: make([]float64, n+1)}
		reach := make([]float64, n)
		for j := range reach {
			reach[j] = r.Float64() * float64(r.IntN(3))
		}
		b := make([]float64, n*n)
		for e := range b {
			b[e] = r.NormFloat64() * float64(min(i, 1))
		}
		at := func(x, y int) (sum float64) {
			for k := range n {
				sum += b[x*n+k] * b[y*n+k]
			}
			return sum
		}
		for x := range n {
			for y := range n {
				known.K[x*(n+1)+y] = at(x, y)
			}
		}
		most := 0.0
		for corner := range 1 << n {
			v := 0.0
			for x := range n {
				for y := range n {
					d := at(x, y) * reach[x] * reach[y]
					if corner>>x&1 != corner>>y&1 {
						d = -d
					}
					v += d
				}
			}
			most = max(most, v)
		}
		if got := known.OverBoxUp(reach); got < most*(1-1e-12) || got > most*math.Pi/2*1.02+1e-9 {
			t.Fatalf("%d: %v of the form, its largest value is %v", i, got, most)
		}
	}
}
