package arith

import "math/big"

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
