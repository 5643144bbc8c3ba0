package check

import "math"

// dd is the number hi + lo, |lo| at most half a unit in the last place of hi: about 106
// bits. Each operation below has a relative error of at most ddErr, barring overflow and
// underflow (Joldes, Muller, Popescu, "Tight and rigorous error bounds for basic building
// blocks of double-word arithmetic", ACM TOMS 44, 2017: 3 unit^2 for sums of any signs, 5
// for products, 15 for quotients, each with terms of higher order).
type dd struct{ hi, lo float64 }

const ddErr = 16 * unit * unit

// ddOf is x exactly.
func ddOf(x float64) dd { return dd{x, 0} }

// fastTwoSum is twoSum for |a| >= |b| or a = 0 (Dekker).
func fastTwoSum(a, b float64) dd {
	s := a + b
	return dd{s, b - (s - a)}
}

// plus is x + y (algorithm 6, AccurateDWPlusDW).
func (x dd) plus(y dd) dd {
	sh, sl := twoSum(x.hi, y.hi)
	th, tl := twoSum(x.lo, y.lo)
	v := fastTwoSum(sh, sl+th)
	return fastTwoSum(v.hi, tl+v.lo)
}

// minus is x - y.
func (x dd) minus(y dd) dd { return x.plus(dd{-y.hi, -y.lo}) }

// times is x y (algorithm 11, DWTimesDW2).
func (x dd) times(y dd) dd {
	c, e := twoProduct(x.hi, y.hi)
	t := math.FMA(x.lo, y.hi, x.hi*y.lo)
	return fastTwoSum(c, e+t)
}

// over is x / y (algorithm 17, DWDivDW2).
func (x dd) over(y dd) dd {
	t := x.hi / y.hi
	r := y.times(ddOf(t))
	return fastTwoSum(t, ((x.hi-r.hi)+(x.lo-r.lo))/y.hi)
}

// scaled is x 2^e: exact, barring overflow and underflow.
func (x dd) scaled(e int) dd { return dd{math.Ldexp(x.hi, e), math.Ldexp(x.lo, e)} }

// root is the square root of x > 0. With s within 2 unit of it, relative, Newton's step
// s + (x - s^2)/(2s) is wrong by (2 unit)^2/2, and by the roundings of a term of 4 unit.
func (x dd) root() dd {
	s := ddOf(math.Sqrt(x.hi))
	return s.plus(x.minus(s.times(s)).over(s.scaled(1)))
}

// roundUp is a float64 at or above every number within the relative distance err of x, the
// next one unless x is nearly a float64; roundDown is at or below them.
func (x dd) roundUp(err float64) float64 {
	s, e := twoSum(x.hi, up(x.lo+up(math.Abs(x.hi)*up(err))))
	if e > 0 {
		return up(s)
	}
	return s
}

func (x dd) roundDown(err float64) float64 { return -dd{-x.hi, -x.lo}.roundUp(err) }
