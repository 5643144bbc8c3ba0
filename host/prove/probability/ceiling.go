package probability

import (
	"math"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
)

// CeilingLog returns an upper bound of
//
//	ln( n erf(gamma/sqrt 2)^d )
//
// the most that n boxes of half-width gamma standard deviations in each of d
// weights can hold together, wherever they are (docs/theory.md, section 2.5: a box
// centred at the mean has the largest mass of its shape). It may be positive:
// then it says nothing. n <= 0 gives -Inf; d <= 0 gives ln n; gamma <= 0 with
// d > 0 gives -Inf; gamma = NaN counts as +Inf. Nothing underflows.
func CeilingLog(n int, gamma float64, d int) float64 {
	if n <= 0 {
		return math.Inf(-1)
	}
	logN := 0.0
	if n > 1 {
		// float64(n) may have rounded down.
		logN = arith.LogUp(up(float64(n)))
	}
	if d <= 0 || math.IsNaN(gamma) {
		return logN
	}
	if gamma <= 0 {
		return math.Inf(-1)
	}
	p := one
	if q := tailSumDown(gamma, gamma); q <= smallTail {
		p.timesOneMinusUp(q)
	} else {
		p.timesUp(up(2 * gauss.CentralUp(gamma)))
	}
	// A float64 d above 2^53 may have rounded up; one gap takes it back, and
	// smaller |log| is the sound side.
	return up(logN + up(down(float64(d))*p.logUp()))
}

// centredLogApprox returns about ln erf(gamma/sqrt 2).
func centredLogApprox(gamma float64) float64 {
	switch {
	case gamma <= 0:
		return math.Inf(-1)
	case math.IsInf(gamma, 1):
		return 0
	case gamma < 1:
		return math.Log(2 * gauss.CentralUp(gamma))
	}
	return math.Log1p(-2 * gauss.TailUp(gamma))
}

// GammaForMassApprox returns about the gamma with erf(gamma/sqrt 2)^d = p: the
// half-width, in standard deviations, of the mean-centred box of mass p in d
// weights. 4.33 for p = 0.9, d = 7,177 and 5.31 for d = 10^6. Not a bound.
// p <= 0, d <= 0 and NaN give 0; p >= 1 gives +Inf.
func GammaForMassApprox(p float64, d int) float64 {
	switch {
	case !(p > 0) || d <= 0:
		return 0
	case p >= 1:
		return math.Inf(1)
	}
	target := math.Log(p) / float64(d)
	lo, hi := 0.0, float64(gauss.TailEnd)
	for range 80 {
		mid := 0.5 * (lo + hi)
		if centredLogApprox(mid) < target {
			lo = mid
		} else {
			hi = mid
		}
	}
	return 0.5 * (lo + hi)
}
