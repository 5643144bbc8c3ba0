package check

import "math"

// The standard normal distribution in twice the working precision: what is rounded is only
// the result, so that a bound of certify's with the same argument is never the better one.
const (
	// tailErr is more than the relative error of every function of this file. e^-y is within
	// 2^-69: expErr, and what z^2/2 <= 800 is wrong by. An argument within 2^-98 moves Q(z) by
	// z^2 as much, and no result takes more than 1000 operations that add up their errors of
	// 2^-100. What 1/2 - C loses for z < seriesEnd, where Q(z) > 2^-10, is 9 bits.
	tailErr = 0x1p-58
	// seriesEnd is from where on Q is a continued fraction.
	seriesEnd = 3
	// tailEnd is where Q is below every float64: Q(40) < 1e-349.
	tailEnd = 40
)

// density is phi(z) = m 2^k, the density of the standard normal distribution, for z <= tailEnd.
func density(z dd) (m dd, k int) {
	m, k = expOf(z.times(z).scaled(-1).times(ddOf(-1)))
	return m.times(overTau), k
}

// central is C(z) = Prob(0 < N(0,1) < z) = phi(z) z sum_i z^(2i)/(2i+1)!! for 0 <= z < seriesEnd:
// positive terms, of which the last is so small, and falls so fast, that it bounds the rest.
func central(z dd) dd {
	x, s, term := z.times(z), ddOf(1), ddOf(1)
	for n := 3.0; term.hi > 0x1p-72*s.hi || 2*x.hi > n; n += 2 {
		term = term.times(x.over(n))
		s = s.plus(term)
	}
	m, k := density(z)
	return m.scaled(k).times(z).times(s)
}

// tail is Q(z) = Prob(N(0,1) > z) = m 2^k for 0 <= z < seriesEnd, and an upper bound of it,
// tight to 2^-70, up to tailEnd: Laplace's continued fraction
//
//	Q(z) = phi(z) / t_0,   t_i = z + (i+1)/t_(i+1)
//
// with t_N = z, less than it is, for an even N: then t_0 is less than it is.
func tail(z dd) (m dd, k int) {
	if z.hi < seriesEnd {
		return ddOf(0.5).minus(central(z)), 0
	}
	n := 2 * math.Ceil(625/(z.hi*z.hi)+8)
	t := z
	for ; n >= 1; n-- {
		t = z.plus(ddOf(n).quotient(t))
	}
	m, k = density(z)
	return m.quotient(t), k
}

// tailUp is at least Q(z) for z >= 0, and 1 for what is no number >= 0.
func tailUp(z dd) float64 {
	switch {
	case !(z.hi >= 0):
		return 1
	case z.hi > tailEnd:
		return eta
	}
	return scaledUp(tail(z))
}

// expNegUp is at least e^-y for y >= 0, and 1 for what is no number >= 0.
func expNegUp(y dd) float64 {
	switch {
	case !(y.hi >= 0):
		return 1
	case y.hi > 800:
		return eta
	}
	return min(1, scaledUp(expOf(y.times(ddOf(-1)))))
}

// scaledUp is at least m 2^k.
func scaledUp(m dd, k int) float64 {
	v := math.Ldexp(m.roundUp(tailErr), k)
	if v < 0x1p-1022 { // Ldexp has rounded once more
		v = up(v)
	}
	return v
}

// absMeanUp is at least E|W| for W ~ N(mean, sd^2), and for every smaller standard deviation:
// with z = |mean|/sd
//
//	E|W| = 2 (|mean| C(z) + sd phi(z)) = |mean| + 2 sd (phi(z) - z Q(z))
//
// The last bracket is at most phi(z)/z^2, so that for z > 9 the second summand is less than
// half a unit in the last place of the first.
func absMeanUp(mean, sd float64) float64 {
	a := math.Abs(mean)
	if !(a <= math.MaxFloat64/4 && sd >= 0 && sd <= math.MaxFloat64/4) {
		return inf
	}
	if sd == 0 {
		return a
	}
	if a+sd < 0x1p-900 {
		return up(a + sd) // E|W| <= |mean| + sqrt(2/pi) sd
	}
	z := a / sd
	if z > 9 {
		return up(a)
	}
	q := ddOf(a).over(sd)
	var c dd
	switch {
	case z < 0x1p-60: // C(z) <= phi(0) z
		q = ddOf(0)
		c = ddOf(z)
	case q.hi < seriesEnd:
		c = central(q)
	default:
		m, k := tail(q)
		c = ddOf(0.5).minus(m.scaled(k))
	}
	m, k := density(q)
	e := ddOf(a).times(c).plus(ddOf(sd).times(m.scaled(k)))
	return e.scaled(1).roundUp(tailErr)
}
