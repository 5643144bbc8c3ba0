package loop

import (
	"math/big"

	"psafe/host/read/plant"
)

// valueOf holds the values of a form for variables in intervals, exactly where there is no sine.
func valueOf(f *plant.Form, in []span) span {
	v := span{new(big.Rat).Set(f.Constant.Exact), new(big.Rat).Set(f.Constant.Exact)}
	for _, t := range f.Terms {
		a := atom(&t.Of, in)
		lo, hi := new(big.Rat).Mul(t.By.Exact, a.lo), new(big.Rat).Mul(t.By.Exact, a.hi)
		if t.By.Exact.Sign() < 0 {
			lo, hi = hi, lo
		}
		v.lo.Add(v.lo, lo)
		v.hi.Add(v.hi, hi)
	}
	return v
}

func atom(a *plant.Atom, in []span) span {
	if a.Of == nil {
		return in[a.Variable]
	}
	v := valueOf(a.Of, in)
	if a.Sine {
		return sines(v)
	}
	return span{clip(v.lo, a.Lo.Exact, a.Hi.Exact), clip(v.hi, a.Lo.Exact, a.Hi.Exact)}
}

func clip(x, lo, hi *big.Rat) *big.Rat {
	switch {
	case x.Cmp(lo) < 0:
		return lo
	case x.Cmp(hi) > 0:
		return hi
	}
	return x
}

var (
	one, minusOne = big.NewRat(1, 1), big.NewRat(-1, 1)
	quarter       = big.NewRat(15707963, 10000000) // below pi/2
	nearZero      = big.NewRat(1, 1<<13)
)

// sines holds the sines of an interval: of its ends if it is within a quarter of the circle on both sides of 0; else no farther from
// that of the middle than half the width.
func sines(v span) span {
	if v.lo.Cmp(new(big.Rat).Neg(quarter)) >= 0 && v.hi.Cmp(quarter) <= 0 {
		return span{sine(v.lo).lo, sine(v.hi).hi}
	}
	half := new(big.Rat).Sub(v.hi, v.lo)
	half.Quo(half, big.NewRat(2, 1))
	s := sine(new(big.Rat).Add(v.lo, half))
	return span{clip(s.lo.Sub(s.lo, half), minusOne, one), clip(s.hi.Add(s.hi, half), minusOne, one)}
}

// sine encloses sin x for |x| <= 8 by its series up to x^61/61!, in units of 2^-100. What is left out is below 8^63/63!, a
// unit. Cutting x moves the sine by a unit at most, cutting its square the sum by sinh 8 < 1500. A term is cut
// twice, by a unit each; what is cut grows by (64/6) (64/20) (64/42) < 53 at most in any later term, of which
// there are 30: 2 x 30 x 30 x 53 units. All together is below 2^18 units; 2^20 are added on either side.
//
// Near 0, where units are wide for sines, it is between x - x^3/6 and that with x^5/120: at most |x| 2^-58 apart.
func sine(x *big.Rat) span {
	if new(big.Rat).Abs(x).Cmp(nearZero) <= 0 {
		square := new(big.Rat).Mul(x, x)
		third := new(big.Rat).Mul(square, x)
		fifth := new(big.Rat).Mul(square, third)
		a := new(big.Rat).Sub(x, third.Quo(third, big.NewRat(6, 1)))
		b := new(big.Rat).Add(a, fifth.Quo(fifth, big.NewRat(120, 1)))
		if x.Sign() < 0 {
			a, b = b, a
		}
		return span{a, b}
	}
	if new(big.Rat).Abs(x).Cmp(big.NewRat(8, 1)) > 0 {
		return span{new(big.Rat).Set(minusOne), new(big.Rat).Set(one)} // which sines changes
	}
	const bits = 100
	scaled := new(big.Int).Lsh(x.Num(), bits)
	scaled.Quo(scaled, x.Denom())
	square := new(big.Int).Mul(scaled, scaled)
	square.Rsh(square, bits)
	term, sum := new(big.Int).Set(scaled), new(big.Int).Set(scaled)
	for k := int64(3); k <= 61; k += 2 {
		term.Mul(term, square)
		term.Rsh(term, bits)
		term.Quo(term, big.NewInt(-k*(k-1)))
		sum.Add(sum, term)
	}
	width := new(big.Int).Lsh(big.NewInt(1), bits-80)
	unit := new(big.Int).Lsh(big.NewInt(1), bits)
	return span{new(big.Rat).SetFrac(new(big.Int).Sub(sum, width), unit), new(big.Rat).SetFrac(new(big.Int).Add(sum, width), unit)}
}
