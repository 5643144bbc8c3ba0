package gauss

import (
	"math"
	"math/big"

	"psafe/host/arith"
)

// The tail is evaluated in three regions of |z|, all by sums of positive terms
// so that relative errors stay relative:
//
//	|z| < seriesEnd   Q = 1/2 -+ C(|z|),  C by its power series
//	z >= seriesEnd    convergents of Laplace's continued fraction
//	z <= -seriesEnd   Q(z) = 1 - Q(-z)
//
// Both polynomials are in x = z^2.
const (
	seriesEnd = 2.5
	// TailEnd is where the tail is below every float64: Q(40) < 1e-349.
	TailEnd = 40
	// invSqrt2Pi is 1/sqrt(2 pi), rounded to nearest.
	invSqrt2Pi = 0.398942280401432677939946059934
	// centralErr and convergentErr bound the relative errors of central and,
	// together with y u, of convergent. See there.
	centralErr    = 28 * unit
	convergentErr = 124 * unit
	// millsErr bounds the relative error of mills, and millsEnd is up to where it is evaluated.
	millsErr = 112 * unit
	millsEnd = 0x1p20
)

// seriesShort and seriesLong hold 1/(2i+1)!!, rounded to nearest, for
// z < 1 and z < seriesEnd.
var (
	seriesShort = seriesCoefficients(15)
	seriesLong  = seriesCoefficients(30)
)

// fraction is a quotient of polynomials in x, coefficients from the constant
// up, both slices of one length.
type fraction struct{ num, den []float64 }

// convergents[t] holds the upper (odd) and lower (even) convergent used in
// tier t; tiers end at tierEnd. The lengths make the bracket relatively
// narrower than 1.3e-13 at the start of each tier (TestTailLooseness).
var (
	convergents = [3][2]fraction{
		{laplaceConvergent(51), laplaceConvergent(50)},
		{laplaceConvergent(27), laplaceConvergent(26)},
		{laplaceConvergent(15), laplaceConvergent(14)},
	}
	tierEnd = [2]float64{4, 7}
)

// TailUp returns an upper bound of Q(z) = P(N(0,1) > z), for every float64 z.
// It is at least the smallest positive float64, at most 1, and 1 for NaN and
// -Inf. Since +Inf may be the overflow of a finite z, it gives the smallest
// positive float64. Relative looseness below 4e-13 for z in [-8, 37].
func TailUp(z float64) float64 {
	switch {
	case z >= seriesEnd:
		if z > TailEnd {
			return tiny
		}
		m, y, k := convergent(z, 0)
		return up(arith.TimesPow2(m*(1+convergentErr+y*unit), k))
	case z >= 0:
		return up(0.5 - central(z)*(1-centralErr))
	case z > -seriesEnd:
		return up(0.5 + central(-z)*(1+centralErr))
	case z <= -seriesEnd:
		return min(1, up(1-TailDown(-z)))
	}
	return 1
}

// TailDown returns a lower bound of Q(z) = P(N(0,1) > z), for every float64 z.
// It is below 1 (-Inf may be the overflow of a finite z), and 0 where Q
// underflows and for NaN. Relative looseness below 4e-13 for z in [-8, 37].
func TailDown(z float64) float64 {
	switch {
	case z >= seriesEnd:
		if z > TailEnd {
			return 0
		}
		m, y, k := convergent(z, 1)
		return max(0, down(arith.TimesPow2(m*(1-convergentErr-y*unit), k)))
	case z >= 0:
		return down(0.5 - central(z)*(1+centralErr))
	case z > -seriesEnd:
		return down(0.5 + central(-z)*(1-centralErr))
	case z <= -seriesEnd:
		return down(1 - TailUp(-z))
	}
	return 0
}

// central approximates C(z) = P(0 < N(0,1) < z) for 0 <= z < seriesEnd,
//
//	C(z) = phi(z) z sum_i x^i/(2i+1)!!,   x = z^2
//
// with relative error below centralErr - 2u, the 2u left for the caller's
// multiplication by 1 +- centralErr; where the result is subnormal there is
// eta/2 on top.
//
// Proof. Cutting the series S after x^M leaves at most
// x^(M+1)/(2M+3)!! / (1 - x/(2M+5)): with M = 15, x <= 1 below 2e-19, with
// M = 30, x <= 6.25 below 5e-20; S >= 1, so less than 0.01u. In Horner's scheme
// the term c_i x^i meets i+1 roundings, that of c_i, and i times that of x:
// relative error (2i+2)u, together u (2 x S'(x) + 2 S) <= u (x + 2) S <=
// 8.25u S, because i/(2i+1)!! <= 1/2 /(2i-1)!! gives x S' <= x/2 S. The
// exponential costs 8u, the rounding of x in it y u <= 3.2u, the constant u and
// three products 3u: 23.5u in all. Where x underflows it is
// wrong by eta/2 at most, which is nothing beside S >= 1.
func central(z float64) float64 {
	x := z * z
	c := seriesLong
	if z < 1 {
		c = seriesShort
	}
	s := c[len(c)-1]
	for i := len(c) - 2; i >= 0; i-- {
		s = math.FMA(s, x, c[i])
	}
	m, k := arith.ExpNeg(0.5 * x)
	// s * e * constant is of ordinary size; z, which may be subnormal, last.
	return z * (arith.TimesPow2(m, k) * invSqrt2Pi * s)
}

// CentralDown returns a lower bound of C(z) for z >= 0.
func CentralDown(z float64) float64 {
	if z < seriesEnd {
		// Two roundings of at most eta/2 each if subnormal: one gap covers.
		return max(0, down(central(z)*(1-centralErr)))
	}
	return down(0.5 - TailUp(z))
}

// CentralUp returns an upper bound of C(z) for z >= 0.
func CentralUp(z float64) float64 {
	if z < seriesEnd {
		return up(central(z) * (1 + centralErr))
	}
	return min(0.5, up(0.5-TailDown(z)))
}

// convergent evaluates phi(z) K_N(z) as m 2^-k for seriesEnd <= z <= TailEnd,
// where K_N is the convergent of order N of Laplace's continued fraction
//
//	Q(z)/phi(z) = 1/(z + 1/(z + 2/(z + 3/(z + ...))))
//
// and y is z^2/2 as rounded. parity 0 takes an odd N, parity 1 an even N.
// |m 2^-k / (phi K_N) - 1| <= convergentErr - 4u + y u; the 4u are left for the
// caller's multiplication by 1 +- (convergentErr + y u).
//
// Proof. All partial numerators and denominators are positive for z > 0, so
// odd convergents lie above the value and even ones below (Laplace; Wall,
// Analytic Theory of Continued Fractions, 1948, section 92): the truncation
// needs no estimate at all. K_N = A_N/B_N with A_n = z A_(n-1) + (n-1) A_(n-2)
// and the same for B_n, so both have positive integer coefficients; taking out
// one factor z leaves polynomials in x of degree at most 25. As in central the
// term of degree i is wrong by (2i+2)u <= 52u, the quotient of the two by 104u.
// The exponential costs 8u and y u for the rounding of x; the constant, the
// factor z, the quotient and two products 5u. Together 117u + y u, and the
// second-order terms, below (120u + 800u)^2, are far below u.
func convergent(z float64, parity int) (m, y float64, k int) {
	y = 0.5 * (z * z)
	m, k = arith.ExpNeg(y)
	return m * invSqrt2Pi * mills(z, parity), y, k
}

// mills evaluates K_N(z), a bound of Mills' ratio Q(z)/phi(z), for seriesEnd <= z <= millsEnd, with a
// relative error below millsErr - 2u; parity as in convergent, whose proof is of this, too: 104u for the
// polynomials, whose degree and coefficients do not depend on z, 2u for the factor z and the quotient.
func mills(z float64, parity int) float64 {
	tier := 0
	for tier < len(tierEnd) && z >= tierEnd[tier] {
		tier++
	}
	f := &convergents[tier][parity]
	x := z * z
	num, den := f.num, f.den[:len(f.num)]
	a, b := num[len(num)-1], den[len(num)-1]
	for i := len(num) - 2; i >= 0; i-- {
		a = math.FMA(a, x, num[i])
		b = math.FMA(b, x, den[i])
	}
	if parity == 0 {
		b *= z // A_N = a(x), B_N = z b(x)
	} else {
		a *= z // A_N = z a(x), B_N = b(x)
	}
	return a / b
}

// millsUp returns an upper bound of Q(z)/phi(z), which is less than 1/z, for z >= seriesEnd. Relative
// looseness below 2e-13.
func millsUp(z float64) float64 {
	if z > millsEnd {
		return up(1 / z)
	}
	return up(mills(z, 0) * (1 + millsErr))
}

// seriesCoefficients returns 1/(2i+1)!!, i = 0..degree, rounded to nearest.
func seriesCoefficients(degree int) []float64 {
	c := make([]float64, degree+1)
	fact := big.NewInt(1)
	for i := range c {
		fact.Mul(fact, big.NewInt(int64(2*i+1)))
		c[i], _ = new(big.Rat).SetFrac(big.NewInt(1), fact).Float64()
	}
	return c
}

// laplaceConvergent returns the convergent of the given order as a fraction in
// x, exact integers rounded to nearest once, the factor z taken out of the
// denominator (odd order) or numerator (even order).
func laplaceConvergent(order int) fraction {
	prevA, a := polynomial{}, polynomial{big.NewInt(1)}
	prevB, b := polynomial{big.NewInt(1)}, polynomial{new(big.Int), big.NewInt(1)}
	for n := 2; n <= order; n++ {
		prevA, a = a, a.next(prevA, n-1)
		prevB, b = b, b.next(prevB, n-1)
	}
	size := order/2 + 1
	if order%2 == 1 {
		return fraction{a.every2nd(0, size), b.every2nd(1, size)}
	}
	return fraction{a.every2nd(1, size), b.every2nd(0, size)}
}

// polynomial has integer coefficients, from the constant up.
type polynomial []*big.Int

// next returns z p + n prev.
func (p polynomial) next(prev polynomial, n int) polynomial {
	out := make(polynomial, len(p)+1)
	out[0] = new(big.Int)
	copy(out[1:], p)
	for i, c := range prev {
		out[i] = new(big.Int).Add(out[i], new(big.Int).Mul(c, big.NewInt(int64(n))))
	}
	return out
}

// every2nd returns the coefficients start, start+2, ... padded with zeros to
// the given size; a leading 0 costs Horner's scheme no rounding.
func (p polynomial) every2nd(start, size int) []float64 {
	out := make([]float64, size)
	for i := range out {
		if j := start + 2*i; j < len(p) {
			out[i], _ = new(big.Float).SetInt(p[j]).Float64()
		}
	}
	return out
}
