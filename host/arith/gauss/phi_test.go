package gauss

import (
	"math"
	"testing"
)

// TestPhiUp: the table is no less than Phi, and not much more.
func TestPhiUp(t *testing.T) {
	for x := -12.0; x < 12; x += 0.00091 {
		got := PhiUp(x)
		if want := math.Erfc(-x/math.Sqrt2) / 2; got < want*(1-1e-13) || got > want+0.0016 || x > -8 && got > want*(1+0.01*(1+math.Abs(x))) {
			t.Fatalf("PhiUp(%v) = %v, Phi is %v", x, got, want)
		}
	}
	for _, x := range []float64{math.NaN(), math.Inf(1), PhiEnd} {
		if PhiUp(x) != 1 {
			t.Errorf("PhiUp(%v) = %v", x, PhiUp(x))
		}
	}
	if p := PhiUp(math.Inf(-1)); p < TailDown(9) || p > 2e-18 {
		t.Errorf("PhiUp(-Inf) = %v", p)
	}
}
