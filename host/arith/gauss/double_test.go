package gauss

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/arith"
)

// TestTailOfUp: above and below the oracle, no further than two float64, and no looser than what
// float64 makes of it.
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
		if i%3 == 0 {
			z = -z
		}
		q, lo, hi := oracleTail(bigOf(z)), TailOfDown(arith.DDOf(z)), TailOfUp(arith.DDOf(z))
		if hi != 1 && !isUpper(bigOf(hi), q) || bigOf(down(down(hi))-2*tiny).Cmp(q) > 0 || hi > 1 {
			t.Errorf("Q(%v): at most %v, oracle %.20g", z, hi, q)
		}
		if !isLower(bigOf(lo), q) || bigOf(up(up(lo))+2*tiny).Cmp(q) < 0 || !(0 <= lo && lo < 1) {
			t.Errorf("Q(%v): at least %v, oracle %.20g", z, lo, q)
		}
		if lo < TailDown(z) || hi > TailUp(z) {
			t.Errorf("Q(%v): [%v, %v] is looser than [%v, %v]", z, lo, hi, TailDown(z), TailUp(z))
		}
		phi := newBig().Mul(oraclePhi, oracleExpNeg(newBig().Quo(newBig().Mul(bigOf(z), bigOf(z)), bigOf(2))))
		if d := DensityOfUp(z); !isUpper(bigOf(d), phi) || bigOf(down(down(d))-2*tiny).Cmp(phi) > 0 {
			t.Errorf("phi(%v): at most %v, oracle %.20g", z, d, phi)
		}
	}
	for _, c := range []struct{ z, want float64 }{{math.NaN(), 1}, {-41, 1}, {math.Inf(-1), 1}, {41, tiny}, {math.Inf(1), tiny}, {39.5, tiny}} {
		if got := TailOfUp(arith.DDOf(c.z)); got < c.want || got > c.want+2*tiny {
			t.Errorf("Q(%v): %v, want %v", c.z, got, c.want)
		}
		if got := TailOfDown(arith.DDOf(c.z)); !(got >= 0 && got < 1) || !(c.z < 0) && got != 0 {
			t.Errorf("Q(%v): at least %v", c.z, got)
		}
	}
}

// TestTailOfDownSubnormal: below the oracle where the tail is subnormal, and just below the least normal number.
func TestTailOfDownSubnormal(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	below := func(z arith.DD) {
		q := oracleTail(newBig().Add(bigOf(z.Hi), bigOf(z.Lo)))
		if lo := TailOfDown(z); !isLower(bigOf(lo), q) || bigOf(lo+3*tiny).Cmp(q) < 0 {
			t.Errorf("Q(%v): at least %x, oracle %.20g", z, lo, q)
		}
	}
	for range cases(t, 300) {
		below(arith.DDOf(37.5 + rng.Float64()))
	}
	least := newBig().SetMantExp(newBig().Sub(bigOf(1), bigOf(0x1p-54)), -1022)
	from, to := bigOf(37), bigOf(38)
	for range 200 {
		mid := newBig().Quo(newBig().Add(from, to), bigOf(2))
		if oracleTail(mid).Cmp(least) > 0 {
			from = mid
		} else {
			to = mid
		}
	}
	hi, _ := to.Float64()
	lo, _ := newBig().Sub(to, bigOf(hi)).Float64()
	below(arith.DD{Hi: hi, Lo: lo})
}
