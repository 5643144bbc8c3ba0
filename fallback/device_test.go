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
		t.Run(p.String(), func(t *testing.T) { devicetest.Run(t, fallback.New(p)) })
	}
}
