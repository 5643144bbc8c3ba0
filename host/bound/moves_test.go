package bound

import "testing"

// TestMoveSq: two uses of 0.5 make 0.25 of the sum of variances where inputs vary by different
// weights, and may make twice that, the square of the sum, where they vary by the same ones. What
// lies in the padding adds nothing.
func TestMoveSq(t *testing.T) {
	l := layer{in: 2, positions: 2, taps: 2, channels: 1}
	l.hostTap = []int32{0, 1, 1, -1}
	for apart, want := range map[bool]float64{true: 0.25, false: 0.5} {
		l.apart = apart
		if got := l.moveSq([]float64{0.5, 0.5})(0); got < want || got > want*(1+1e-12) {
			t.Errorf("apart %v: %v, want %v", apart, got, want)
		}
	}
	l.hostTap = []int32{0, -1, -1, 1}
	if got := l.moveSq([]float64{0.5, 0.5})(0); got < 0.25 || got > 0.25*(1+1e-12) {
		t.Errorf("in the padding: %v, want 0.25", got)
	}
}
