// Package oracle computes exp and the normal distribution in 400 bits, for tests with no tolerance.
package oracle

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/internal/testscale"
)

// The oracle computes with 400 bits. Slack is far above its own error
// (truncations below 2^-250, a few thousand roundings of 2^-400) and far below
// anything a float64 can show; every comparison gives it away to the oracle's
// disadvantage, so soundness is tested with zero tolerance.
const (
	Prec     = 400
	Slack    = 0x1p-200
	piDigits = "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798214808651328230664709384460955058223172535940812848111745"
)

func Of(x float64) *big.Float { return new(big.Float).SetPrec(Prec).SetFloat64(x) }
func New() *big.Float         { return new(big.Float).SetPrec(Prec) }

// Phi is 1/sqrt(2 pi).
var Phi = func() *big.Float {
	pi, _, err := big.ParseFloat(piDigits, 10, Prec, big.ToNearestEven)
	if err != nil {
		panic(err)
	}
	pi.Mul(pi, Of(2))
	return New().Quo(Of(1), New().Sqrt(pi))
}()

// ExpNeg returns e^-y, y >= 0: halve y below 2^-10, Taylor, square back.
func ExpNeg(y *big.Float) *big.Float {
	s := max(0, y.MantExp(nil)+10)
	t := New().SetMantExp(New().Neg(y), -s)
	sum, term := Of(1), Of(1)
	for i := 1; i < 40; i++ {
		term.Mul(term, t)
		term.Quo(term, Of(float64(i)))
		sum.Add(sum, term)
	}
	for range s {
		sum.Mul(sum, sum)
	}
	return sum
}

// Tail returns Q(z): the power series of Phi below 5, Laplace's
// continued fraction (450 levels, bracketing) from there, 1 - Q(-z) below 0.
func Tail(z *big.Float) *big.Float {
	if z.IsInf() {
		if z.Sign() > 0 {
			return New()
		}
		return Of(1)
	}
	if z.Sign() < 0 {
		return New().Sub(Of(1), Tail(New().Neg(z)))
	}
	x := New().Mul(z, z)
	phi := ExpNeg(New().SetMantExp(x, -1))
	phi.Mul(phi, Phi)
	if z.Cmp(Of(5)) < 0 {
		sum, term := New().Set(z), New().Set(z)
		for i := 1; i < 220; i++ { // 25^220/441!! < 2^-700
			term.Mul(term, x)
			term.Quo(term, Of(float64(2*i+1)))
			sum.Add(sum, term)
		}
		return New().Sub(Of(0.5), sum.Mul(sum, phi))
	}
	t := New()
	for n := 700; n > 0; n-- {
		t.Quo(Of(float64(n)), t.Add(t, z))
	}
	return phi.Quo(phi, t.Add(t, z))
}

// Interval returns P(lo <= N(mean,sd^2) <= hi), sd > 0.
func Interval(lo, hi, mean, sd float64) *big.Float {
	if hi <= lo {
		return New()
	}
	z := func(x float64) *big.Float {
		if math.IsInf(x, 0) {
			return Of(x)
		}
		d := New().Sub(Of(x), Of(mean))
		return d.Quo(d, Of(sd))
	}
	a, b := z(lo), z(hi)
	if a.Sign() < 0 && b.Sign() <= 0 { // mirror: small numbers on the right
		a, b = New().Neg(b), New().Neg(a)
	}
	return New().Sub(Tail(a), Tail(b))
}

// Mass returns the mass of a box.
func Mass(lo, hi, mean, sd []float64) *big.Float {
	p := Of(1)
	for j := range lo {
		p.Mul(p, Interval(lo[j], hi[j], mean[j], sd[j]))
	}
	return p
}

// Widen returns truth (1 + dir*Slack).
func Widen(truth *big.Float, dir float64) *big.Float {
	f := New().Add(Of(1), Of(dir*Slack))
	return f.Mul(f, truth)
}

// IsLower and IsUpper compare a claimed bound with the truth, giving the
// oracle's slack against the bound.
func IsLower(bound, truth *big.Float) bool {
	return bound.Sign() <= 0 || bound.Cmp(Widen(truth, -1)) <= 0
}
func IsUpper(bound, truth *big.Float) bool {
	return bound.Cmp(Widen(truth, +1)) >= 0
}

// Relative returns |bound/truth - 1|.
func Relative(bound, truth *big.Float) float64 {
	q := New().Quo(bound, truth)
	r, _ := q.Sub(q, Of(1)).Float64()
	return math.Abs(r)
}

// ExpOf returns e^l exactly enough, l <= 0 finite, and 0 for -Inf.
func ExpOf(l float64) *big.Float {
	if math.IsInf(l, -1) {
		return New()
	}
	return ExpNeg(Of(-l))
}

// Cases returns how many random Cases of n to do: the oracle takes its time.
func Cases(t testing.TB, n int) int { return testscale.Cases(t, n) }

func Rand(t testing.TB, seed uint64) *rand.Rand {
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// Mills is Q(z)/phi(z) for z >= 5.
func Mills(z *big.Float) *big.Float {
	t := New()
	for n := 700; n > 0; n-- {
		t.Quo(Of(float64(n)), t.Add(t, z))
	}
	return t.Quo(Of(1), t.Add(t, z))
}

// Exp is e^x.
func Exp(x *big.Float) *big.Float {
	if x.Sign() > 0 {
		return New().Quo(Of(1), ExpNeg(x))
	}
	return ExpNeg(New().Neg(x))
}

// Ln returns the logarithm of x in [1/2, 1): -2 atanh((1-x)/(1+x)).
func Ln(x *big.Float) *big.Float {
	z := New().Quo(New().Sub(Of(1), x), New().Add(Of(1), x))
	square, power, sum := New().Mul(z, z), New().Mul(z, Of(-2)), New()
	for i := 1; i < 260 && power.Sign() != 0; i += 2 {
		sum.Add(sum, New().Quo(power, Of(float64(i))))
		power.Mul(power, square)
	}
	return sum
}
