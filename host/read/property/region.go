package property

import (
	"fmt"
	"math"

	"psafe/host/arith"
)

// String is the number, or the interval known to hold it, for messages.
func (d Decimal) String() string {
	if d.Lo == d.Hi {
		return fmt.Sprint(d.Lo)
	}
	// 15 digits are what two neighbouring float64 have in common, so this
	// nearly always shows the text as the user wrote it.
	return fmt.Sprintf("%.15g", d.Lo)
}

// addDown is the largest float64 <= a+b for finite a and b, -Inf if there is
// none. Error-free transformation (Knuth's TwoSum): with s = fl(a+b), the
// returned remainder satisfies a+b = s+e exactly, since a sum of two float64
// never underflows inexactly; s is the rounding to nearest, so a+b lies within
// the neighbours of s and e < 0 says it lies below s. An overflow inside makes
// s or e not finite, and the step down is taken whatever the sign.
func addDown(a, b float64) float64 {
	s, e := arith.TwoSum(a, b)
	if e >= 0 && e <= math.MaxFloat64 && s <= math.MaxFloat64 {
		return 0 + s // never negative zero
	}
	return down(s)
}

// addUp is the smallest float64 >= a+b for finite a and b, +Inf if there is
// none.
func addUp(a, b float64) float64 { return 0 - addDown(-a, -b) }

// mulOut returns an interval that contains the product of x with every real
// number in [f.Lo, f.Hi], f.Lo >= 0; ok is false if it overflows.
func mulOut(x float64, f Decimal) (lo, hi float64, ok bool) {
	near, far := f.Lo, f.Hi
	if x < 0 {
		near, far = far, near
	}
	lo = mulDown(x, near)
	hi = -mulDown(-x, far)
	return 0 + lo, 0 + hi, !math.IsInf(lo, 0) && !math.IsInf(hi, 0) && !math.IsNaN(lo) && !math.IsNaN(hi)
}

// mulDown is a float64 <= a*b, the largest one unless the product is tiny. The
// fused remainder of a product is exact above 2^-969 (2^-1074 times 2^105); a
// smaller product, unless it is zero because an operand is, takes the step down
// whatever the remainder.
func mulDown(a, b float64) float64 {
	const exactAbove = 0x1p-960
	p := a * b
	if a == 0 || b == 0 {
		return 0
	}
	if math.Abs(p) > exactAbove && math.FMA(a, b, -p) >= 0 {
		return p
	}
	return down(p)
}
