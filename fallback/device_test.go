package fallback_test

import (
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/internal/testkit/devicetest"
	"psafe/internal/testscale"
)

// TestDevice runs the suite of every device on this one.
func TestDevice(t *testing.T) {
	for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			factor := 1.0
			if p == bound.Float64 && !testscale.Deep(t) { // the loops are the same code
				factor = 0.5
			}
			devicetest.Run(t, fallback.New(p), devicetest.Factor(factor))
		})
	}
}

// TestDeviceAgainstItself: two devices give the same bits; they share no state and
// nothing depends on how work is cut among the cores, nor on looks whether to go on.
func TestDeviceAgainstItself(t *testing.T) {
	for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			looking := bound.UntilOver(func() error { return nil }, fallback.New(p))
			devicetest.RunAgainst(t, fallback.New(p), looking, devicetest.Factor(0.3/float64(testscale.By(t, 2))))
		})
	}
}
