package relax

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
func relaxConvex(a net.Activation, l, u float64, by *Choice) (lower, upper Line) {
	atL, atU := curves.ValueDown(a, l), curves.ValueUp(a, u)
	switch {
	case !(l >= -math.MaxFloat64 && u <= math.MaxFloat64 && l <= u):
		return Line{0, atL}, Line{0, atU}
	case a.Kind == net.ELU && l >= 0:
		return Line{1, 0}, Line{1, 0}
	}
	left := curves.ValueUp(a, l)
	upper.A = (atU - left) / (u - l)
	if !(upper.A >= 0 && upper.A <= 1) {
		upper.A = 1
	}
	upper.B = max(aboveLine(left, upper.A, l), aboveLine(atU, upper.A, u))
	wideL, wideU := by.wider(l, u)
	touch := min(max(arith.Middle(wideL, wideU), l), u)
	lower.A = min(convexSlope(a, touch), 1)
	if !(lower.A >= leastSlope) {
		return Line{0, atL}, upper
	}
	lost := arith.Up(slopeErr * arith.Up(max(touch-l, u-touch)))
	if lower.A == 1 && a.Kind == net.ELU {
		lost = 0 // exact, for a touch >= 0
	}
	lower.B = arith.SumDown(-aboveLine(-curves.ValueDown(a, touch), -lower.A, touch), -lost)
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
