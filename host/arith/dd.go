package arith

import "math"

// DD is the number hi + lo, lo being at most half a unit in the last place of hi: about 106
// bits. Its operations below are each wrong by less than 2^-100 relative, sums that cancel
// too, where nothing overflows and no result is below 2^-900 (Joldes, Muller, Popescu,
// "Tight and rigorous error bounds for basic building blocks of double-word arithmetic",
// ACM Trans. Math. Softw. 44, 2017).
type DD struct{ Hi, Lo float64 }

// fast is a + b as a dd, for |a| >= |b| or a = 0.
func fast(a, b float64) DD {
	s := a + b
	return DD{s, b - (s - a)}
}

func (a DD) Plus(b DD) DD {
	s, e := TwoSum(a.Hi, b.Hi)
	t, f := TwoSum(a.Lo, b.Lo)
	v := fast(s, e+t)
	return fast(v.Hi, f+v.Lo)
}

func (a DD) Minus(b DD) DD { return a.Plus(DD{-b.Hi, -b.Lo}) }

func (a DD) Times(b DD) DD {
	p, e := TwoProduct(a.Hi, b.Hi)
	return fast(p, e+(float64(a.Hi*b.Lo)+float64(a.Lo*b.Hi)))
}

// Over is the quotient by a float64.
func (a DD) Over(b float64) DD {
	q := a.Hi / b
	return fast(q, (math.FMA(-q, b, a.Hi)+a.Lo)/b)
}

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

// expErr bounds the relative error of ExpOf.
const expErr = 0x1p-70

// ExpOf is e^y = v 2^k (1+d), |d| <= expErr, for -2^20 <= y <= 2^20.
//
// With n the integer nearest 32 y / ln 2, y = n ln2/32 + r, and e^y = 2^(n/32) e^r. The
// product n ln2/32 and r are wrong by less than 2^25 2^-106 absolute, and |r| < 0.011. From
// e^r = 1 + r + r^2/2 + r^3 p(r) the first three are taken as dd, r^3 p < 2.3e-7 with nine
// terms in float64, wrong by 4u of itself; the terms left out are below 2^-88.
func ExpOf(y DD) (v DD, k int) {
	n := math.Round(y.Hi * (32 / math.Ln2))
	r := y.Minus(ln2By32.Times(DD{n, 0}))
	x := r.Hi
	p := 1.0 / 362880
	for _, c := range [...]float64{1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6} {
		p = p*x + c
	}
	half := r.Times(r)
	half.Hi, half.Lo = half.Hi/2, half.Lo/2
	e := r.Plus(half).Plus(DD{x * x * x * p, 0}).Plus(DD{1, 0})
	j := int(n) & 31
	return e.Times(roots[j]), (int(n) - j) / 32
}

// ScaledUp is at or above every number within the relative distance err of x 2^k.
func (x DD) ScaledUp(err float64, k int) float64 {
	v := math.Ldexp(x.RoundUp(err), k)
	if v < 0x1p-1022 { // Ldexp has rounded once more
		v = Up(v)
	}
	return v
}

// expNegUpErr is more than the relative error of ExpOf for arguments up to 800 that are wrong by 2^-98 of themselves.
const expNegUpErr = 0x1p-58

// ExpNegUp is at least e^-y for y >= 0, which may be wrong by 2^-98 of itself, and 1 for what is no number >= 0:
// the next float64.
func ExpNegUp(y DD) float64 {
	switch {
	case !(y.Hi >= 0):
		return 1
	case y.Hi > 800:
		return Eta
	}
	m, k := ExpOf(y.Times(DDOf(-1)))
	return min(1, m.ScaledUp(expNegUpErr, k))
}
