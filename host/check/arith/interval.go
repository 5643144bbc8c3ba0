package arith

import "math"

// Interval is a real number known up to its ends. Operations round outward, and not at all
// where the float64 result is exact; what is not finite is for the user to refuse.
type Interval struct{ Lo, Hi float64 }

func Point(x float64) Interval { return Interval{x, x} }

func (a Interval) Finite() bool {
	return a.Lo >= -math.MaxFloat64 && a.Hi <= math.MaxFloat64 && a.Lo <= a.Hi
}

func (a Interval) Plus(b Interval) Interval {
	return Interval{SumDown(a.Lo, b.Lo), SumUp(a.Hi, b.Hi)}
}

func (a Interval) Minus(b Interval) Interval { return a.Plus(Interval{-b.Hi, -b.Lo}) }

func (a Interval) Times(b Interval) Interval {
	w, z := LeastProduct(a.Lo, a.Hi, b.Lo, b.Hi)
	v, y := MostProduct(a.Lo, a.Hi, b.Lo, b.Hi)
	return Interval{ProductDown(w, z), ProductUp(v, y)}
}

// Size is |a|.
func (a Interval) Size() Interval {
	return Interval{max(a.Lo, -a.Hi, 0), max(-a.Lo, a.Hi)}
}

// Over is a/b for b > 0; where b may be 0 the ends are infinite or NaN.
func (a Interval) Over(b Interval) Interval {
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
	return Interval{lo, hi}
}

// Root is the square root of a >= 0.
func (a Interval) Root() Interval { return Interval{sqrtDown(a.Lo), SqrtUp(a.Hi)} }

// ProductDown is a float64 at or below a b. The error of a product is known unless it
// underflows.
func ProductDown(a, b float64) float64 {
	p, e := TwoProduct(a, b)
	if a == 0 || b == 0 || e >= 0 && math.Abs(p) > 0x1p-900 {
		return p
	}
	return Down(p)
}

func ProductUp(a, b float64) float64 { return -ProductDown(-a, b) }

// sqrtDown is a float64 at or below the root of x >= 0: r^2 - x tells on which side r is.
func sqrtDown(x float64) float64 {
	r := math.Sqrt(x)
	if x == 0 || x > 0x1p-900 && math.FMA(r, r, -x) <= 0 {
		return r
	}
	return max(0, Down(r))
}
