package check

import (
	"math"

	net "psafe/host/model/network"
)

// line is t -> a t + b.
type line struct{ a, b float64 }

// curve is what the checker knows of an activation that is not kinked at 0.
type curve struct {
	// down and up enclose its value; relax gives lines below and above it on [l, u].
	down, up func(a net.Activation, t float64) float64
	relax    func(a net.Activation, l, u float64, by *choice) (lower, upper line)
}

// saturating is a curve without a slope.
func saturating(down, up func(t float64) float64, relax func(l, u float64, by *choice) (lower, upper line)) curve {
	return curve{
		func(_ net.Activation, t float64) float64 { return down(t) },
		func(_ net.Activation, t float64) float64 { return up(t) },
		func(_ net.Activation, l, u float64, by *choice) (lower, upper line) { return relax(l, u, by) },
	}
}

// curves has the activations that net.Activation.Kinked does not describe. A kind that is
// in neither is unknown here, and supported says so.
var curves = map[net.Kind]curve{
	net.Sigmoid: saturating(sigmoidDown, sigmoidUp, relaxSigmoid),
	net.Tanh: saturating(
		func(t float64) float64 { return max(-1, sumDown(2*sigmoidDown(2*t), -1)) },
		func(t float64) float64 { return min(1, sumUp(2*sigmoidUp(2*t), -1)) },
		relaxTanh,
	),
	net.Softplus: {softplus.down, softplus.up, relaxConvex},
	net.ELU:      {elu.down, elu.up, relaxConvex},
}

// supported says whether the checker can bound the activation.
func supported(a net.Activation) bool {
	if _, kinked := a.Kinked(); kinked {
		return true
	}
	_, known := curves[a.Kind]
	return known
}

// valueDown is a lower bound of the activation's value, for every real number from t on:
// all activations are nondecreasing.
func valueDown(a net.Activation, t float64) float64 {
	below, kinked := a.Kinked()
	switch {
	case !kinked:
		return curves[a.Kind].down(a, t)
	case t >= 0 || below == 1:
		return t
	case below == 0:
		return 0
	}
	p, e := twoProduct(below, t)
	if e >= 0 && p < -0x1p-900 {
		return p
	}
	return down(p)
}

// valueUp is an upper bound of it, for every real number up to t.
func valueUp(a net.Activation, t float64) float64 {
	below, kinked := a.Kinked()
	switch {
	case !kinked:
		return curves[a.Kind].up(a, t)
	case t >= 0 || below == 1:
		return t
	case below == 0:
		return 0
	}
	p, e := twoProduct(below, t)
	if e <= 0 && p < -0x1p-900 {
		return p
	}
	return up(p)
}

// relax gives lines with lower(t) <= s(t) <= upper(t) for all t in [l, u], exactly for
// the numbers returned. Which lines, by decides.
func relax(a net.Activation, l, u float64, by *choice) (lower, upper line) {
	below, kinked := a.Kinked()
	switch {
	case !kinked:
		return curves[a.Kind].relax(a, l, u, by)
	case l >= 0 || below == 1:
		return line{1, 0}, line{1, 0}
	case u <= 0:
		return line{below, 0}, line{below, 0}
	}
	lower = line{below, 0}
	if by.decide(u, -l) {
		lower.a = 1
	}
	// The function is convex: a line is above it if it is so at both ends.
	upper.a = (u - below*l) / (u - l)
	if !(upper.a >= 0 && upper.a <= 1) {
		upper.a = 1
	}
	atL := up(float64(up(upper.a-below) * -l))
	atU := up(float64(up(1-upper.a) * u))
	upper.b = max(atL, atU)
	return lower, upper
}

// choice is how lines are chosen where any choice is sound. A certificate was made with
// other roundings, and so with lines that can be better by luck. Every other try than 0
// decides near ties by lot, and moves the lines of curves a little.
type choice struct {
	try   uint64
	drawn uint64
}

// lot is a number of the try, from -1 to 1 (splitmix64).
func (c *choice) lot() float64 {
	c.drawn++
	x := c.try<<32 + c.drawn
	x *= 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return float64(int64(x^x>>31)) * 0x1p-63
}

// nearTie is the share of two numbers' sizes within which they nearly tie: that of float32's
// roundings, and in every fourth try that by which this program's bounds may be better than the
// certificate's. A line that is the lower one in the middle can be the worse one for a row.
func (c *choice) nearTie() float64 {
	if c.try%4 == 3 {
		return 0x1p-6
	}
	return 0x1p-12
}

// wider is the interval for which a line around a curve is chosen.
func (c *choice) wider(l, u float64) (float64, float64) {
	if c.try != 0 {
		by := math.Ldexp(abs(l, u), -10-2*int(c.try%4))
		return l - by*math.Abs(c.lot()), u + by*math.Abs(c.lot())
	}
	return l, u
}

// decide is a > b, but by lot if they nearly tie.
func (c *choice) decide(a, b float64) bool {
	if c.try != 0 && math.Abs(a-b) <= c.nearTie()*(math.Abs(a)+math.Abs(b)) {
		return c.lot() > 0
	}
	return a > b
}

// sigmoidDown and sigmoidUp enclose 1/(1+e^-t).
func sigmoidDown(t float64) float64 {
	s := sigmoid(t)
	return max(0, sumDown(s.hi, down(s.lo-0x1p-60)))
}

func sigmoidUp(t float64) float64 {
	s := sigmoid(t)
	return min(1, sumUp(s.hi, up(s.lo+0x1p-60)))
}

// relaxSigmoid uses sigmoid(t) = 1 - sigmoid(-t) for the lower line.
func relaxSigmoid(l, u float64, by *choice) (lower, upper line) {
	upper = sigmoidUpper(l, u, by)
	below := sigmoidUpper(-u, -l, by)
	return line{below.a, sumDown(1, -below.b)}, upper
}

// relaxTanh uses tanh(t) = 2 sigmoid(2t) - 1; the doublings are exact.
func relaxTanh(l, u float64, by *choice) (lower, upper line) {
	lower, upper = relaxSigmoid(2*l, 2*u, by)
	return line{4 * lower.a, sumDown(2*lower.b, -1)}, line{4 * upper.a, sumUp(2*upper.b, -1)}
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
func sigmoidUpper(l, u float64, by *choice) line {
	if !(l >= -math.MaxFloat64 && u <= math.MaxFloat64 && l <= u) {
		return line{0, 1}
	}
	atL, atU := sigmoidUp(l), sigmoidUp(u)
	a, touch := upperSlope(by.wider(l, u))
	if !(a >= leastSlope && a <= 1) {
		return line{0, atU}
	}
	b := -inf
	if l < 0 {
		b = aboveLine(atL, a, l)
	}
	if u <= 0 {
		return line{a, max(b, aboveLine(atU, a, u))}
	}
	touch = min(max(touch, l, 0), u)
	slope := slopeApprox(touch)
	over := up(up(a-slope) + slopeErr)
	under := up(up(slope-a) + slopeErr)
	extra := max(0, up(over*up(touch-max(l, 0))), up(under*up(u-touch)))
	return line{a, max(b, sumUp(aboveLine(sigmoidUp(touch), a, touch), extra))}
}

// upperSlope chooses a slope on [l, u], and where the line touches if that is on t > 0.
func upperSlope(l, u float64) (a, touch float64) {
	switch {
	case l >= 0:
		touch = l/2 + u/2
		return slopeApprox(touch), touch
	case u <= 0:
		return (sigmoid(u).hi - sigmoid(l).hi) / (u - l), u
	}
	return touchFrom(l, u)
}

// aboveLine is an upper bound of v - a t.
func aboveLine(v, a, t float64) float64 {
	var s sum
	s.plus(v)
	s.add(-a, t)
	return s.hi()
}

// slopeApprox is the derivative of the sigmoid, wrong by at most slopeErr: s and 1-s are
// rounded once each, and so is their product, which is at most 1/4.
func slopeApprox(t float64) float64 {
	s := sigmoid(t)
	return s.hi * (1 - s.hi)
}

const slopeErr = 4 * unit

// touchFrom returns a touch > 0 for the upper line on l < 0 < u, and the slope there: by
// bisection one whose tangent passes over (l, sigmoid(l)), or the middle of [l, u] if that
// is further right, where the area under the line is least; the chord if there is none.
func touchFrom(l, u float64) (a, touch float64) {
	sl, su := sigmoid(l).hi, sigmoid(u).hi
	a = slopeApprox(u)
	if sl+a*(u-l) > su {
		return (su - sl) / (u - l), u
	}
	lo, hi := 0.0, u
	for range 12 {
		m := (lo + hi) / 2
		slope := slopeApprox(m)
		if sl+slope*(m-l) > sigmoid(m).hi {
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
