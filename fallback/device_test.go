package fallback_test

import (
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/bound/devicetest"
)

// TestDevice runs the suite of every device on this one.
func TestDevice(t *testing.T) {
	for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			devicetest.Run(t, fallback.New(p))
		})
	}
}

// TestDeviceAgainstItself: two devices give the same bits; they share no state and
// nothing depends on how work is cut among the cores.
func TestDeviceAgainstItself(t *testing.T) {
	for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			devicetest.RunAgainst(t, fallback.New(p), fallback.New(p), devicetest.Factor(0.3))
		})
	}
}
