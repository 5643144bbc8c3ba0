package arith

import (
	"math"
	"math/big"
)

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

// Sigmoid is 1/(1+e^-t) as a dd, wrong by less than 2^-60, for every t but NaN, which
// it returns.
func Sigmoid(t float64) DD {
	if t < -800 || t > 800 {
		return DD{max(0, min(t, 1)), 0} // the rest is below 2^-1100
	}
	v, k := ExpOf(DD{-math.Abs(t), 0})
	e := DD{math.Ldexp(v.Hi, k), math.Ldexp(v.Lo, k)}
	d := DD{1, 0}.Plus(e)
	// 1/d by one Newton step: q (2 - q d).
	q := 1 / d.Hi
	s := DD{q, 0}.Times(DD{2, 0}.Minus(d.Times(DD{q, 0})))
	if t < 0 {
		return DD{1, 0}.Minus(s)
	}
	return s
}

// real numbers of 400 bits, and what is made of them.
var (
	bigLn2  = inverseAtanh(3, 2)
	BigLn10 = NewBig().Add(NewBig().Mul(bigLn2, big.NewFloat(3)), inverseAtanh(9, 2)) // ln 10 = 3 ln 2 + ln 5/4
	bigPi   = machin()
	ln2By32 = toDD(NewBig().SetMantExp(bigLn2, -5))
	roots   = rootsOf2()
	rootTau = NewBig().Sqrt(NewBig().Mul(bigPi, big.NewFloat(2))) // sqrt(2 pi)
	OverTau = toDD(NewBig().Quo(big.NewFloat(1), rootTau))
	BigUnit = big.NewFloat(1)
)

// NewBig is a number of 400 bits.
func NewBig() *big.Float { return new(big.Float).SetPrec(400) }

func toDD(x *big.Float) DD {
	hi, _ := x.Float64()
	lo, _ := NewBig().Sub(x, big.NewFloat(hi)).Float64()
	return DD{hi, lo}
}

// inverseAtanh is f atanh(1/n) = f sum_i 1/((2i+1) n^(2i+1)); ln((n+1)/(n-1)) for f = 2.
func inverseAtanh(n, f float64) *big.Float { return inverseSeries(n, f, 1) }

// inverseSeries is f sum_i sign^i/((2i+1) n^(2i+1)).
func inverseSeries(n, f, sign float64) *big.Float {
	total := NewBig()
	power := NewBig().Quo(NewBig().SetFloat64(f), NewBig().SetFloat64(n))
	by := NewBig().SetFloat64(sign * n * n)
	for i := 1.0; power.MantExp(nil) > -420; i += 2 {
		total.Add(total, NewBig().Quo(power, NewBig().SetFloat64(i)))
		power.Quo(power, by)
	}
	return total
}

// machin is pi = 16 atan(1/5) - 4 atan(1/239).
func machin() *big.Float {
	return NewBig().Sub(inverseSeries(5, 16, -1), inverseSeries(239, 4, -1))
}

// rootsOf2 are 2^(j/32).
func rootsOf2() (list [32]DD) {
	root, power := NewBig().SetFloat64(2), NewBig().SetFloat64(1)
	for range 5 {
		root.Sqrt(root)
	}
	for j := range list {
		list[j] = toDD(power)
		power.Mul(power, root)
	}
	return list
}

// BigExp is e^-y for y >= 0 within 2^-300 relative, by the series of e^(y/2^s), which has
// positive terms only, squared s times and inverted.
func BigExp(y *big.Float) *big.Float {
	s := max(0, y.MantExp(nil)+8)
	x := NewBig().SetMantExp(y, -s)
	total, term := NewBig().SetFloat64(1), NewBig().SetFloat64(1)
	for i := 1.0; term.Sign() > 0 && term.MantExp(nil) > -420; i++ {
		term.Mul(term, x)
		term.Quo(term, NewBig().SetFloat64(i))
		total.Add(total, term)
	}
	for range s {
		total.Mul(total, total)
	}
	return NewBig().Quo(BigUnit, total)
}
