package neuronsum

import "math"

// ival is an interval of real numbers. Every operation returns an interval that
// holds the results for all members, rounded outward; NaN and overflow give
// NaN or infinite ends, which every user answers with "unknown".
type ival struct{ lo, hi float64 }

func above(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }
func below(x float64) float64 { return math.Nextafter(x, math.Inf(-1)) }

// sumUp is an upper bound of a + b.
func sumUp(a, b float64) float64 {
	if a == 0 || b == 0 {
		return a + b
	}
	return above(a + b)
}

func exactly(x float64) ival { return ival{x, x} }

func (a ival) plus(b ival) ival  { return outward(a, b, a.lo+b.lo, a.hi+b.hi) }
func (a ival) minus(b ival) ival { return a.plus(ival{-b.hi, -b.lo}) }

// outward is [lo, hi] one step wider, except that adding zero is exact.
func outward(a, b ival, lo, hi float64) ival {
	if a == (ival{}) || b == (ival{}) {
		return ival{lo, hi}
	}
	return ival{below(lo), above(hi)}
}

func (a ival) times(b ival) ival {
	if a == (ival{}) || b == (ival{}) {
		return ival{}
	}
	if a == exactly(1) || b == exactly(1) || a == exactly(-1) || b == exactly(-1) {
		return ival{min(a.lo*b.lo, a.hi*b.hi, a.lo*b.hi, a.hi*b.lo), max(a.lo*b.lo, a.hi*b.hi, a.lo*b.hi, a.hi*b.lo)}
	}
	p, q, r, s := a.lo*b.lo, a.lo*b.hi, a.hi*b.lo, a.hi*b.hi
	return ival{below(min(p, q, r, s)), above(max(p, q, r, s))}
}

// square is sharper than times: it knows that both factors are the same number.
func (a ival) square() ival {
	lo, hi := math.Abs(a.lo), math.Abs(a.hi)
	if lo > hi {
		lo, hi = hi, lo
	}
	if a.lo < 0 && a.hi > 0 {
		lo = 0
	}
	if hi == 0 {
		return ival{}
	}
	return ival{max(0, below(lo*lo)), above(hi * hi)}
}

// over needs b.lo > 0; otherwise it returns all numbers.
func (a ival) over(b ival) ival {
	if !(b.lo > 0) {
		return ival{math.Inf(-1), math.Inf(1)}
	}
	p, q, r, s := a.lo/b.lo, a.lo/b.hi, a.hi/b.lo, a.hi/b.hi
	return ival{below(min(p, q, r, s)), above(max(p, q, r, s))}
}

// sqrt of the non-negative members; math.Sqrt is correctly rounded.
func (a ival) sqrt() ival {
	if a == (ival{}) {
		return a
	}
	return ival{max(0, below(math.Sqrt(max(a.lo, 0)))), above(math.Sqrt(a.hi))}
}

func (a ival) finite() bool {
	return a.lo >= -math.MaxFloat64 && a.hi <= math.MaxFloat64 && a.lo <= a.hi
}
