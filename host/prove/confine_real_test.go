package prove_test

import (
	"fmt"
	"testing"

	"psafe/host/arith"
	"psafe/host/bound"
	"psafe/host/prove"
	"psafe/host/read/format"
	"psafe/internal/testscale"
)

// TestRealPhases: of a real posterior as many images are certified by phases as docs/performance.md says.
func TestRealPhases(t *testing.T) {
	post, err := format.Read(shared(t, "data", "bnndp", "mnist_2_64_vogn.npz"), format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range testscale.Few(t, []struct {
		eps      string
		n, least int
	}{{"0.025", 30, 29}, {"0.05", 30, 18}}, 1) {
		t.Run(fmt.Sprint(c.eps), func(t *testing.T) {
			n := 0
			for _, r := range run(t, bound.Float32, post, prove.Config{Method: prove.Phases, NoUpper: true}, mnistTasks(t, post, c.n, c.eps)...) {
				if arith.ExpDown(r.LogP) > 0.9 {
					n++
				}
			}
			if n < c.least {
				t.Errorf("%d of %d images have p_lower > 0.9, %d must", n, c.n, c.least)
			}
		})
	}
}
