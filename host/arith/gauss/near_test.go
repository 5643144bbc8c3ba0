package gauss

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/host/arith"
	"psafe/internal/testscale"
)

// within reports whether x is at most err from the exact number.
func within(x arith.DD, err float64, exact *big.Float) bool {
	v := new(big.Float).SetPrec(4000).Add(big.NewFloat(x.Hi), big.NewFloat(x.Lo))
	return v.Sub(v, exact).Abs(v).Cmp(big.NewFloat(err)) <= 0
}

// TestTailNear: tails and central parts are within the errors that are claimed.
func TestTailNear(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for n := range testscale.Cases(t, 2000) {
		z := arith.DDOf(rng.Float64() * []float64{0.1, 3, 9, 39.5}[n%4])
		if n < 50 { // the far ends of nodes
			z.Hi = float64(n)/8 + 1.0/16
		}
		z.Lo = z.Hi * 0x1p-54 * rng.Float64()
		exact := oracleTail(newBig().Add(bigOf(z.Hi), bigOf(z.Lo)))
		if q, err := TailNear(z); !within(q, err, exact) {
			t.Errorf("TailNear(%v) = %v, further than %v off", z, q, err)
		}
		exact = new(big.Float).SetPrec(2000).Sub(big.NewFloat(0.5), exact)
		c, err := CentralNear(z)
		if !within(c, err, exact) {
			t.Errorf("CentralNear(%v) = %v, further than %v off", z, c, err)
		}
		if z.Hi < 0.05 && err > c.Hi*arith.Unit+0x1p-380 {
			t.Errorf("CentralNear(%v) is wrong by up to %v", z, err)
		}
	}
	for _, c := range []struct{ z, q float64 }{{math.Inf(1), 0}, {50, 0}, {1e300, 0}} {
		if q, err := TailNear(arith.DDOf(c.z)); q.Hi != c.q || err > arith.Eta || err == 0 && c.z < math.Inf(1) {
			t.Errorf("TailNear(%v) = %v, %v", c.z, q, err)
		}
	}
	if _, err := TailNear(arith.DDOf(math.NaN())); err != 1 {
		t.Errorf("TailNear(NaN) claims %v", err)
	}
}
