package check

import (
	"math"

	"psafe/host/arith"
	"psafe/host/check/curves"
	net "psafe/host/model/network"
)

// The convex activations that are made of exponentials: softplus and ELU.

// relaxConvex gives the chord, moved above both ends, and a line that touches at the middle. The
// function is at least its value there plus its slope there times the distance; the slope that is
// taken is wrong by at most slopeErr, which costs that times the distance. The function does not
// fall, so flat lines through the ends' values hold as well.
func relaxConvex(a net.Activation, l, u float64, by *choice) (lower, upper line) {
	atL, atU := curves.ValueDown(a, l), curves.ValueUp(a, u)
	switch {
	case !(l >= -math.MaxFloat64 && u <= math.MaxFloat64 && l <= u):
		return line{0, atL}, line{0, atU}
	case a.Kind == net.ELU && l >= 0:
		return line{1, 0}, line{1, 0}
	}
	left := curves.ValueUp(a, l)
	upper.a = (atU - left) / (u - l)
	if !(upper.a >= 0 && upper.a <= 1) {
		upper.a = 1
	}
	upper.b = max(aboveLine(left, upper.a, l), aboveLine(atU, upper.a, u))
	wideL, wideU := by.wider(l, u)
	touch := min(max(arith.Middle(wideL, wideU), l), u)
	lower.a = min(convexSlope(a, touch), 1)
	if !(lower.a >= leastSlope) {
		return line{0, atL}, upper
	}
	lost := arith.Up(slopeErr * arith.Up(max(touch-l, u-touch)))
	if lower.a == 1 && a.Kind == net.ELU {
		lost = 0 // exact, for a touch >= 0
	}
	lower.b = arith.SumDown(-aboveLine(-curves.ValueDown(a, touch), -lower.a, touch), -lost)
	return lower, upper
}

// convexSlope is the slope of a line that touches at t, wrong by at most slopeErr.
func convexSlope(a net.Activation, t float64) float64 {
	switch {
	case a.Kind == net.Softplus:
		return curves.Sigmoid(t).Hi
	case t >= 0:
		return 1
	case t < -700:
		return 0
	}
	m, k := arith.ExpOf(arith.DDOf(t))
	return a.Slope * m.Scaled(k).Hi
}
