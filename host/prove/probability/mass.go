package probability

import (
	"fmt"
	"math"

	"psafe/host/arith/gauss"
)

// LogMassDown returns a lower bound, at most 0, of the log-probability of a
// box under a diagonal Gaussian, equation (6):
//
//	log P(B) = sum_j log1p(-Q_j),   Q_j = Q((mean_j - lo_j)/sd_j) + Q((hi_j - mean_j)/sd_j)
//
// for every standard deviation vector sd with sdLo <= sd <= sdHi.
//
// All five slices have one length d >= 0 (it panics otherwise); the empty box
// of dimension 0 has mass 1. lo_j = -Inf and hi_j = +Inf are allowed and a free
// weight (both) costs nothing. Where sd_j can only be 0, the factor is 1 if
// lo_j <= mean_j <= hi_j, else 0.
//
// The result is -Inf if lo_j > hi_j anywhere, if anything is NaN, if a mean or
// standard deviation is infinite, and if not 0 <= sdLo_j <= sdHi_j. Long slices
// are worked on in parallel; the result does not depend on the number of cores.
//
// Looseness: below 1e-12 relative in every tail and 2^-52 in every factor.
// A box beyond the mean in weight j is a difference of two tails on one side
// of the mean, loose by 1e-12 Q/(factor).
func LogMassDown(lo, hi, mean, sdLo, sdHi []float64) float64 {
	return massDown(lo, hi, mean, sdLo, sdHi).logDown()
}

// massDown is LogMassDown before the logarithm.
func massDown(lo, hi, mean, sdLo, sdHi []float64) product {
	checkLengths("LogMassDown", len(mean), lo, hi, sdLo, sdHi)
	return inChunks(len(mean), func(from, to int) product {
		p := one
		for j := from; j < to && p.m > 0; j++ {
			p.intervalDown(lo[j], hi[j], mean[j], sdLo[j], sdHi[j])
		}
		return p
	})
}

// sensible reports whether one weight's numbers describe a distribution and an
// interval (possibly empty).
func sensible(lo, hi, mean, sdLo, sdHi float64) bool {
	return lo == lo && hi == hi && math.Abs(mean) <= math.MaxFloat64 &&
		0 <= sdLo && sdLo <= sdHi && sdHi <= math.MaxFloat64
}

// intervalDown multiplies p by a lower bound of P(lo <= N(mean, sd^2) <= hi)
// over sdLo <= sd <= sdHi.
func (p *product) intervalDown(lo, hi, mean, sdLo, sdHi float64) {
	switch {
	case !sensible(lo, hi, mean, sdLo, sdHi) || lo > hi:
		p.m = 0
	case math.IsInf(lo, -1) && math.IsInf(hi, 1):
	case lo <= mean && mean <= hi:
		if sdHi == 0 {
			return
		}
		// Both tails grow with sd: the worst is sdHi (also where sd = 0
		// is possible, which gives 1).
		a, b := distanceDown(mean, lo, sdHi), distanceDown(hi, mean, sdHi)
		q := tailSumUp(a, b)
		switch {
		case q <= smallTail:
			p.timesOneMinusDown(q)
		case q <= 0.5:
			p.timesDown(down(1 - q))
		default: // 1-q would cancel: add the two central parts instead
			p.timesDown(max(0, down(gauss.CentralDown(a)+gauss.CentralDown(b))))
		}
	default:
		// near < far are the distances of the ends from the mean. As a function
		// of sd, P = Q(near/sd) - Q(far/sd) has the derivative sign of
		// near e^{-near^2/2sd^2} - far e^{-far^2/2sd^2}, which changes once, from
		// + to -: P rises, then falls, and its minimum is at sdLo or sdHi.
		f := oneSideDown(lo, hi, mean, sdHi)
		if sdLo != sdHi {
			f = min(f, oneSideDown(lo, hi, mean, sdLo))
		}
		p.timesDown(f)
	}
}

// oneSideDown returns a lower bound, at least 0, of P(lo <= N(mean,sd^2) <=
// hi) for an interval that does not contain the mean; 0 for sd = 0.
func oneSideDown(lo, hi, mean, sd float64) float64 {
	if sd == 0 {
		return 0
	}
	near, far := distanceUp(lo, mean, sd), distanceDown(hi, mean, sd)
	if hi < mean {
		near, far = distanceUp(mean, hi, sd), distanceDown(mean, lo, sd)
	}
	return max(0, down(tailDownAt(near)-tailUpAt(far)))
}

// distanceDown returns a lower bound, at least 0, of (x - y)/sd for x >= y,
// sd > 0; +Inf exactly where x or y is infinite, and only there.
func distanceDown(x, y, sd float64) float64 {
	if math.IsInf(x, 1) || math.IsInf(y, -1) {
		return math.Inf(1)
	}
	return max(0, down(max(0, down(x-y))/sd))
}

// distanceUp returns an upper bound of (x - y)/sd for x >= y, sd >= 0; sd = 0
// counts as the limit, +Inf. (With sd = 0, up makes the dividend positive.)
func distanceUp(x, y, sd float64) float64 {
	return up(up(x-y) / sd)
}

// tailUpAt is TailUp, except that +Inf from distanceDown is an infinite end,
// beyond which there is exactly nothing.
func tailUpAt(z float64) float64 {
	if math.IsInf(z, 1) {
		return 0
	}
	return gauss.TailUp(z)
}

// tailDownAt is TailDown, named for symmetry with tailUpAt.
func tailDownAt(z float64) float64 { return gauss.TailDown(z) }

// tailSumUp returns an upper bound of Q(a) + Q(b).
func tailSumUp(a, b float64) float64 {
	return up(tailUpAt(a) + tailUpAt(b))
}

// tailSumDown returns a lower bound, at least 0, of Q(a) + Q(b).
func tailSumDown(a, b float64) float64 {
	return max(0, down(tailDownAt(a)+tailDownAt(b)))
}

// checkLengths panics unless every slice has length d.
func checkLengths(op string, d int, slices ...[]float64) {
	for i, s := range slices {
		if len(s) != d {
			panic(fmt.Sprintf("probability: %s: slice %d of (lo, hi, sdLo, sdHi) has length %d, mean has %d", op, i, len(s), d))
		}
	}
}
