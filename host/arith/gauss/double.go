package gauss

import (
	"math"

	"psafe/host/arith"
)

// The standard normal distribution in twice the working precision: what is rounded is only
// the result, so that no bound by float64 of the same argument is the better one. It takes some
// microseconds; TailNear is for very many arguments.
const (
	// TailErr is more than the relative error of every function of this file. e^-y is within
	// 2^-69: expErr, and what z^2/2 <= 800 is wrong by. An argument within 2^-98 moves Q(z) by
	// z^2 as much, and no result takes more than 1000 operations that add up their errors of
	// 2^-100. What 1/2 - C loses for z < doubleEnd, where Q(z) > 2^-10, is 9 bits.
	TailErr = 0x1p-58
	// doubleEnd is from where on TailOf is a continued fraction.
	doubleEnd = 3
)

// DensityOf is phi(z) = m 2^k, the density of the standard normal distribution, for z <= TailEnd.
func DensityOf(z arith.DD) (m arith.DD, k int) {
	m, k = arith.ExpOf(z.Times(z).Scaled(-1).Times(arith.DDOf(-1)))
	return m.Times(arith.OverTau), k
}

// centralOf is C(z) = Prob(0 < N(0,1) < z) = phi(z) z sum_i z^(2i)/(2i+1)!! for 0 <= z < doubleEnd:
// positive terms, of which the last is so small, and falls so fast, that it bounds the rest.
func centralOf(z arith.DD) arith.DD {
	x, s, term := z.Times(z), arith.DDOf(1), arith.DDOf(1)
	for n := 3.0; term.Hi > 0x1p-72*s.Hi || 2*x.Hi > n; n += 2 {
		term = term.Times(x.Over(n))
		s = s.Plus(term)
	}
	m, k := DensityOf(z)
	return m.Scaled(k).Times(z).Times(s)
}

// TailOf is Q(z) = Prob(N(0,1) > z) = m 2^k for 0 <= z < doubleEnd, and an upper bound of it,
// tight to 2^-70, up to TailEnd: Laplace's continued fraction
//
//	Q(z) = phi(z) / t_0,   t_i = z + (i+1)/t_(i+1)
//
// with t_N = z, less than it is, for an even N: then t_0 is less than it is.
func TailOf(z arith.DD) (m arith.DD, k int) {
	if z.Hi < doubleEnd {
		return arith.DDOf(0.5).Minus(centralOf(z)), 0
	}
	n := 2 * math.Ceil(625/(z.Hi*z.Hi)+8)
	t := z
	for ; n >= 1; n-- {
		t = z.Plus(arith.DDOf(n).Quotient(t))
	}
	m, k = DensityOf(z)
	return m.Quotient(t), k
}

// TailOfUp is at least Q(z) = Prob(N(0,1) > z), of a z >= 0 the next float64 or the one behind it,
// and 1 for NaN.
func TailOfUp(z arith.DD) float64 {
	switch {
	case z.Hi < 0 && z.Hi >= -TailEnd:
		return arith.SumUp(1, -TailOfDown(arith.DDOf(0).Minus(z)))
	case !(z.Hi >= 0):
		return 1
	case z.Hi > TailEnd:
		return tiny
	}
	m, k := TailOf(z)
	return min(0.5, m.ScaledUp(TailErr, k)) // Q(0), which rounding up may exceed
}

// TailOfDown is at most Q(z) = Prob(N(0,1) > z), by as little, and 0 for NaN.
func TailOfDown(z arith.DD) float64 {
	switch {
	case z.Hi < -TailEnd:
		return down(1)
	case z.Hi < 0:
		return arith.SumDown(1, -TailOfUp(arith.DDOf(0).Minus(z)))
	case !(z.Hi <= TailEnd):
		return 0
	}
	m, k := TailOf(z)
	v := math.Ldexp(-arith.DDOf(0).Minus(m).RoundUp(TailErr), k)
	if v <= 0x1p-1022 { // Ldexp has rounded once more
		v = max(0, down(v))
	}
	return v
}

// DensityOfUp is at least phi(z), the density of the standard normal distribution, for |z| <=
// TailEnd.
func DensityOfUp(z float64) float64 {
	m, k := DensityOf(arith.DDOf(z))
	return m.ScaledUp(TailErr, k)
}
