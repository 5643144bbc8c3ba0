package check

import (
	"math"
	"math/big"
)

// dd is the number hi + lo, lo being at most half a unit in the last place of hi: about 106
// bits. Its operations below are each wrong by less than 2^-100 relative, sums that cancel
// too, where nothing overflows and no result is below 2^-900 (Joldes, Muller, Popescu,
// "Tight and rigorous error bounds for basic building blocks of double-word arithmetic",
// ACM Trans. Math. Softw. 44, 2017).
type dd struct{ hi, lo float64 }

// fast is a + b as a dd, for |a| >= |b| or a = 0.
func fast(a, b float64) dd {
	s := a + b
	return dd{s, b - (s - a)}
}

func (a dd) plus(b dd) dd {
	s, e := twoSum(a.hi, b.hi)
	t, f := twoSum(a.lo, b.lo)
	v := fast(s, e+t)
	return fast(v.hi, f+v.lo)
}

func (a dd) minus(b dd) dd { return a.plus(dd{-b.hi, -b.lo}) }

func (a dd) times(b dd) dd {
	p, e := twoProduct(a.hi, b.hi)
	return fast(p, e+(float64(a.hi*b.lo)+float64(a.lo*b.hi)))
}

// over is the quotient by a float64.
func (a dd) over(b float64) dd {
	q := a.hi / b
	return fast(q, (math.FMA(-q, b, a.hi)+a.lo)/b)
}

// expErr bounds the relative error of expOf.
const expErr = 0x1p-70

// expOf is e^y = v 2^k (1+d), |d| <= expErr, for -2^20 <= y <= 2^20.
//
// With n the integer nearest 32 y / ln 2, y = n ln2/32 + r, and e^y = 2^(n/32) e^r. The
// product n ln2/32 and r are wrong by less than 2^25 2^-106 absolute, and |r| < 0.011. From
// e^r = 1 + r + r^2/2 + r^3 p(r) the first three are taken as dd, r^3 p < 2.3e-7 with nine
// terms in float64, wrong by 4u of itself; the terms left out are below 2^-88.
func expOf(y dd) (v dd, k int) {
	n := math.Round(y.hi * (32 / math.Ln2))
	r := y.minus(ln2By32.times(dd{n, 0}))
	x := r.hi
	p := 1.0 / 362880
	for _, c := range [...]float64{1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6} {
		p = p*x + c
	}
	half := r.times(r)
	half.hi, half.lo = half.hi/2, half.lo/2
	e := r.plus(half).plus(dd{x * x * x * p, 0}).plus(dd{1, 0})
	j := int(n) & 31
	return e.times(roots[j]), (int(n) - j) / 32
}

// sigmoid is 1/(1+e^-t) as a dd, wrong by less than 2^-60, for every t but NaN, which
// it returns.
func sigmoid(t float64) dd {
	if t < -800 || t > 800 {
		return dd{max(0, min(t, 1)), 0} // the rest is below 2^-1100
	}
	v, k := expOf(dd{-math.Abs(t), 0})
	e := dd{math.Ldexp(v.hi, k), math.Ldexp(v.lo, k)}
	d := dd{1, 0}.plus(e)
	// 1/d by one Newton step: q (2 - q d).
	q := 1 / d.hi
	s := dd{q, 0}.times(dd{2, 0}.minus(d.times(dd{q, 0})))
	if t < 0 {
		return dd{1, 0}.minus(s)
	}
	return s
}

// real numbers of 400 bits, and what is made of them.
var (
	bigLn2  = inverseAtanh(3, 2)
	bigLn10 = newBig().Add(newBig().Mul(bigLn2, big.NewFloat(3)), inverseAtanh(9, 2)) // ln 10 = 3 ln 2 + ln 5/4
	bigPi   = machin()
	ln2By32 = toDD(newBig().SetMantExp(bigLn2, -5))
	roots   = rootsOf2()
	rootTau = newBig().Sqrt(newBig().Mul(bigPi, big.NewFloat(2))) // sqrt(2 pi)
	overTau = toDD(newBig().Quo(big.NewFloat(1), rootTau))
	bigUnit = big.NewFloat(1)
)

// newBig is a number of 400 bits.
func newBig() *big.Float { return new(big.Float).SetPrec(400) }

func toDD(x *big.Float) dd {
	hi, _ := x.Float64()
	lo, _ := newBig().Sub(x, big.NewFloat(hi)).Float64()
	return dd{hi, lo}
}

// inverseAtanh is f atanh(1/n) = f sum_i 1/((2i+1) n^(2i+1)); ln((n+1)/(n-1)) for f = 2.
func inverseAtanh(n, f float64) *big.Float { return inverseSeries(n, f, 1) }

// inverseSeries is f sum_i sign^i/((2i+1) n^(2i+1)).
func inverseSeries(n, f, sign float64) *big.Float {
	total := newBig()
	power := newBig().Quo(newBig().SetFloat64(f), newBig().SetFloat64(n))
	by := newBig().SetFloat64(sign * n * n)
	for i := 1.0; power.MantExp(nil) > -420; i += 2 {
		total.Add(total, newBig().Quo(power, newBig().SetFloat64(i)))
		power.Quo(power, by)
	}
	return total
}

// machin is pi = 16 atan(1/5) - 4 atan(1/239).
func machin() *big.Float {
	return newBig().Sub(inverseSeries(5, 16, -1), inverseSeries(239, 4, -1))
}

// rootsOf2 are 2^(j/32).
func rootsOf2() (list [32]dd) {
	root, power := newBig().SetFloat64(2), newBig().SetFloat64(1)
	for range 5 {
		root.Sqrt(root)
	}
	for j := range list {
		list[j] = toDD(power)
		power.Mul(power, root)
	}
	return list
}

// bigExp is e^-y for y >= 0 within 2^-300 relative, by the series of e^(y/2^s), which has
// positive terms only, squared s times and inverted.
func bigExp(y *big.Float) *big.Float {
	s := max(0, y.MantExp(nil)+8)
	x := newBig().SetMantExp(y, -s)
	total, term := newBig().SetFloat64(1), newBig().SetFloat64(1)
	for i := 1.0; term.Sign() > 0 && term.MantExp(nil) > -420; i++ {
		term.Mul(term, x)
		term.Quo(term, newBig().SetFloat64(i))
		total.Add(total, term)
	}
	for range s {
		total.Mul(total, total)
	}
	return newBig().Quo(bigUnit, total)
}
