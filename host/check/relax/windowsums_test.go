package relax

import (
	"math/rand/v2"
	"testing"

	"psafe/host/arith"
)

// TestWindowSums: sums that are used again begin with nothing, whatever was in them, and have all that
// was added between from and to.
func TestWindowSums(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 7))
	for range 200 {
		n := 1 + r.IntN(40)
		s := NewWindowSums(n)
		for j := range s.Of {
			if s.Of[j] != (arith.Sum{}) {
				t.Fatalf("sum %d of %d begins with %v", j, n, s.Of[j])
			}
		}
		want := make([]float64, n)
		for range r.IntN(10) {
			j := r.IntN(n)
			s.Add(int32(j), 2, float64(1+j))
			want[j] += 2 * float64(1+j)
		}
		for j, v := range want {
			if !(s.Of[j].Lo() <= v && v <= s.Of[j].Hi()) || s.Of[j].Hi()-s.Of[j].Lo() > 1e-9 || v != 0 && (j < s.From || j >= s.To) {
				t.Fatalf("sum %d is %v, not %v; %d to %d", j, s.Of[j], v, s.From, s.To)
			}
		}
		s.Free()
	}
}
