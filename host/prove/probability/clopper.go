package probability

import (
	"fmt"
	"math"

	"psafe/host/arith"
)

// ClopperPearsonDown returns a lower confidence limit L of a probability p, after
// k successes in n independent trials:
//
//	P(Bin(n,L) >= k) <= alpha,   rounded down
//
// so that, whatever p is, L <= p holds with probability at least 1-alpha over the
// trials (Clopper, Pearson, Biometrika 26, 1934). Valid for 0 <= k <= n <= 2^50
// and 0 < alpha < 1. For alpha <= 0.9 it is below the exact limit by less than 1e-9
// of min(L, 1-L), or by two of L's last places where that is more. 0 for k = 0, and
// for an alpha outside of (0,1) and NaN. It panics if k is not in 0..n or n is
// above 2^50.
//
// Nothing is assumed about the search: the limit returned is one at which the
// bound of the tail has been found to be at most alpha.
func ClopperPearsonDown(k, n int, alpha float64) float64 {
	checkCounts(k, n)
	if k == 0 || !(alpha > 0 && alpha < 1) {
		return 0
	}
	l := arith.LogDown(alpha)
	return confirmed(k, n, l, givenP, searchApprox(k, n, l).p)
}

// ClopperPearsonUp returns an upper confidence limit U of a probability p, after
// k successes in n independent trials:
//
//	P(Bin(n,U) <= k) <= alpha,   rounded up
//
// Range, tightness (of min(U, 1-U)) and panics are those of ClopperPearsonDown. 1
// for k = n, and for an alpha outside of (0,1) and NaN.
func ClopperPearsonUp(k, n int, alpha float64) float64 {
	checkCounts(k, n)
	if k == n || !(alpha > 0 && alpha < 1) {
		return 1
	}
	// At most k successes are at least n-k failures, of probability 1-U.
	l := arith.LogDown(alpha)
	return confirmed(n-k, n, l, givenQ, searchApprox(n-k, n, l).q)
}

func checkCounts(k, n int) {
	if k < 0 || k > n || n > maxTrials {
		panic(fmt.Sprintf("probability: Clopper-Pearson limit for %d of %d trials", k, n))
	}
}

// confirmed moves v, which is p or q as given says, away from the tail (p down, q
// up) until P(Bin(n,p) >= k) <= e^logAlpha is proved, and returns it. The steps
// double, so it ends: at the latest at p = 0 or q = 1, which are limits whatever
// alpha is.
func confirmed(k, n int, logAlpha float64, given givenSide, v float64) float64 {
	for step := 0.0; ; {
		if given == givenP && !(v > 0) {
			return 0
		}
		if given == givenQ && !(v < 1) {
			return 1
		}
		if l, _ := binomialLogTailUp(k, n, chanceOf(v, given)); l <= logAlpha {
			return v
		}
		step = max(2*step, 0x1p-52*min(v, 1-v))
		if given == givenP {
			v = min(down(v), v-step)
		} else {
			v = max(up(v), v+step)
		}
	}
}

// searchApprox proposes the chance at which the tail P(Bin(n,p) >= k), k >= 1, is
// e^logAlpha. Not a bound.
//
// Newton's method in ln p: the tail S has d ln S / d ln p = k t_k/S, t_k its first
// term, and ln S is concave in ln p, so every step lands where the tail is small
// enough, and the steps converge from there without a safeguard.
func searchApprox(k, n int, logAlpha float64) chance {
	if k == n { // alpha^(1/n)
		return moved(chance{1, 0, givenQ}, logAlpha/float64(n))
	}
	c := moved(chance{float64(k) / float64(n), float64(n-k) / float64(n), givenP}, 0)
	for range 100 {
		l, ratio := binomialLogTailUp(k, n, c)
		d := max(-100, (logAlpha-l)*ratio/float64(k)) // so that e^d is not 0
		next := moved(c, d)
		if !(next.p > 0 && next.q > 0) {
			break
		}
		c = next
		if math.Abs(d)*c.p <= 0x1p-51*min(c.p, c.q) {
			break
		}
	}
	return c
}

// moved is about the chance with ln p larger by d. Its smaller side is the exact
// one, so that neither loses places.
func moved(c chance, d float64) chance {
	p, minus := c.p*math.Exp(d), c.p*math.Expm1(d)
	if p < 0.5 {
		return chanceOf(p, givenP)
	}
	return chanceOf(c.q-minus, givenQ)
}
