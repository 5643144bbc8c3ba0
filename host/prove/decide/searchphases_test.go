package decide

import (
	"math/rand/v2"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/prove/branch"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/internal/testkit/provetest"
)

// TestPhasesStopped: a device whose answer an attack cut short, or that is asked again after the
// attack has ended, is not dropped for it.
func TestPhasesStopped(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 6))
	post := provetest.RandomNet(r, network.ReLU, 9, 16, 16, 2)
	safe, box := property.ArgmaxIs(0, 2), provetest.BoxAround(make([]float64, 9), 0.2)
	asked, whole := 0, 0
	for at := 0; ; at++ { // the call from which on it is said to stop
		dev := func() bound.Device { return fallback.New(bound.Float32) }
		e, err := engine.New(dev(), dev, post, 1)
		if err != nil {
			t.Fatal(err)
		}
		e.Recheck(engine.Recheck{Share: 1, Tell: func(d *engine.Dropped) { t.Errorf("stopped at call %d: %v", at, d) }})
		asked = 0
		found, err := provePhases(t.Context(), e, post.Mean(), &branch.Task{Box: box, Safe: &safe, Most: 64, Stop: func() bool { asked++; return asked > at }})
		e.Close()
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Numbers) > 0 {
			whole++
		}
		if asked <= at {
			break
		}
	}
	if asked < 3 || whole != 1 {
		t.Errorf("%d answers are whole, after %d calls", whole, asked)
	}
}
