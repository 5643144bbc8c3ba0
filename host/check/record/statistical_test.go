package record

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"psafe/host/check/law"
	"psafe/host/prove/probability"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testscale"
)

// TestIntervals: the limits of certify pass, and nothing that is narrower by a billionth.
func TestIntervals(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 72))
	for range testscale.Cases(t, 1000) {
		n := 1 + rng.IntN(1<<rng.IntN(12))
		safe := rng.IntN(n + 1)
		unsafe := rng.IntN(n - safe + 1)
		if rng.IntN(2) == 0 {
			safe, unsafe = n, 0
		}
		alpha := []float64{0.005, 1e-9, 0.25}[rng.IntN(3)]
		confidence := 1 - 2*alpha
		lower, upper := probability.ClopperPearsonDown(safe, n, (1-confidence)/2), probability.ClopperPearsonUp(n-unsafe, n, (1-confidence)/2)
		text := func(lower, upper float64) string {
			return fmt.Sprintf(`{"samples":%d,"safe":%d,"unsafe":%d,"confidence":%v,"lower":%s,"upper":%s,"statement":"%s"}`,
				n, safe, unsafe, confidence, property.DecimalDown(lower), property.DecimalUp(upper), Statement)
		}
		of := func(lower, upper float64) error {
			var s Interval
			if err := Strictly([]byte(text(lower, upper)), &s); err != nil {
				t.Fatal(err)
			}
			return s.consistent(Statement)
		}
		if err := of(lower, upper); err != nil {
			t.Fatalf("%v: %s", err, text(lower, upper))
		}
		if narrow := lower + 2e-9*min(lower, 1-lower) + 1e-300; narrow < upper && of(narrow, upper) == nil {
			t.Fatalf("a limit that is too narrow passes: %s", text(narrow, upper))
		}
		if narrow := upper - 2e-9*min(upper, 1-upper) - 1e-15; narrow > lower && of(lower, narrow) == nil {
			t.Fatalf("a limit that is too narrow passes: %s", text(lower, narrow))
		}
	}
	if law.TailAtMost(1e9, 2e9, checktest.Exactly(0.4), checktest.Exactly(0.1)) {
		t.Error("a tail that is too long to be added up is believed")
	}
}
