package fallback

import "psafe/host/bound"

// sigmoidConstants hold what sigmoidApprox needs in one format.
type sigmoidConstants[T bound.Real] struct {
	// cap is where exp(-y) stops mattering; log2e = 1/ln 2; magic rounds to a
	// whole number when added and taken away; ln2Hi has so few bits that whole
	// multiples of it are exact, ln2Hi + ln2Lo = ln 2.
	cap, log2e, magic, ln2Hi, ln2Lo T
	// taylor holds 1/n!, highest n first, down to 1/0!.
	taylor []T
	// atanh holds 1/(2n+1), highest n first, down to 1.
	atanh []T
}

var sigmoid32 = sigmoidConstants[float32]{
	cap: 80, log2e: 1.44269504, magic: 3 << 22, ln2Hi: 0.693359375, ln2Lo: -2.12194440e-4,
	taylor: factorials[float32](7), atanh: odds[float32](7),
}

var sigmoid64 = sigmoidConstants[float64]{
	cap: 700, log2e: 1.4426950408889634, magic: 3 << 51, ln2Hi: 6.93147180369123816490e-01, ln2Lo: 1.90821492927058770002e-10,
	taylor: factorials[float64](13), atanh: odds[float64](16),
}

func factorials[T bound.Real](n int) []T {
	f := 1.0
	t := make([]T, n+1)
	t[n] = 1
	for k := 1; k <= n; k++ {
		f *= float64(k)
		t[n-k] = T(1 / f)
	}
	return t
}

func odds[T bound.Real](n int) []T {
	t := make([]T, n+1)
	for k := range t {
		t[n-k] = T(1 / float64(2*k+1))
	}
	return t
}

// sigmoidErr is the absolute error of sigmoidApprox in units of u; see there.
const sigmoidErr = 16

// sigmoidApprox is 1/(1+exp(-t)) within sigmoidErr u for every finite t.
//
// y = |t| is cut at cap, which changes the result by less than exp(-cap) < u/1000.
// With k = round(y/ln2) and r = y - k ln2, |r| < 0.347 after rounding, exp(-y) =
// 2^-k exp(-r). r is wrong by at most 2u (k ln2Hi is exact, and so is its
// difference to y but for one rounding of a number below 0.36; k ln2Lo is rounded
// once and subtracted once, and k times what ln2Hi + ln2Lo lack of ln 2 is below
// u/50). Taylor's remainder is below e^0.347 0.347^8/8! < 7.4e-9 (float32) or
// e^0.347 0.347^14/14! < 6e-18 (float64), under u/8; Horner's rule for |r| < 0.347 errs by
// less than 3u relative to a result in [0.70, 1.42]. So e = exp(-y) has relative
// error < 7u, which moves 1/(1+e) by less than 7u e/(1+e)^2 < 2u. 1+e is rounded
// (u), its reciprocal by Newton's iteration is within 3u relative: the last step
// y(2 - d y) has an error of e0^2 < u and three roundings. For t < 0 the result
// is 1 - s with s in [1/2, 1], exact. Sum: below 8u; sigmoidErr doubles it.
func (d *Device[T]) sigmoidApprox(t T) T {
	s := d.recipApprox(1 + d.expNegApprox(t))
	if t < 0 {
		return 1 - s
	}
	return s
}

// expNegApprox is exp(-|t|) within 7u relative and exp(-cap) absolute; see sigmoidApprox.
func (d *Device[T]) expNegApprox(t T) T {
	c := &d.sigmoidC
	y := min(abs(t), c.cap)
	k := T(T(y*c.log2e)+c.magic) - c.magic
	r := T(y-T(k*c.ln2Hi)) - T(k*c.ln2Lo)
	e := c.taylor[0]
	for _, a := range c.taylor[1:] {
		e = a - T(e*r)
	}
	return T(e * d.pow2(k))
}

// sigmoidBounds encloses the sigmoid of t.
func (d *Device[T]) sigmoidBounds(t T) (lo, hi T) {
	s := d.sigmoidApprox(t)
	return max(0, d.down(s-T(sigmoidErr*d.u))), min(1, d.up(s+T(sigmoidErr*d.u)))
}

// slopeErr bounds the error of sigmoidSlope in units of u: s is wrong by 16u, so
// s(1-s) by 16u |1-2s| + (16u)^2, and by two roundings of numbers up to 1.
const slopeErr = 20

// sigmoidSlopeApprox is the derivative of the sigmoid, given its value s.
func sigmoidSlopeApprox[T bound.Real](s T) T { return T(s * (1 - s)) }

// sigmoidUpper returns a line a t + b above the sigmoid on [l, u], for the exact
// real function and the returned numbers.
//
// Soundness does not depend on the choice of a, only on b, which is an upper
// bound of sup (sigmoid(t) - a t): on the convex part (t <= 0) the supremum is at
// an end; on the concave part [m, u], m = max(l, 0), supConcave bounds it.
//
// Choice: a tangent at the middle where the function is concave, the chord where
// it is convex, and for both signs the line from (l, sigmoid(l)) that touches at
// some d > 0, found by bisection, or the chord if there is none before u.
func (d *Device[T]) sigmoidUpper(l, u T) (a, b T) {
	if !(l >= -d.max && u <= d.max && l <= u) {
		return 0, 1
	}
	_, lHi := d.sigmoidBounds(l)
	_, uHi := d.sigmoidBounds(u)
	var touch T
	switch {
	case l >= 0:
		touch = T(0.5*l) + T(0.5*u)
		a = sigmoidSlopeApprox(d.sigmoidApprox(touch))
	case u <= 0:
		a = T((uHi - lHi) * d.recipApprox(u-l))
	default:
		a, touch = d.touchFrom(l, u)
	}
	if !(a >= minSlope && a <= 1) {
		return 0, uHi // increasing: the right end is the largest
	}
	if l < 0 {
		b = d.up(lHi - d.down(T(a*l)))
	}
	switch {
	case l >= 0:
		b = d.supConcave(a, touch, l, u)
	case u <= 0:
		b = max(b, d.up(uHi-d.down(T(a*u))))
	default:
		b = max(b, d.supConcave(a, touch, 0, u))
	}
	return a, b
}

// minSlope is the least slope used other than 0; see bound.Relax.
const minSlope = 0x1p-30

// touchFrom returns where the upper line for l < 0 < u should touch, and its slope.
// It bisects for the point d in (0, u] where the tangent passes through
// (l, sigmoid(l)), from the side where it passes above; every tangent further
// right passes above too, and that at the middle of [l, u] has the least area
// under it, so the further of the two is taken.
func (d *Device[T]) touchFrom(l, u T) (a, touch T) {
	sl, su := d.sigmoidApprox(l), d.sigmoidApprox(u)
	a = sigmoidSlopeApprox(su)
	if sl+T(a*(u-l)) > su {
		return T((su - sl) * d.recipApprox(u-l)), u
	}
	lo, hi := T(0), u
	for range 12 {
		m := T(0.5 * (lo + hi))
		s := d.sigmoidApprox(m)
		slope := sigmoidSlopeApprox(s)
		if sl+T(slope*(m-l)) > s {
			lo = m
		} else {
			hi, a = m, slope
		}
	}
	if m := T(0.5*l) + T(0.5*u); m > hi {
		return sigmoidSlopeApprox(d.sigmoidApprox(m)), m
	}
	return a, hi
}

// supConcave bounds sup over t in [m, u] of sigmoid(t) - a t from above, m >= 0,
// given any touch in [m, u]: by concavity sigmoid(t) <= s + s'(t - touch), so the
// supremum is at most s - a touch + max((a-s')(touch-m), (s'-a)(u-touch), 0).
func (d *Device[T]) supConcave(a, touch, m, u T) T {
	s := d.sigmoidApprox(touch)
	slope := sigmoidSlopeApprox(s)
	err := T(slopeErr * d.u)
	over := d.up(d.up(T(a-slope)) + err)
	under := d.up(d.up(T(slope-a)) + err)
	extra := max(0, d.up(T(over*d.up(touch-m))), d.up(T(under*d.up(u-touch))))
	_, sHi := d.sigmoidBounds(touch)
	return d.up(d.up(sHi-d.down(T(a*touch))) + extra)
}
