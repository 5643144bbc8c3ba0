package arith

import "math"

// DDOf is x exactly.
func DDOf(x float64) DD { return DD{x, 0} }

// Quotient is x / y (DWDivDW2 of the paper, within 15 unit^2).
func (x DD) Quotient(y DD) DD {
	t := x.Hi / y.Hi
	r := y.Times(DDOf(t))
	return fast(t, ((x.Hi-r.Hi)+(x.Lo-r.Lo))/y.Hi)
}

// Scaled is x 2^e: exact, barring overflow and underflow.
func (x DD) Scaled(e int) DD { return DD{math.Ldexp(x.Hi, e), math.Ldexp(x.Lo, e)} }

// Root is the square root of x > 0, within 2^-98. With s within 2 unit of it, relative,
// Newton's step s + (x - s^2)/(2s) is wrong by (2 unit)^2/2, and by roundings of the second
// term, which is 2 unit of the first.
func (x DD) Root() DD {
	s := DDOf(math.Sqrt(x.Hi))
	return s.Plus(x.Minus(s.Times(s)).Quotient(s.Scaled(1)))
}

// RoundUp is a float64 at or above every number within the relative distance err of x: the
// next one, unless x is nearly a float64.
func (x DD) RoundUp(err float64) float64 {
	s, e := TwoSum(x.Hi, Up(x.Lo+Up(math.Abs(x.Hi)*err)))
	if e > 0 {
		return Up(s)
	}
	return s
}
