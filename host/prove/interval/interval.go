// Package interval is arithmetic with intervals of real numbers, rounded outward.
package interval

import "math"

// Interval holds the real numbers from Lo to Hi. Every operation returns an interval that
// holds the results for all members, rounded outward; NaN and overflow give
// NaN or infinite ends, which every user answers with "unknown".
type Interval struct{ Lo, Hi float64 }

// Of holds the numbers from lo to hi.
func Of(lo, hi float64) Interval { return Interval{lo, hi} }

// Exactly holds x alone.
func Exactly(x float64) Interval { return Interval{x, x} }

// Above is the next number above x.
func Above(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }

// Below is the next number below x.
func Below(x float64) float64 { return math.Nextafter(x, math.Inf(-1)) }

// SumUp is an upper bound of a + b.
func SumUp(a, b float64) float64 {
	if a == 0 || b == 0 {
		return a + b
	}
	return Above(a + b)
}

// Plus holds all sums.
func (a Interval) Plus(b Interval) Interval { return outward(a, b, a.Lo+b.Lo, a.Hi+b.Hi) }

// Minus holds all differences.
func (a Interval) Minus(b Interval) Interval { return a.Plus(Of(-b.Hi, -b.Lo)) }

// outward is [lo, hi] one step wider, except that adding zero is exact.
func outward(a, b Interval, lo, hi float64) Interval {
	if a == (Interval{}) || b == (Interval{}) {
		return Of(lo, hi)
	}
	return Of(Below(lo), Above(hi))
}

// Times holds all products.
func (a Interval) Times(b Interval) Interval {
	if a == (Interval{}) || b == (Interval{}) {
		return Interval{}
	}
	if a == Exactly(1) || b == Exactly(1) || a == Exactly(-1) || b == Exactly(-1) {
		return Of(min(a.Lo*b.Lo, a.Hi*b.Hi, a.Lo*b.Hi, a.Hi*b.Lo), max(a.Lo*b.Lo, a.Hi*b.Hi, a.Lo*b.Hi, a.Hi*b.Lo))
	}
	p, q, r, s := a.Lo*b.Lo, a.Lo*b.Hi, a.Hi*b.Lo, a.Hi*b.Hi
	return Of(Below(min(p, q, r, s)), Above(max(p, q, r, s)))
}

// Square is sharper than Times: it knows that both factors are the same number.
func (a Interval) Square() Interval {
	lo, hi := math.Abs(a.Lo), math.Abs(a.Hi)
	if lo > hi {
		lo, hi = hi, lo
	}
	if a.Lo < 0 && a.Hi > 0 {
		lo = 0
	}
	if hi == 0 {
		return Interval{}
	}
	return Of(max(0, Below(lo*lo)), Above(hi*hi))
}

// Over holds all quotients. It needs b.Lo > 0; otherwise it returns all numbers.
func (a Interval) Over(b Interval) Interval {
	if !(b.Lo > 0) {
		return Of(math.Inf(-1), math.Inf(1))
	}
	p, q, r, s := a.Lo/b.Lo, a.Lo/b.Hi, a.Hi/b.Lo, a.Hi/b.Hi
	return Of(Below(min(p, q, r, s)), Above(max(p, q, r, s)))
}

// Sqrt of the non-negative members; math.Sqrt is correctly rounded.
func (a Interval) Sqrt() Interval {
	if a == (Interval{}) {
		return a
	}
	return Of(max(0, Below(math.Sqrt(max(a.Lo, 0)))), Above(math.Sqrt(a.Hi)))
}

// Finite says that both ends are finite numbers, in order.
func (a Interval) Finite() bool {
	return a.Lo >= -math.MaxFloat64 && a.Hi <= math.MaxFloat64 && a.Lo <= a.Hi
}

// Middle is a number near the middle.
func (a Interval) Middle() float64 { return a.Lo/2 + a.Hi/2 }

// Radius bounds the distance of a member from Middle.
func (a Interval) Radius() float64 { return Above(a.Hi - a.Lo) }

// Size is the largest absolute value of a member.
func (a Interval) Size() float64 { return max(math.Abs(a.Lo), math.Abs(a.Hi)) }
