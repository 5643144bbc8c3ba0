package probability

import (
	"math"

	"psafe/host/arith"
)

// unit and tiny, up and down are those of arith, where proofs and formulas are dense with them.
const unit, tiny = arith.Unit, arith.Eta

func up(x float64) float64   { return arith.Up(x) }
func down(x float64) float64 { return arith.Down(x) }

// scaled is the non-negative real m * 2^e with m = 0 or 0.5 <= m < 1, so that
// masses such as 1e-5444 need no logarithm.
type scaled struct {
	m float64
	e int
}

// isZero reports whether s is 0.
func (s scaled) isZero() bool { return s.m == 0 }

// less reports s < t.
func (s scaled) less(t scaled) bool {
	if s.isZero() || t.isZero() {
		return s.isZero() && !t.isZero()
	}
	return s.e < t.e || s.e == t.e && s.m < t.m
}

// over returns s * 2^-base, rounded down (dir < 0) or up (dir > 0).
func (s scaled) over(base, dir int) float64 {
	if s.isZero() {
		return 0
	}
	// Ldexp is exact unless the result is subnormal, where it rounds once or
	// truncates: one gap covers both. Its exponent is clamped because
	// an e of -10^9 is possible and everything below -2000 is 0 anyway.
	v := math.Ldexp(s.m, max(s.e-base, -2000))
	if v >= 0x1p-1022 {
		return v
	}
	if dir > 0 {
		return up(v)
	}
	return max(0, down(v))
}
