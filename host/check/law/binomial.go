package law

import (
	"math/big"

	"psafe/host/arith"
)

func ExactRat(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

// mostTailTerms is the greatest number of terms of a binomial tail that are added up: limits that
// would take more are not believed.
const mostTailTerms = 1 << 20

// TailAtMost reports whether P(Bin(n,p) >= k) <= alpha: the sum of its terms, or 1 less those
// below, whichever are fewer. Numbers have 400 bits; the roundings of less than 2^28 operations are
// below 2^-300.
func TailAtMost(k, n int, p, alpha *big.Rat) bool {
	switch {
	case p.Sign() == 0:
		return true // a limit, whatever was counted
	case k == 0 || p.Cmp(big.NewRat(1, 1)) >= 0:
		return false
	case min(k, n-k+1) > mostTailTerms:
		return false
	}
	x := arith.NewBig().SetRat(p)
	y := arith.NewBig().SetRat(new(big.Rat).Sub(big.NewRat(1, 1), p))
	// Of m successes with probability x and n-m failures with y, from all failures or, with
	// both exchanged, all successes on.
	terms, complement := n-k+1, false
	if k < terms {
		terms, complement = k, true
	} else {
		x, y = y, x
	}
	ratio := arith.NewBig().Quo(x, y)
	term, sum := powerOf(y, n), arith.NewBig()
	for m := range terms {
		sum.Add(sum, term)
		term.Mul(term, ratio)
		term.Mul(term, arith.NewBig().SetInt64(int64(n-m)))
		term.Quo(term, arith.NewBig().SetInt64(int64(m+1)))
	}
	if complement {
		sum.Sub(arith.BigUnit, sum)
	}
	sum.Add(sum, arith.NewBig().SetMantExp(arith.BigUnit, -300))
	return sum.Cmp(arith.NewBig().SetRat(alpha)) <= 0
}

func powerOf(x *big.Float, n int) *big.Float {
	p := arith.NewBig().SetInt64(1)
	for square := arith.NewBig().Set(x); n > 0; n >>= 1 {
		if n&1 != 0 {
			p.Mul(p, square)
		}
		square.Mul(square, square)
	}
	return p
}

// RatDown is the greatest float64 at or below r.
func RatDown(r *big.Rat) float64 {
	f, _ := r.Float64()
	if new(big.Rat).SetFloat64(f).Cmp(r) > 0 {
		return arith.Down(f)
	}
	return f
}
