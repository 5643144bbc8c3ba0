package gauss

import (
	"math"
	"testing"

	"psafe/host/arith"
	"psafe/internal/testscale"
)

// TestTiltedTail: TiltedTailUp is at least log Q(t) + u t at all t, and next to the most that is seen.
func TestTiltedTail(t *testing.T) {
	for i := range testscale.Cases(t, 600) {
		u := math.Exp2(float64(i*37%97)/7 - 10.5)
		got, seen := TiltedTailUp(u), math.Inf(-1)
		at := tiltApprox(u)
		for k := -400; k <= 400; k++ {
			x := at + float64(k)*float64(k*k)/4e6
			// LogUp of a lower bound exceeds its logarithm by next to nothing
			seen = max(seen, arith.LogUp(TailDown(x))+u*x)
		}
		if !(got > seen-1e-12*(1+u*u)) {
			t.Errorf("u = %v: %v is below %v", u, got, seen)
		}
		if u >= 0x1p-5 && u <= tiltMost && got > seen+0x1p-20 || got > u*u/2*(1+0x1p-50) || u < 0.797 && got > 0 {
			t.Errorf("u = %v: %v, seen %v", u, got, seen)
		}
	}
	for u, want := range map[float64]float64{0: 0, -1: math.Inf(1), math.Inf(1): math.Inf(1), 16: 128, 1: -0.6621001} {
		if got := TiltedTailUp(u); !(math.Abs(got-want) < 1e-6 || got == want) {
			t.Errorf("TiltedTailUp(%v) = %v, want %v", u, got, want)
		}
	}
	if got := TiltedTailUp(math.NaN()); got != math.Inf(1) {
		t.Errorf("TiltedTailUp(NaN) = %v", got)
	}
}
