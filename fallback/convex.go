package fallback

import "psafe/host/bound"

// convexAt holds what is known of a convex nondecreasing activation s at a point t: lo <= s(t) <=
// hi, and a slope within err of one of a line through (t, s(t)) below s.
type convexAt[T bound.Real] struct{ lo, hi, slope, err T }

// softplusAt: softplus(t) = ln(1 + exp(t)) = max(t, 0) + ln(1 + e), e = exp(-|t|), whose
// derivative is sigmoid(t).
//
// ln(1 + e) = 2 atanh(z), z = e/(2+e) <= 1/3, within sigmoidErr u absolute: e is wrong by 7u
// relative, which moves it by 7u e/(1+e) <= 3.5u; z beyond that by 5u relative (1 + e/2, its
// reciprocal with 3u as in sigmoidApprox, a product), which moves it by 5u 2z/(1-z^2) <= 3.75u.
// The series in z^2 <= 1/9 stops where the rest is below u/8, and Horner's rule is within 1.5u
// of a result in [1, 1.04] (each step but the last counts 1/9 or less); 2 z q adds a rounding:
// 2.5u of at most 0.7. Sum: below 9.5u, and adding or subtracting the error rounds once.
func (d *Device[T]) softplusAt(t T) convexAt[T] {
	c, e := &d.sigmoidC, d.expNegApprox(t)
	half := T(0.5 * e)
	z := T(half * d.recipApprox(1+half))
	w, q := T(z*z), c.atanh[0]
	for _, a := range c.atanh[1:] {
		q = a + T(w*q)
	}
	ln, m, err := T(T(2*z)*q), max(t, 0), T(sigmoidErr*d.u)
	s := d.recipApprox(1 + e)
	if t < 0 {
		s = 1 - s
	}
	return convexAt[T]{max(m, d.lower(d.down(m+(ln-err)))), d.up(m + (ln + err)), s, err}
}

// eluAt: elu(t) = t for t >= 0, alpha (exp(t) - 1) for t < 0, with an alpha of (0, 1] in
// [alphaLo, alphaHi]; its derivative for t < 0 is alpha exp(t), and 1 is a slope at 0.
//
// exp(t) - 1 is wrong by 7u and a rounding, below sigmoidErr u; and so is alphaHi exp(t), but
// for the width of alpha's interval.
func (d *Device[T]) eluAt(t, alphaLo, alphaHi T) convexAt[T] {
	if t >= 0 {
		return convexAt[T]{t, t, 1, 0}
	}
	e, err := d.expNegApprox(t), T(sigmoidErr*d.u)
	below := e - 1
	return convexAt[T]{
		lo: max(-alphaHi, d.down(T(alphaHi*(below-err)))), hi: min(0, d.up(T(alphaLo*min(0, below+err)))),
		slope: T(alphaHi * e), err: d.up(err + d.up(alphaHi-alphaLo)),
	}
}

// convexLines are two lines round a convex nondecreasing activation on [l, u], of which at gives
// the values. The upper one is the chord, lifted over both ends; the lower one touches at the
// middle, where slope and value are not exact: from there to the ends the slope's error costs
// err times the distance. Slopes are in [0, 1]; flat lines hold as the activation does not fall.
func (d *Device[T]) convexLines(l, u T, at func(T) convexAt[T]) (aLo, bLo, aHi, bHi T) {
	left, right := at(l), at(u)
	if !(l >= -d.max && u <= d.max && l <= u) {
		return 0, left.lo, 0, right.hi
	}
	aHi = T((right.hi - left.hi) * d.recipApprox(u-l))
	if !(aHi >= 0 && aHi <= 1) {
		aHi = 1
	}
	if aHi < minSlope {
		aHi = 0
	}
	bHi = max(d.up(left.hi-d.down(T(aHi*l))), d.up(right.hi-d.down(T(aHi*u))))
	touch := T(0.5*l) + T(0.5*u)
	middle := at(touch)
	aLo = min(middle.slope, 1)
	if !(aLo >= minSlope) {
		return 0, left.lo, aHi, bHi
	}
	lost := d.up(T(middle.err * max(d.up(touch-l), d.up(u-touch))))
	return aLo, d.down(d.down(middle.lo-d.up(T(aLo*touch))) - lost), aHi, bHi
}
