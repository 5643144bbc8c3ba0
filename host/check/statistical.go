package check

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"

	"psafe/host/arith"
	"psafe/host/read/property"
)

// statement is the text by which a record states an interval.
const statement = "statistical: this input's interval holds with the stated confidence over the seeded draws, not certified"

// consistent checks what an interval of drawn networks says of itself: that its limits are
// those of Clopper and Pearson for the counts, or wider, each side at half of what the
// confidence leaves. Which networks were drawn and decided, a record does not say.
func (s *interval) consistent() error {
	zero, one := property.Exact{}, property.MustExact("1")
	switch {
	case s == nil:
		return nil
	case s.Confidence == nil || s.Lower == nil || s.Upper == nil:
		return errors.New("statistical: confidence, lower or upper is missing")
	case !(0 <= s.Safe && 0 <= s.Unsafe && s.Samples >= 1 && s.Safe <= s.Samples-s.Unsafe):
		return fmt.Errorf("statistical: %d safe and %d unsafe of %d networks", s.Safe, s.Unsafe, s.Samples)
	case s.Lower.Cmp(zero) < 0 || s.Lower.Cmp(s.Upper.Exact) > 0 || s.Upper.Cmp(one) > 0:
		return fmt.Errorf("statistical: from %v to %v is no interval of a probability", s.Lower, s.Upper)
	case s.Statement != statement:
		return fmt.Errorf("statistical: the statement is %.80q", s.Statement)
	}
	confidence, err := strconv.ParseFloat(s.Confidence.text, 64)
	if err != nil || !(confidence > 0 && confidence < 1) {
		return fmt.Errorf("statistical: confidence %v is not between 0 and 1", s.Confidence)
	}
	alpha := new(big.Rat).Sub(big.NewRat(1, 1), exactRat(confidence))
	alpha.Quo(alpha, big.NewRat(2, 1))
	if !tailAtMost(s.Safe, s.Samples, s.Lower.Rat(), alpha) {
		return fmt.Errorf("statistical: lower is %v, which is too much for %d safe of %d networks", s.Lower, s.Safe, s.Samples)
	}
	if !tailAtMost(s.Unsafe, s.Samples, new(big.Rat).Sub(big.NewRat(1, 1), s.Upper.Rat()), alpha) {
		return fmt.Errorf("statistical: upper is %v, which is too little for %d unsafe of %d networks", s.Upper, s.Unsafe, s.Samples)
	}
	return nil
}

func exactRat(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

// contradicts returns an error if a certified bound lies beyond the interval that the counts give
// at confidence 1 - 1e-9: certify lets no such record leave.
func (s *interval) contradicts(lower, upper *decimal) error {
	if s == nil {
		return nil
	}
	surely := big.NewRat(5, 1e10)
	if s.Unsafe > 0 && tailAtMost(s.Unsafe, s.Samples, new(big.Rat).Sub(big.NewRat(1, 1), lower.Rat()), surely) {
		return fmt.Errorf("p_lower: it is %v, which %d unsafe of %d drawn networks contradict", lower, s.Unsafe, s.Samples)
	}
	if s.Safe > 0 && tailAtMost(s.Safe, s.Samples, upper.Rat(), surely) {
		return fmt.Errorf("p_upper: it is %v, which %d safe of %d drawn networks contradict", upper, s.Safe, s.Samples)
	}
	return nil
}

// mostTailTerms is the greatest number of terms of a binomial tail that are added up: limits that
// would take more are not believed.
const mostTailTerms = 1 << 20

// tailAtMost reports whether P(Bin(n,p) >= k) <= alpha: the sum of its terms, or 1 less those
// below, whichever are fewer. Numbers have 400 bits; the roundings of less than 2^28 operations are
// below 2^-300.
func tailAtMost(k, n int, p, alpha *big.Rat) bool {
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

// powerOf is x^n.
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
