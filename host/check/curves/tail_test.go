package curves

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/host/arith"
	"psafe/host/prove/measure"
)

// oracleBits is the precision of the oracle: the tail of 38 is 2^-1050.
const oracleBits = 1400

func bigOf(x float64) *big.Float { return new(big.Float).SetPrec(oracleBits).SetFloat64(x) }

// series sums 1 + r(1) + r(1) r(2) + ... until terms are nothing.
func series(ratio func(n int) *big.Float) *big.Float {
	s, term := bigOf(1), bigOf(1)
	for n := 1; n < 100 || term.MantExp(nil) > s.MantExp(nil)-oracleBits; n++ {
		term.Mul(term, ratio(n))
		if term.Sign() == 0 {
			break
		}
		s.Add(s, term)
	}
	return s
}

// oraclePi is pi by Machin's formula.
func oraclePi() *big.Float {
	arctan := func(k float64) *big.Float { // of 1/k
		s := bigOf(0)
		for n := 0; n < 1200; n++ {
			term := bigOf(1)
			for range 2*n + 1 {
				term.Quo(term, bigOf(k))
			}
			term.Quo(term, bigOf(float64(2*n+1)))
			if n%2 == 1 {
				term.Neg(term)
			}
			if s.Add(s, term); term.MantExp(nil) < -oracleBits {
				break
			}
		}
		return s
	}
	p := new(big.Float).Mul(bigOf(16), arctan(5))
	return p.Sub(p, new(big.Float).Mul(bigOf(4), arctan(239)))
}

var root2Pi = new(big.Float).Sqrt(new(big.Float).Mul(bigOf(2), oraclePi()))

// oracle gives phi(z) and Q(z).
func oracle(z *big.Float) (phi, q *big.Float) {
	x := new(big.Float).Mul(z, z)
	half := new(big.Float).Quo(x, bigOf(2))
	grow := series(func(n int) *big.Float { return new(big.Float).Quo(half, bigOf(float64(n))) })
	phi = new(big.Float).Quo(bigOf(1), new(big.Float).Mul(grow, root2Pi))
	c := series(func(n int) *big.Float { return new(big.Float).Quo(x, bigOf(float64(2*n+1))) })
	c.Mul(c, z).Mul(c, phi)
	return phi, new(big.Float).Sub(bigOf(0.5), c)
}

// TestTailUp: above the oracle, and no further than two float64.
func TestTailUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 300 {
		z := rng.Float64() * 38
		switch i % 4 {
		case 0:
			z = seriesEnd + (rng.Float64()-0.5)*1e-3
		case 1:
			z = math.Ldexp(rng.Float64(), -rng.IntN(60))
		}
		_, q := oracle(bigOf(z))
		got := TailUp(arith.DDOf(z))
		if bigOf(got).Cmp(q) < 0 || bigOf(arith.Down(arith.Down(got))-2*arith.Eta).Cmp(q) > 0 {
			t.Errorf("Q(%v): %v, oracle %.20g", z, got, q)
		}
		if theirs := measure.TailUp(z); got > theirs {
			t.Errorf("Q(%v): %v is above certify's %v", z, got, theirs)
		}
	}
	for _, c := range []struct{ z, want float64 }{{math.NaN(), 1}, {-1, 1}, {41, arith.Eta}, {arith.Inf, arith.Eta}, {39.5, arith.Eta}} {
		if got := TailUp(arith.DDOf(c.z)); got < c.want || got > c.want+2*arith.Eta {
			t.Errorf("Q(%v): %v, want %v", c.z, got, c.want)
		}
	}
}

func TestExpNegUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		y := math.Ldexp(rng.Float64(), rng.IntN(20)-10)
		exact := new(big.Float).Quo(bigOf(1), series(func(n int) *big.Float { return new(big.Float).Quo(bigOf(y), bigOf(float64(n))) }))
		got := ExpNegUp(arith.DDOf(y))
		if bigOf(got).Cmp(exact) < 0 || y < 700 && bigOf(arith.Down(arith.Down(got))).Cmp(exact) > 0 {
			t.Errorf("exp(-%v): %v, oracle %.20g", y, got, exact)
		}
	}
}

// TestAbsMeanUp: above the oracle by no more than two float64, and not above certify's.
func TestAbsMeanUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	for i := range 400 {
		sd := math.Ldexp(rng.Float64()+0.5, rng.IntN(60)-40)
		mean := sd * rng.Float64() * 12
		if i%4 == 0 {
			mean = math.Ldexp(rng.Float64(), rng.IntN(40)-120)
		}
		z := new(big.Float).Quo(bigOf(mean), bigOf(sd))
		phi, q := oracle(z)
		e := new(big.Float).Sub(phi, q.Mul(q, z))
		e.Mul(e, bigOf(2*sd)).Add(e, bigOf(mean))
		got := AbsMeanUp(-mean, sd)
		if bigOf(got).Cmp(e) < 0 || bigOf(arith.Down(arith.Down(got))).Cmp(e) > 0 {
			t.Errorf("E|N(%v, %v)|: %v, oracle %.20g", mean, sd, got, e)
		}
		if theirs := measure.AbsMeanUp(mean, sd); got > theirs {
			t.Errorf("E|N(%v, %v)|: %v is above certify's %v", mean, sd, got, theirs)
		}
	}
	if AbsMeanUp(2, 0) != 2 || AbsMeanUp(math.NaN(), 1) != arith.Inf || AbsMeanUp(1, -1) != arith.Inf || AbsMeanUp(1, arith.Inf) != arith.Inf || AbsMeanUp(0, 1e-310) < 7.97e-311 {
		t.Error("edges")
	}
}
