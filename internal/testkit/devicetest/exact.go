package devicetest

import (
	"fmt"
	"math"
	"math/big"

	"psafe/host/bound"
)

// num is an exact number. All inputs and all + - * of them are whole multiples of
// a power of 2, so a big.Float that is long enough holds them exactly, and the
// functions below panic if it was not: the same oracle as math/big.Rat, without
// its greatest common divisors.
type num = *big.Float

const exactBits = 1 << 15

func exactly(z num) num {
	if z.Acc() != big.Exact {
		panic("devicetest: exact arithmetic was rounded")
	}
	return z
}

func newNum() num { return new(big.Float).SetPrec(exactBits) }

// exact is x. An infinite x is the end of an interval of reals without an end:
// some real far beyond the format stands for it, which a bound must contain.
func exact(x float64) num {
	if math.IsInf(x, 0) {
		return newNum().SetMantExp(big.NewFloat(math.Copysign(1, x)), 3000)
	}
	return newNum().SetFloat64(x)
}

func add(a, b num) num { return exactly(newNum().Add(a, b)) }
func sub(a, b num) num { return exactly(newNum().Sub(a, b)) }
func mul(a, b num) num { return exactly(newNum().Mul(a, b)) }
func absOf(a num) num  { return newNum().Abs(a) }

func least(list ...num) num {
	m := list[0]
	for _, x := range list[1:] {
		if x.Cmp(m) < 0 {
			m = x
		}
	}
	return m
}

func most(list ...num) num {
	m := list[0]
	for _, x := range list[1:] {
		if x.Cmp(m) > 0 {
			m = x
		}
	}
	return m
}

// rootDown is below sqrt(x) by less than 2^-490 of it.
func rootDown(x num) num {
	if x.Sign() == 0 {
		return newNum()
	}
	r := newNum().SetPrec(500).Sqrt(x)
	return newNum().Set(r.Sub(r, newNum().SetMantExp(r, -498)))
}

// products are the least and the largest product of two intervals, which are
// among the four of their ends.
func products(aLo, aHi, bLo, bHi float64) (lo, hi num) {
	al, ah, bl, bh := exact(aLo), exact(aHi), exact(bLo), exact(bHi)
	p := []num{mul(al, bl), mul(al, bh), mul(ah, bl), mul(ah, bh)}
	return least(p...), most(p...)
}

// checker collects the first thing that is wrong with a case.
type checker struct {
	p       bound.Precision
	again   func(opCase) []output // runs another case on the same device
	failure string
}

// sameAs demands that another way to ask for the same thing gives the same bits.
func (c *checker) sameAs(other opCase, out []output) {
	if diff := compare(c.again(other), out); diff != "" {
		c.failf("the general form gives other bits than the short one: %s", diff)
	}
}

func (c *checker) failf(format string, args ...any) {
	if c.failure == "" {
		c.failure = fmt.Sprintf(format, args...)
	}
}

// lower demands got <= want, with zero tolerance, for a got that is finite or -Inf.
func (c *checker) lower(what string, i int, got float64, want num) {
	if math.IsNaN(got) || math.IsInf(got, 1) {
		c.failf("%s[%d] is %v", what, i, got)
	} else if !math.IsInf(got, -1) && exact(got).Cmp(want) > 0 {
		c.failf("%s[%d] is %x, exact is %s: above it by %s", what, i, got, text(want), text(sub(exact(got), want)))
	}
}

// upper demands got >= want.
func (c *checker) upper(what string, i int, got float64, want num) {
	if math.IsNaN(got) || math.IsInf(got, -1) {
		c.failf("%s[%d] is %v", what, i, got)
	} else if !math.IsInf(got, 1) && exact(got).Cmp(want) < 0 {
		c.failf("%s[%d] is %x, exact is %s: below it by %s", what, i, got, text(want), text(sub(want, exact(got))))
	}
}

// unknown demands +Inf.
func (c *checker) unknown(what string, i int, got float64) {
	if !math.IsInf(got, 1) {
		c.failf("%s[%d] is %v, want +Inf", what, i, got)
	}
}

// near demands |got - want| <= budget.
func (c *checker) near(what string, i int, got float64, want, budget num) {
	if math.IsNaN(got) || math.IsInf(got, 0) {
		c.failf("%s[%d] is %v, exact is %s", what, i, got, text(want))
	} else if off := absOf(sub(exact(got), want)); off.Cmp(budget) > 0 {
		c.failf("%s[%d] is %x, exact is %s: off by %s, allowed %s", what, i, got, text(want), text(off), text(budget))
	}
}

func text(x num) string { return x.Text('p', 0) }

// far reports whether a magnitude is so large that a computation with it may overflow.
func (c *checker) far(magnitude num) bool { return magnitude.Cmp(exact(c.p.Max()/1024)) > 0 }

// ulps is k u.
func (c *checker) ulps(k int) num { return exact(float64(k) * c.p.Unit()) }

// etas is k times the smallest positive number.
func (c *checker) etas(k int) num { return mul(exact(float64(k)), exact(c.p.Eta())) }

// roundings returns how often a term of a blocked sum of n products is rounded.
func roundings(n int) int { return bound.Block + (n+bound.Block-1)/bound.Block }
