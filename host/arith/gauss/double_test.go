package gauss

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/arith"
)

// TestTailOfUp: above the oracle, no further than two float64, and not above what float64 makes of it.
func TestTailOfUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range cases(t, 900) {
		z := rng.Float64() * 38
		switch i % 4 {
		case 0:
			z = doubleEnd + (rng.Float64()-0.5)*1e-3
		case 1:
			z = math.Ldexp(rng.Float64(), -rng.IntN(60))
		}
		q, got := oracleTail(bigOf(z)), TailOfUp(arith.DDOf(z))
		if !isUpper(bigOf(got), q) || bigOf(down(down(got))-2*tiny).Cmp(q) > 0 {
			t.Errorf("Q(%v): %v, oracle %.20g", z, got, q)
		}
		if single := TailUp(z); got > single {
			t.Errorf("Q(%v): %v is above TailUp, %v", z, got, single)
		}
	}
	for _, c := range []struct{ z, want float64 }{{math.NaN(), 1}, {-1, 1}, {41, tiny}, {math.Inf(1), tiny}, {39.5, tiny}} {
		if got := TailOfUp(arith.DDOf(c.z)); got < c.want || got > c.want+2*tiny {
			t.Errorf("Q(%v): %v, want %v", c.z, got, c.want)
		}
	}
}
