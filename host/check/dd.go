package check

import "math"

// ddOf is x exactly.
func ddOf(x float64) dd { return dd{x, 0} }

// quotient is x / y (DWDivDW2 of the paper, within 15 unit^2).
func (x dd) quotient(y dd) dd {
	t := x.hi / y.hi
	r := y.times(ddOf(t))
	return fast(t, ((x.hi-r.hi)+(x.lo-r.lo))/y.hi)
}

// scaled is x 2^e: exact, barring overflow and underflow.
func (x dd) scaled(e int) dd { return dd{math.Ldexp(x.hi, e), math.Ldexp(x.lo, e)} }

// root is the square root of x > 0, within 2^-98. With s within 2 unit of it, relative,
// Newton's step s + (x - s^2)/(2s) is wrong by (2 unit)^2/2, and by roundings of the second
// term, which is 2 unit of the first.
func (x dd) root() dd {
	s := ddOf(math.Sqrt(x.hi))
	return s.plus(x.minus(s.times(s)).quotient(s.scaled(1)))
}

// roundUp is a float64 at or above every number within the relative distance err of x: the
// next one, unless x is nearly a float64.
func (x dd) roundUp(err float64) float64 {
	s, e := twoSum(x.hi, up(x.lo+up(math.Abs(x.hi)*err)))
	if e > 0 {
		return up(s)
	}
	return s
}
