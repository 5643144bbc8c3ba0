package claim

import (
	"math"
	"math/big"
	"testing"
)

// TestUndecidedNetworks: they count as unsafe for the lower limit and as safe for the
// upper one, each at half of what the confidence leaves.
func TestUndecidedNetworks(t *testing.T) {
	s := NewStatistic(10, 3, 4, 0.9)
	// atLeast is P(Bin(10,p) >= k).
	atLeast := func(k int, p float64) float64 {
		sum := 0.0
		for i := k; i <= 10; i++ {
			c, _ := new(big.Float).SetInt(new(big.Int).Binomial(10, int64(i))).Float64()
			sum += c * math.Pow(p, float64(i)) * math.Pow(1-p, float64(10-i))
		}
		return sum
	}
	if got := atLeast(3, s.Lower); math.Abs(got-0.05) > 1e-6 {
		t.Errorf("lower limit %v: 3 of 10 or more have probability %v", s.Lower, got)
	}
	if got := 1 - atLeast(7, s.Upper); math.Abs(got-0.05) > 1e-6 {
		t.Errorf("upper limit %v: 6 of 10 or fewer have probability %v", s.Upper, got)
	}
}
