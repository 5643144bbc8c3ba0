package check

import (
	"math"

	net "psafe/host/model/network"
)

// The convex activations that are made of exponentials: softplus and ELU.

// lnOnePlus encloses ln(1 + e^-y) for y >= 0. With v near it, ln(1 + e^-y) = v + ln(1 + d) for
// d = (1 + e^-y) e^-v - 1, which is below 2^-50; d - d^2 <= ln(1 + d) <= d. What is computed of d
// is wrong by less than 2^-60.
func lnOnePlus(y float64) (lo, hi float64) {
	if y > 700 {
		return 0, 0x1p-1000 // e^-700 < 2^-1009
	}
	m, k := expOf(ddOf(-y))
	one := ddOf(1).plus(m.scaled(k))
	v := math.Log1p(one.hi - 1 + one.lo)
	m, k = expOf(ddOf(-v))
	d := one.times(m.scaled(k)).minus(ddOf(1))
	if !(math.Abs(d.hi) < 0x1p-40) {
		return 0, 1 // nothing is taken for granted of Log1p
	}
	return max(0, sumDown(v, down(d.hi-0x1p-60))), sumUp(v, up(d.hi+0x1p-60))
}

func softplusDown(t float64) float64 {
	lo, _ := lnOnePlus(math.Abs(t))
	return sumDown(max(t, 0), lo)
}

func softplusUp(t float64) float64 {
	_, hi := lnOnePlus(math.Abs(t))
	return sumUp(max(t, 0), hi)
}

// eluDown and eluUp enclose t for t >= 0 and alpha (e^t - 1) for t < 0; alpha is in (0, 1].
func eluDown(a net.Activation, t float64) float64 {
	if !(t < 0) {
		return t
	}
	lo, _ := expm1(t)
	return max(-a.Slope, down(a.Slope*lo))
}

func eluUp(a net.Activation, t float64) float64 {
	if !(t < 0) {
		return t
	}
	_, hi := expm1(t)
	return min(0, up(a.Slope*hi))
}

// expm1 encloses e^t - 1 for t <= 0.
func expm1(t float64) (lo, hi float64) {
	if t < -700 {
		return -1, -1 + unit // e^-700 < 2^-1009
	}
	m, k := expOf(ddOf(t))
	d := m.scaled(k).minus(ddOf(1))
	return max(-1, sumDown(d.hi, down(d.lo-0x1p-60))), min(0, sumUp(d.hi, up(d.lo+0x1p-60)))
}

// softplus and elu are their values.
var (
	softplus = curve{
		down: func(_ net.Activation, t float64) float64 { return softplusDown(t) },
		up:   func(_ net.Activation, t float64) float64 { return softplusUp(t) },
	}
	elu = curve{down: eluDown, up: eluUp}
)

func convexOf(a net.Activation) curve {
	if a.Kind == net.ELU {
		return elu
	}
	return softplus
}

// relaxConvex gives the chord, moved above both ends, and a line that touches at the middle. The
// function is at least its value there plus its slope there times the distance; the slope that is
// taken is wrong by at most slopeErr, which costs that times the distance. The function does not
// fall, so flat lines through the ends' values hold as well.
func relaxConvex(a net.Activation, l, u float64, by *choice) (lower, upper line) {
	at := convexOf(a)
	atL, atU := at.down(a, l), at.up(a, u)
	switch {
	case !(l >= -math.MaxFloat64 && u <= math.MaxFloat64 && l <= u):
		return line{0, atL}, line{0, atU}
	case a.Kind == net.ELU && l >= 0:
		return line{1, 0}, line{1, 0}
	}
	left := at.up(a, l)
	upper.a = (atU - left) / (u - l)
	if !(upper.a >= 0 && upper.a <= 1) {
		upper.a = 1
	}
	upper.b = max(aboveLine(left, upper.a, l), aboveLine(atU, upper.a, u))
	wideL, wideU := by.wider(l, u)
	touch := min(max(middle(wideL, wideU), l), u)
	lower.a = min(convexSlope(a, touch), 1)
	if !(lower.a >= leastSlope) {
		return line{0, atL}, upper
	}
	lost := up(slopeErr * up(max(touch-l, u-touch)))
	if lower.a == 1 && a.Kind == net.ELU {
		lost = 0 // exact, for a touch >= 0
	}
	lower.b = sumDown(-aboveLine(-at.down(a, touch), -lower.a, touch), -lost)
	return lower, upper
}

// convexSlope is the slope of a line that touches at t, wrong by at most slopeErr.
func convexSlope(a net.Activation, t float64) float64 {
	switch {
	case a.Kind == net.Softplus:
		return sigmoid(t).hi
	case t >= 0:
		return 1
	case t < -700:
		return 0
	}
	m, k := expOf(ddOf(t))
	return a.Slope * m.scaled(k).hi
}
