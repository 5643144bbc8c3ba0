package gauss

import (
	"math"

	"psafe/host/arith"
)

// tiltStep is the distance of the points that TiltedTailUp compares, tiltGrid the number that they are
// multiples of, and tiltMost the largest u that it looks at.
const tiltStep, tiltGrid, tiltMost = 0x1p-10, 0x1p-20, 8

// TiltedTailUp returns an upper bound of g(u) = max over t of log Q(t) + u t, for u >= 0, which is at most
// u^2/2 ((52a), docs/theory.md). It is +Inf for what is no such number. Absolute looseness below 2^-20 for u in
// [2^-5, 8]; above it is u^2/2.
//
// The function of t is concave. So if it is no more at t - d and at t + d than at t, its maximum lies between, and it
// is at most on the line through the values at one end and at t, continued to the other.
func TiltedTailUp(u float64) float64 {
	const flat = 0.797 // g <= 0 for u <= phi(0)/Q(0) = 0.797884...: then t <= 0
	switch {
	case u == 0:
		return 0
	case !(u > 0 && u <= math.MaxFloat64):
		return math.Inf(1)
	}
	loose := up(up(u*u) / 2)
	if u <= flat {
		loose = 0
	}
	t := math.Round(tiltApprox(u)/tiltGrid) * tiltGrid
	if u > tiltMost || !(math.Abs(t) <= 2*tiltMost) {
		return loose
	}
	// e^(u d) is at least more, and at most 1/less.
	more, less := 1/arith.ExpUp(-u*tiltStep), arith.ExpDown(-u*tiltStep)
	more = down(more)
	hi, lo := TailUp(t), TailDown(t)
	if !(up(TailUp(t-tiltStep)/more) <= lo && up(TailUp(t+tiltStep)/less) <= lo) {
		return loose
	}
	rise := max(up(hi/down(TailDown(t-tiltStep)*less)), up(hi/down(TailDown(t+tiltStep)*more)))
	return min(loose, up(arith.LogUp(up(hi*rise))+up(u*t)))
}

// tiltApprox is about where log Q(t) + u t is greatest: phi(t)/Q(t) = u.
func tiltApprox(u float64) float64 {
	lo, hi := -2.0*tiltMost, u
	for range 48 {
		t := (lo + hi) / 2
		if math.Exp(-t*t/2)/math.Sqrt(2*math.Pi) < u*math.Erfc(t/math.Sqrt2)/2 {
			lo = t
		} else {
			hi = t
		}
	}
	return lo
}
