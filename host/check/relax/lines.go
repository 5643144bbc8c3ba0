package relax

import (
	"math"

	"psafe/host/arith"
	"psafe/host/check/curves"
	net "psafe/host/model/network"
)

// Line is t -> a t + b.
type Line struct{ A, B float64 }

// relaxers give lines below and above the activations that net.Activation.Kinked does not
// describe, on [l, u].
var relaxers = map[net.Kind]func(a net.Activation, l, u float64, by *Choice) (lower, upper Line){
	net.Sigmoid:  relaxSigmoid,
	net.Tanh:     relaxTanh,
	net.Softplus: relaxConvex,
	net.ELU:      relaxConvex,
}

// LinesAround gives lines with lower(t) <= s(t) <= upper(t) for all t in [l, u], exactly for
// the numbers returned. Which lines, by decides.
func LinesAround(a net.Activation, l, u float64, by *Choice) (lower, upper Line) {
	below, kinked := a.Kinked()
	switch {
	case !kinked && by.Flat:
		return Line{0, curves.ValueDown(a, l)}, Line{0, curves.ValueUp(a, u)}
	case !kinked:
		return relaxers[a.Kind](a, l, u, by)
	case l >= 0 || below == 1:
		return Line{1, 0}, Line{1, 0}
	case u <= 0:
		return Line{below, 0}, Line{below, 0}
	}
	lower = Line{below, 0}
	if by.Decide(u, -l) {
		lower.A = 1
	}
	// The function is convex: a line is above it if it is so at both ends.
	upper.A = (u - below*l) / (u - l)
	if !(upper.A >= 0 && upper.A <= 1) {
		upper.A = 1
	}
	atL := arith.Up(float64(arith.Up(upper.A-below) * -l))
	atU := arith.Up(float64(arith.Up(1-upper.A) * u))
	upper.B = max(atL, atU)
	return lower, upper
}

// Choice describes how lines are chosen where any choice is sound. A certificate was made with
// other roundings, and so with lines that can be better by luck. Every other try than 0 decides
// near ties by lot, and moves the lines of curves a little.
type Choice struct {
	Try   uint64
	drawn uint64
	// Flat reports whether lines around what has no kink are to have no slope.
	Flat bool
}

// Lot is a number of the try, from -1 to 1 (splitmix64).
func (c *Choice) Lot() float64 {
	c.drawn++
	x := c.Try<<32 + c.drawn
	x *= 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return float64(int64(x^x>>31)) * 0x1p-63
}

// nearTie is the share of two numbers' sizes within which they nearly tie: that of float32's
// roundings, and in every fourth try that by which this program's bounds may be better than the
// certificate's. A line that is the lower one in the middle can be the worse one for a row.
func (c *Choice) nearTie() float64 {
	if c.Try%4 == 3 {
		return 0x1p-6
	}
	return 0x1p-12
}

// wider is the interval for which a line around a curve is chosen.
func (c *Choice) wider(l, u float64) (float64, float64) {
	if c.Try != 0 {
		by := math.Ldexp(Abs(l, u), -10-2*int(c.Try%4))
		return l - by*math.Abs(c.Lot()), u + by*math.Abs(c.Lot())
	}
	return l, u
}

// Decide is a > b, but by lot if they nearly tie.
func (c *Choice) Decide(a, b float64) bool {
	if c.Try != 0 && math.Abs(a-b) <= c.nearTie()*(math.Abs(a)+math.Abs(b)) {
		return c.Lot() > 0
	}
	return a > b
}

// relaxSigmoid uses sigmoid(t) = 1 - sigmoid(-t) for the lower line.
func relaxSigmoid(_ net.Activation, l, u float64, by *Choice) (lower, upper Line) {
	upper = sigmoidUpper(l, u, by)
	below := sigmoidUpper(-u, -l, by)
	return Line{below.A, arith.SumDown(1, -below.B)}, upper
}

// relaxTanh uses tanh(t) = 2 sigmoid(2t) - 1; the doublings are exact.
func relaxTanh(a net.Activation, l, u float64, by *Choice) (lower, upper Line) {
	lower, upper = relaxSigmoid(a, 2*l, 2*u, by)
	return Line{4 * lower.A, arith.SumDown(2*lower.B, -1)}, Line{4 * upper.A, arith.SumUp(2*upper.B, -1)}
}

// leastSlope is the least slope of a line that is not flat.
const leastSlope = 0x1p-30

// sigmoidUpper is a line above the sigmoid on [l, u]. Its slope is chosen: that of the
// tangent at the middle where the sigmoid is concave (l >= 0), of the chord where it is
// convex (u <= 0), and else of a tangent at some touch > 0 that passes over the left end
// (touchFrom). Any slope a will do, if b is at least the supremum of sigmoid(t) - a t: on
// t <= 0, where the sigmoid is convex, that is at an end; on [m, u], m = max(l, 0), the
// sigmoid is below its tangent at touch, so there it is at most
//
//	sigmoid(touch) - a touch + max((a - s')(touch - m), (s' - a)(u - touch), 0)
func sigmoidUpper(l, u float64, by *Choice) Line {
	if !(l >= -math.MaxFloat64 && u <= math.MaxFloat64 && l <= u) {
		return Line{0, 1}
	}
	atL, atU := curves.SigmoidUp(l), curves.SigmoidUp(u)
	a, touch := upperSlope(by.wider(l, u))
	if !(a >= leastSlope && a <= 1) {
		return Line{0, atU}
	}
	b := -arith.Inf
	if l < 0 {
		b = aboveLine(atL, a, l)
	}
	if u <= 0 {
		return Line{a, max(b, aboveLine(atU, a, u))}
	}
	touch = min(max(touch, l, 0), u)
	slope := slopeApprox(touch)
	over := arith.Up(arith.Up(a-slope) + slopeErr)
	under := arith.Up(arith.Up(slope-a) + slopeErr)
	extra := max(0, arith.Up(over*arith.Up(touch-max(l, 0))), arith.Up(under*arith.Up(u-touch)))
	return Line{a, max(b, arith.SumUp(aboveLine(curves.SigmoidUp(touch), a, touch), extra))}
}

// upperSlope chooses a slope on [l, u], and where the line touches if that is on t > 0.
func upperSlope(l, u float64) (a, touch float64) {
	switch {
	case l >= 0:
		touch = l/2 + u/2
		return slopeApprox(touch), touch
	case u <= 0:
		return (curves.Sigmoid(u).Hi - curves.Sigmoid(l).Hi) / (u - l), u
	}
	return touchFrom(l, u)
}

// aboveLine is an upper bound of v - a t.
func aboveLine(v, a, t float64) float64 {
	var s arith.Sum
	s.Plus(v)
	s.Add(-a, t)
	return s.Hi()
}

// slopeApprox is the derivative of the sigmoid, wrong by at most slopeErr: s and 1-s are
// rounded once each, and so is their product, which is at most 1/4.
func slopeApprox(t float64) float64 {
	s := curves.Sigmoid(t)
	return s.Hi * (1 - s.Hi)
}

const slopeErr = 4 * arith.Unit

// touchFrom returns a touch > 0 for the upper line on l < 0 < u, and the slope there: by
// bisection one whose tangent passes over (l, sigmoid(l)), or the middle of [l, u] if that
// is further right, where the area under the line is least; the chord if there is none.
func touchFrom(l, u float64) (a, touch float64) {
	sl, su := curves.Sigmoid(l).Hi, curves.Sigmoid(u).Hi
	a = slopeApprox(u)
	if sl+a*(u-l) > su {
		return (su - sl) / (u - l), u
	}
	lo, hi := 0.0, u
	for range 12 {
		m := (lo + hi) / 2
		slope := slopeApprox(m)
		if sl+slope*(m-l) > curves.Sigmoid(m).Hi {
			lo = m
		} else {
			hi, a = m, slope
		}
	}
	if m := l/2 + u/2; m > hi {
		return slopeApprox(m), m
	}
	return a, hi
}

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
