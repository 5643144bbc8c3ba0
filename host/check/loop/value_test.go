package loop

import (
	"math/big"
	"testing"
)

// TestSine: sines are enclosed, by Taylor's series in fractions up to far terms, of ends, and of what is between them.
func TestSine(t *testing.T) {
	exact := func(x *big.Rat) *big.Rat {
		term, sum := x, new(big.Rat).Set(x)
		for k := int64(3); k < 90; k += 2 {
			term = new(big.Rat).Mul(term, new(big.Rat).Mul(x, x))
			term.Quo(term, big.NewRat(-k*(k-1), 1))
			sum.Add(sum, term)
		}
		return sum
	}
	width := big.NewRat(1, 1<<60)
	for k := int64(-24); k <= 24; k++ {
		x := big.NewRat(k, 3)
		if x := new(big.Rat).Quo(x, big.NewRat(1<<40, 1)); k%5 == 0 {
			v, width := sine(x), new(big.Rat).Abs(x)
			width.Quo(width, big.NewRat(1<<57, 1))
			if s := exact(x); v.lo.Cmp(s) > 0 || v.hi.Cmp(s) < 0 || new(big.Rat).Sub(v.hi, v.lo).Cmp(width) > 0 {
				t.Errorf("sin %v is not within %v to %v, or these are far apart", x, v.lo, v.hi)
			}
		}
		v := sine(x)
		if s := exact(x); v.lo.Cmp(s) > 0 || v.hi.Cmp(s) < 0 || new(big.Rat).Sub(v.hi, v.lo).Cmp(width) > 0 {
			t.Errorf("sin %v is not within %v to %v, or these are far apart", x, v.lo, v.hi)
		}
		for _, half := range []*big.Rat{big.NewRat(1, 100), big.NewRat(1, 2), big.NewRat(2, 1)} {
			lo, hi := new(big.Rat).Sub(x, half), new(big.Rat).Add(x, half)
			v := sines(span{lo, hi})
			for j := int64(0); j <= 8; j++ {
				at := new(big.Rat).Mul(half, big.NewRat(j, 4))
				if s := exact(at.Add(at, lo)); v.lo.Cmp(s) > 0 || v.hi.Cmp(s) < 0 {
					t.Errorf("sin %v is not within %v to %v, of %v to %v", at, v.lo, v.hi, lo, hi)
				}
			}
		}
	}
}

// TestSineOfMuch: of what is beyond the series nothing is said, each time: what is said of one interval changes nothing of the next.
func TestSineOfMuch(t *testing.T) {
	for range 3 {
		if v := sines(span{big.NewRat(9, 1), big.NewRat(11, 1)}); v.lo.Cmp(big.NewRat(-1, 1)) != 0 || v.hi.Cmp(big.NewRat(1, 1)) != 0 {
			t.Errorf("sines from 9 to 11 are from %v to %v", v.lo, v.hi)
		}
	}
}
