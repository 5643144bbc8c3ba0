package curves

import (
	"math"

	"psafe/host/arith"
)

// The standard normal distribution in twice the working precision: what is rounded is only
// the result, so that a bound of certify's with the same argument is never the better one.
const (
	// TailErr is more than the relative error of every function of this file. e^-y is within
	// 2^-69: expErr, and what z^2/2 <= 800 is wrong by. An argument within 2^-98 moves Q(z) by
	// z^2 as much, and no result takes more than 1000 operations that add up their errors of
	// 2^-100. What 1/2 - C loses for z < seriesEnd, where Q(z) > 2^-10, is 9 bits.
	TailErr = 0x1p-58
	// seriesEnd is from where on Q is a continued fraction.
	seriesEnd = 3
	// tailEnd is where Q is below every float64: Q(40) < 1e-349.
	tailEnd = 40
)

// Density is phi(z) = m 2^k, the density of the standard normal distribution, for z <= tailEnd.
func Density(z arith.DD) (m arith.DD, k int) {
	m, k = arith.ExpOf(z.Times(z).Scaled(-1).Times(arith.DDOf(-1)))
	return m.Times(arith.OverTau), k
}

// central is C(z) = Prob(0 < N(0,1) < z) = phi(z) z sum_i z^(2i)/(2i+1)!! for 0 <= z < seriesEnd:
// positive terms, of which the last is so small, and falls so fast, that it bounds the rest.
func central(z arith.DD) arith.DD {
	x, s, term := z.Times(z), arith.DDOf(1), arith.DDOf(1)
	for n := 3.0; term.Hi > 0x1p-72*s.Hi || 2*x.Hi > n; n += 2 {
		term = term.Times(x.Over(n))
		s = s.Plus(term)
	}
	m, k := Density(z)
	return m.Scaled(k).Times(z).Times(s)
}

// Tail is Q(z) = Prob(N(0,1) > z) = m 2^k for 0 <= z < seriesEnd, and an upper bound of it,
// tight to 2^-70, up to tailEnd: Laplace's continued fraction
//
//	Q(z) = phi(z) / t_0,   t_i = z + (i+1)/t_(i+1)
//
// with t_N = z, less than it is, for an even N: then t_0 is less than it is.
func Tail(z arith.DD) (m arith.DD, k int) {
	if z.Hi < seriesEnd {
		return arith.DDOf(0.5).Minus(central(z)), 0
	}
	n := 2 * math.Ceil(625/(z.Hi*z.Hi)+8)
	t := z
	for ; n >= 1; n-- {
		t = z.Plus(arith.DDOf(n).Quotient(t))
	}
	m, k = Density(z)
	return m.Quotient(t), k
}

// TailUp is at least Q(z) for z >= 0, and 1 for what is no number >= 0.
func TailUp(z arith.DD) float64 {
	switch {
	case !(z.Hi >= 0):
		return 1
	case z.Hi > tailEnd:
		return arith.Eta
	}
	return scaledUp(Tail(z))
}

// ExpNegUp is at least e^-y for y >= 0, and 1 for what is no number >= 0.
func ExpNegUp(y arith.DD) float64 {
	switch {
	case !(y.Hi >= 0):
		return 1
	case y.Hi > 800:
		return arith.Eta
	}
	return min(1, scaledUp(arith.ExpOf(y.Times(arith.DDOf(-1)))))
}

// scaledUp is at least m 2^k.
func scaledUp(m arith.DD, k int) float64 {
	v := math.Ldexp(m.RoundUp(TailErr), k)
	if v < 0x1p-1022 { // Ldexp has rounded once more
		v = arith.Up(v)
	}
	return v
}

// AbsMeanUp is at least E|W| for W ~ N(mean, sd^2), and for every smaller standard deviation:
// with z = |mean|/sd
//
//	E|W| = 2 (|mean| C(z) + sd phi(z)) = |mean| + 2 sd (phi(z) - z Q(z))
//
// The last bracket is at most phi(z)/z^2, so that for z > 9 the second summand is less than
// half a unit in the last place of the first.
func AbsMeanUp(mean, sd float64) float64 {
	a := math.Abs(mean)
	if !(a <= math.MaxFloat64/4 && sd >= 0 && sd <= math.MaxFloat64/4) {
		return arith.Inf
	}
	if sd == 0 {
		return a
	}
	if a+sd < 0x1p-900 {
		return arith.Up(a + sd) // E|W| <= |mean| + sqrt(2/pi) sd
	}
	if a/sd > 9 {
		return arith.Up(a)
	}
	return absMean(a, sd).Scaled(1).RoundUp(TailErr)
}

// AbsMeanDown is at most E|W|, and never below |mean|: what AbsMeanUp rounds is right to 2^-60.
func AbsMeanDown(mean, sd float64) float64 {
	a := math.Abs(mean)
	switch {
	case !(a <= math.MaxFloat64/4 && sd >= 0 && sd <= math.MaxFloat64/4):
		return 0
	case sd == 0 || a+sd < 0x1p-900 || a/sd > 9:
		return a
	}
	return max(a, arith.Down(2*absMean(a, sd).Hi*(1-0x1p-50)))
}

// absMean is half of E|W| for |mean| = a, above 2^-900 with sd, and a/sd up to 9.
func absMean(a, sd float64) arith.DD {
	q := arith.DDOf(a).Over(sd)
	var c arith.DD
	switch z := a / sd; {
	case z < 0x1p-60: // C(z) <= phi(0) z
		q = arith.DDOf(0)
		c = arith.DDOf(z)
	case q.Hi < seriesEnd:
		c = central(q)
	default:
		m, k := Tail(q)
		c = arith.DDOf(0.5).Minus(m.Scaled(k))
	}
	m, k := Density(q)
	return arith.DDOf(a).Times(c).Plus(arith.DDOf(sd).Times(m.Scaled(k)))
}
