package measure

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/internal/testscale"
)

// The oracle computes with 400 bits. oracleSlack is far above its own error
// (truncations below 2^-250, a few thousand roundings of 2^-400) and far below
// anything a float64 can show; every comparison gives it away to the oracle's
// disadvantage, so soundness is tested with zero tolerance.
const (
	oraclePrec  = 400
	oracleSlack = 0x1p-200
	piDigits    = "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798214808651328230664709384460955058223172535940812848111745"
)

func bigOf(x float64) *big.Float { return new(big.Float).SetPrec(oraclePrec).SetFloat64(x) }
func newBig() *big.Float         { return new(big.Float).SetPrec(oraclePrec) }

// oraclePhi is 1/sqrt(2 pi).
var oraclePhi = func() *big.Float {
	pi, _, err := big.ParseFloat(piDigits, 10, oraclePrec, big.ToNearestEven)
	if err != nil {
		panic(err)
	}
	pi.Mul(pi, bigOf(2))
	return newBig().Quo(bigOf(1), newBig().Sqrt(pi))
}()

// oracleExpNeg returns e^-y, y >= 0: halve y below 2^-10, Taylor, square back.
func oracleExpNeg(y *big.Float) *big.Float {
	s := max(0, y.MantExp(nil)+10)
	t := newBig().SetMantExp(newBig().Neg(y), -s)
	sum, term := bigOf(1), bigOf(1)
	for i := 1; i < 40; i++ {
		term.Mul(term, t)
		term.Quo(term, bigOf(float64(i)))
		sum.Add(sum, term)
	}
	for range s {
		sum.Mul(sum, sum)
	}
	return sum
}

// oracleTail returns Q(z): the power series of Phi below 5, Laplace's
// continued fraction (450 levels, bracketing) from there, 1 - Q(-z) below 0.
func oracleTail(z *big.Float) *big.Float {
	if z.IsInf() {
		if z.Sign() > 0 {
			return newBig()
		}
		return bigOf(1)
	}
	if z.Sign() < 0 {
		return newBig().Sub(bigOf(1), oracleTail(newBig().Neg(z)))
	}
	x := newBig().Mul(z, z)
	phi := oracleExpNeg(newBig().SetMantExp(x, -1))
	phi.Mul(phi, oraclePhi)
	if z.Cmp(bigOf(5)) < 0 {
		sum, term := newBig().Set(z), newBig().Set(z)
		for i := 1; i < 220; i++ { // 25^220/441!! < 2^-700
			term.Mul(term, x)
			term.Quo(term, bigOf(float64(2*i+1)))
			sum.Add(sum, term)
		}
		return newBig().Sub(bigOf(0.5), sum.Mul(sum, phi))
	}
	t := newBig()
	for n := 700; n > 0; n-- {
		t.Quo(bigOf(float64(n)), t.Add(t, z))
	}
	return phi.Quo(phi, t.Add(t, z))
}

// oracleInterval returns P(lo <= N(mean,sd^2) <= hi), sd > 0.
func oracleInterval(lo, hi, mean, sd float64) *big.Float {
	if hi <= lo {
		return newBig()
	}
	z := func(x float64) *big.Float {
		if math.IsInf(x, 0) {
			return bigOf(x)
		}
		d := newBig().Sub(bigOf(x), bigOf(mean))
		return d.Quo(d, bigOf(sd))
	}
	a, b := z(lo), z(hi)
	if a.Sign() < 0 && b.Sign() <= 0 { // mirror: small numbers on the right
		a, b = newBig().Neg(b), newBig().Neg(a)
	}
	return newBig().Sub(oracleTail(a), oracleTail(b))
}

// oracleMass returns the mass of a box.
func oracleMass(lo, hi, mean, sd []float64) *big.Float {
	p := bigOf(1)
	for j := range lo {
		p.Mul(p, oracleInterval(lo[j], hi[j], mean[j], sd[j]))
	}
	return p
}

// widen returns truth (1 + dir*oracleSlack).
func widen(truth *big.Float, dir float64) *big.Float {
	f := newBig().Add(bigOf(1), bigOf(dir*oracleSlack))
	return f.Mul(f, truth)
}

// isLower and isUpper compare a claimed bound with the truth, giving the
// oracle's slack against the bound.
func isLower(bound, truth *big.Float) bool {
	return bound.Sign() <= 0 || bound.Cmp(widen(truth, -1)) <= 0
}
func isUpper(bound, truth *big.Float) bool {
	return bound.Cmp(widen(truth, +1)) >= 0
}

// relative returns |bound/truth - 1|.
func relative(bound, truth *big.Float) float64 {
	q := newBig().Quo(bound, truth)
	r, _ := q.Sub(q, bigOf(1)).Float64()
	return math.Abs(r)
}

// expOf returns e^l exactly enough, l <= 0 finite, and 0 for -Inf.
func expOf(l float64) *big.Float {
	if math.IsInf(l, -1) {
		return newBig()
	}
	return oracleExpNeg(bigOf(-l))
}

// cases returns how many random cases of n to do: the oracle takes its time.
func cases(t testing.TB, n int) int { return testscale.Cases(t, n) }

func newRand(t testing.TB, seed uint64) *rand.Rand {
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// TestOracle checks the oracle against itself where its two expansions meet
// and against tabulated digits of Q(1) (Abramowitz & Stegun, table 26.1) and e^-1.
func TestOracle(t *testing.T) {
	below, above := oracleTail(bigOf(math.Nextafter(5, 0))), oracleTail(bigOf(5))
	// Q falls by phi(5) 2^-50.x between the two.
	gap := newBig().Sub(below, above)
	want := oracleExpNeg(bigOf(12.5))
	want.Mul(want.Mul(want, oraclePhi), bigOf(5-math.Nextafter(5, 0)))
	if r := relative(gap, want); r > 1e-14 {
		t.Errorf("series and continued fraction disagree at 5: gap off by %g", r)
	}
	for _, c := range []struct {
		got  *big.Float
		want string
	}{
		{oracleTail(bigOf(1)), "0.15865525393145705141"},
		{oracleExpNeg(bigOf(1)), "0.36787944117144232159552377"},
	} {
		if s := c.got.Text('f', len(c.want)-2); s != c.want {
			t.Errorf("oracle gives %s, tables %s", s, c.want)
		}
	}
}
