package arith

import "math"

// Interval holds the real numbers from Lo to Hi. Every operation returns an interval that holds the
// results for all members, rounded outward by one float64; NaN and overflow give NaN or infinite
// ends, which every user answers with "unknown". Sums with 0, and products with 0, 1 and -1, are exact.
type Interval struct{ Lo, Hi float64 }

// Of holds the numbers from lo to hi.
func Of(lo, hi float64) Interval { return Interval{lo, hi} }

// Exactly holds x alone.
func Exactly(x float64) Interval { return Interval{x, x} }

// Difference holds a - b: no other float64 than that, if it is one.
func Difference(a, b float64) Interval { return Interval{SumDown(a, -b), SumUp(a, -b)} }

// Plus holds all sums.
func (a Interval) Plus(b Interval) Interval {
	if a == (Interval{}) || b == (Interval{}) {
		return Of(a.Lo+b.Lo, a.Hi+b.Hi)
	}
	return Of(Down(a.Lo+b.Lo), Up(a.Hi+b.Hi))
}

// Negated holds the numbers -x.
func (a Interval) Negated() Interval { return Of(-a.Hi, -a.Lo) }

// Minus holds all differences.
func (a Interval) Minus(b Interval) Interval { return a.Plus(b.Negated()) }

// Times holds all products.
func (a Interval) Times(b Interval) Interval {
	if a == (Interval{}) || b == (Interval{}) {
		return Interval{}
	}
	p, q, r, s := a.Lo*b.Lo, a.Lo*b.Hi, a.Hi*b.Lo, a.Hi*b.Hi
	lo, hi := min(p, q, r, s), max(p, q, r, s)
	if a == Exactly(1) || b == Exactly(1) || a == Exactly(-1) || b == Exactly(-1) {
		return Of(lo, hi)
	}
	return Of(Down(lo), Up(hi))
}

// Square is sharper than Times: it knows that both factors are the same number.
func (a Interval) Square() Interval {
	a = a.Abs()
	if a.Hi == 0 {
		return Interval{}
	}
	return Of(max(0, Down(a.Lo*a.Lo)), Up(a.Hi*a.Hi))
}

// Over holds all quotients by the members of b, which must not be negative: ends are infinite or
// NaN where b may be 0. For a b with negative members it returns all numbers.
func (a Interval) Over(b Interval) Interval {
	if !(b.Lo >= 0) {
		return Of(-Inf, Inf)
	}
	lo, hi := a.Lo/b.Hi, a.Hi/b.Hi
	if a.Lo < 0 {
		lo = a.Lo / b.Lo
	}
	if a.Hi > 0 {
		hi = a.Hi / b.Lo
	}
	if a.Lo != 0 {
		lo = Down(lo)
	}
	if a.Hi != 0 {
		hi = Up(hi)
	}
	return Of(lo, hi)
}

// Sqrt of the non-negative members; math.Sqrt is correctly rounded.
func (a Interval) Sqrt() Interval {
	if a == (Interval{}) {
		return a
	}
	return Of(max(0, Down(math.Sqrt(max(a.Lo, 0)))), Up(math.Sqrt(a.Hi)))
}

// Abs holds the magnitudes of all members.
func (a Interval) Abs() Interval { return Of(max(a.Lo, -a.Hi, 0), a.Size()) }

// Finite reports whether both ends are finite numbers, in order.
func (a Interval) Finite() bool { return Finite(a.Lo, a.Hi) }

// Middle is a number near the middle.
func (a Interval) Middle() float64 { return a.Lo/2 + a.Hi/2 }

// Radius bounds the distance of a member from Middle.
func (a Interval) Radius() float64 { return Up(a.Hi - a.Lo) }

// Size is the largest magnitude of a member.
func (a Interval) Size() float64 { return max(math.Abs(a.Lo), math.Abs(a.Hi)) }
