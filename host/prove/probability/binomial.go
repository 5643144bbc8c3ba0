package probability

import (
	"math"

	"psafe/host/arith"
)

const (
	// invTwoPiUp is the float64 above 1/(2 pi), lnTwoPiDown and lnTwoPiUp are
	// the two around ln(2 pi).
	invTwoPiUp  = 0x1.45f306dc9c883p-3
	lnTwoPiDown = 0x1.d67f1c864beb4p+0
	lnTwoPiUp   = 0x1.d67f1c864beb5p+0
	// log1pErr bounds the relative error of the series in log1pUp.
	log1pErr = 8 * unit
	// log1pReach is how far log1pUp's argument may be from 0.
	log1pReach = 0.5
	// stirlingFrom is where Stirling's series takes over from exact factorials;
	// 15! is a float64.
	stirlingFrom = 16
	// maxTrials keeps counts exact in float64 and sums far from 2^53 terms.
	maxTrials = 1 << 50
)

// chance is a probability p of an event and q = 1-p. One of the two is the
// float64 that was given; the other is known to one rounding.
type chance struct {
	p, q float64
	// given reports whether p is the exact one, otherwise q is.
	given givenSide
}

type givenSide bool

const (
	givenP givenSide = true
	givenQ givenSide = false
)

// chanceOf completes a chance from its exact side, 0 < v < 1.
func chanceOf(v float64, given givenSide) chance {
	if given == givenP {
		return chance{v, 1 - v, given}
	}
	return chance{1 - v, v, given}
}

// bounds returns p <= pUp and qDown <= q <= qUp.
func (c chance) bounds() (pUp, qDown, qUp float64) {
	if c.given == givenP {
		return c.p, max(0, down(c.q)), up(c.q)
	}
	return up(c.p), c.q, c.q
}

// excess returns an interval around n p - k. Either side gives it with one
// rounding: n p - k = (n-k) - n q.
func (c chance) excess(k, n float64) (lo, hi float64) {
	var e float64
	if c.given == givenP {
		e = math.FMA(n, c.p, -k)
	} else {
		e = -math.FMA(n, c.q, k-n)
	}
	return down(e), up(e)
}

// binomialLogTailUp returns an upper bound, at most 0, of
//
//	ln P(Bin(n,p) >= k) = ln sum_(j=k..n) C(n,j) p^j q^(n-j)
//
// for 1 <= k <= n <= maxTrials and 0 < p < 1, and about the ratio of the sum to
// its first term, which searches use. It never needs the sum's other end:
// terms are added from j = k until a geometric series bounds what is left.
func binomialLogTailUp(k, n int, c chance) (logTail, ratio float64) {
	if !(c.p > 0 && c.q > 0) {
		return 0, 1
	}
	sum := tailRatioUp(float64(k), float64(n), c)
	if !(sum <= math.MaxFloat64) {
		return 0, sum
	}
	l := up(binomialLogTermUp(float64(k), float64(n), c) + arith.LogUp(sum))
	if !(l <= 0) {
		l = 0
	}
	return l, sum
}

// tailRatioUp returns an upper bound of sum_(j=k..n) t_j / t_k, t_j the
// probability of j events. It may be +Inf.
//
// Proof. t_(j+1) = t_j r_j with r_j = (n-j)/(j+1) p/q, and odds >= p/q. After m
// steps a computed term has met 3m roundings, all of them of products and
// quotients of positive numbers, and a term of the sum m more: what is computed
// is at least the real value times (1-u)^(4m), and (1-u)^-(4m) <= 1 + 8mu while
// 4mu < 1/2, which 2^50 trials respect. r_j falls with j, so the terms after
// t_j are together at most t_j r_j/(1-r_j) if r_j < 1; with the computed r_j
// enlarged by 4u > 2u (1+u) it is at least the real one.
func tailRatioUp(k, n float64, c chance) float64 {
	const (
		negligible = 0x1p-40
		fuller     = 1 + 4*unit
		steepest   = 1 - 0x1p-40 // below it, 1-r is no rounding error
	)
	pUp, qDown, _ := c.bounds()
	odds := up(pUp / qDown)
	sum, term, steps := 1.0, 1.0, 1.0
	for j := k; j < n; j++ {
		r := (n - j) / (j + 1) * odds
		if next := term * r; r >= steepest || next > negligible*sum*(1-r) {
			term = next
			sum += term
			steps++
			if sum > math.MaxFloat64 {
				return sum
			}
			continue
		}
		r = up(r * fuller)
		sum = up(sum + up(up(term*r)/down(1-r)))
		break
	}
	return up(sum * (1 + 8*(steps+2)*unit))
}

// binomialLogTermUp returns an upper bound of ln( C(n,k) p^k q^(n-k) ) for
// 1 <= k <= n. With Stirling's formula
//
//	ln m! = ln(2 pi m)/2 + m ln m - m + delta(m)
//
// it is, with m = n-k,
//
//	k ln(np/k) + m ln(nq/m) + ln(n/(2 pi k m))/2 + delta(n) - delta(k) - delta(m)
//
// and k ln p for k = n. The two large terms nearly cancel, but np/k and nq/m are
// then near 1, where log1pUp keeps a relative error.
func binomialLogTermUp(k, n float64, c chance) float64 {
	pUp, _, qUp := c.bounds()
	lo, hi := c.excess(k, n)
	l := up(k * lnNearUp(up(hi/k), up(up(n*pUp)/k)))
	m := n - k
	if m == 0 {
		return l
	}
	l = up(l + up(m*lnNearUp(up(-lo/m), up(up(n*qUp)/m))))
	l = up(l + 0.5*arith.LogUp(up(up(n/down(k*m))*invTwoPiUp)))
	l = up(l + stirlingUp(n))
	return up(l - down(stirlingDown(k)+stirlingDown(m)))
}

// lnNearUp returns an upper bound of ln v for a real v with v - 1 <= x and
// v <= whole: by x where v is near 1, else by whole.
func lnNearUp(x, whole float64) float64 {
	if math.Abs(x) <= log1pReach {
		return log1pUp(x)
	}
	return arith.LogUp(whole)
}

// log1pUp returns an upper bound of ln(1+x) for |x| <= log1pReach, relatively
// looser by less than 1e-15 for |x| > 2^-900.
//
// Proof. ln(1+x) = 2 (s + s^3/3 + s^5/5 + ...), s = x/(2+x), |s| <= 1/3. Cutting
// after s^33 leaves 9^-17/35 * 9/8 < 0.02u relative to s. s is rounded twice,
// w = s^2 is within 5u, and in Horner's scheme the term of w^i meets i+1 roundings,
// that of its coefficient and i times that of w: u sum (6i+2)/(2i+1) 9^-i < 2.4u
// relative to the sum, which is at least 1. With s itself and the last product
// 2u + 2.4u + u, below 8u with all second-order terms. Where s could underflow,
// ln(1+x) <= x serves.
func log1pUp(x float64) float64 {
	if math.Abs(x) < 0x1p-900 {
		return up(x)
	}
	s := x / (2 + x)
	w := s * s
	sum := 0.0
	for i := 16; i >= 0; i-- {
		sum = math.FMA(sum, w, atanhSeries[i])
	}
	v := 2 * s * sum
	if v < 0 {
		return up(v * (1 - log1pErr))
	}
	return up(v * (1 + log1pErr))
}

// atanhSeries holds 1/(2i+1), rounded to nearest.
var atanhSeries = func() (c [17]float64) {
	for i := range c {
		c[i] = 1 / float64(2*i+1)
	}
	return c
}()

// stirlingUp returns an upper bound of delta(m) of Stirling's formula, m >= 1.
//
// Proof. The series 1/(12m) - 1/(360m^3) + 1/(1260m^5) - 1/(1680m^7) + 1/(1188m^9)
// - ... envelops delta: cut anywhere, it errs to the side of the last term kept
// (Whittaker, Watson, A Course of Modern Analysis, 12.33). At m = 16 the fifth
// term is below 2e-14. Small m take the logarithm of the exact factorial.
func stirlingUp(m float64) float64 {
	if m >= stirlingFrom {
		inv := 1 / m
		w := inv * inv
		// Terms up to m^-9: the sum errs upward. 8 roundings, each below 2u
		// relative to the first term, which is the largest by far.
		s := inv * (1.0/12 - w*(1.0/360-w*(1.0/1260-w*(1.0/1680-w/1188))))
		return up(s * (1 + 32*unit))
	}
	l := up(arith.LogUp(factorial(m)) + m)
	l = up(l - down((m+0.5)*arith.LogDown(m)))
	return up(l - 0.5*lnTwoPiDown)
}

// stirlingDown returns a lower bound of delta(m), m >= 1.
func stirlingDown(m float64) float64 {
	if m >= stirlingFrom {
		inv := 1 / m
		w := inv * inv
		s := inv * (1.0/12 - w*(1.0/360-w*(1.0/1260-w/1680)))
		return down(s * (1 - 32*unit))
	}
	l := down(arith.LogDown(factorial(m)) + m)
	l = down(l - up((m+0.5)*arith.LogUp(m)))
	return down(l - 0.5*lnTwoPiUp)
}

// factorial returns m! for m < stirlingFrom, exactly.
func factorial(m float64) float64 {
	f := 1.0
	for i := 2.0; i <= m; i++ {
		f *= i
	}
	return f
}
