package posterior

import (
	"fmt"
	"math"
)

// NewParams gives the distributions with the given means and spreads, and the
// bounds of their standard deviations under scale. It keeps both slices. Values
// that are no mean or no spread (NaN, infinite, negative) pass through, for
// Validate to report with their place. An unknown scale is a mistake of the
// caller, as are slices of different lengths.
func NewParams(mean, spread []float64, scale Scale) Params {
	if len(mean) != len(spread) {
		panic(fmt.Sprintf("posterior: NewParams: %d means, %d spreads", len(mean), len(spread)))
	}
	g := Params{Mean: mean, Spread: spread, Scale: scale, SdLo: make([]float64, len(spread)), SdHi: make([]float64, len(spread))}
	for i, s := range spread {
		g.SdLo[i], g.SdHi[i] = scale.SD(s)
	}
	return g
}

// SD bounds the real standard deviation that the spread parameter s stands for:
// lo <= sd <= hi, lo rounded down and hi up. Under ScaleSD both are s. Under
// ScaleVariance they are equal or neighbouring float64. Under the others they
// are within 2.1e-14 of sd, relatively, for s >= -700 (ScaleLogVariance: s >= -1400);
// below, they are EPS, or 0, and that plus 1e-304. For s = -Inf, softplus and exp are
// exactly 0. For s that is no spread (NaN, +Inf, negative where it is no logarithm and no
// softplus, not 0 under ScaleNone, a logarithm above 709) at least one bound is NaN, infinite or negative.
// The proofs are at the functions below.
func (scale Scale) SD(s float64) (lo, hi float64) {
	switch scale.rule {
	case ruleSD:
		// + 0 turns a negative zero into a positive one.
		return s + 0, s + 0
	case ruleVariance:
		return sqrtBounds(s)
	case ruleSoftplus:
		lo, hi = softplusBounds(s)
		if scale.eps == "" {
			return lo, hi
		}
		return addBounds(lo, scale.epsLo, hi, scale.epsHi)
	case ruleLogSD:
		return expBounds(s)
	case ruleLogVariance:
		return expBounds(s / 2)
	case ruleNone:
		if s != 0 {
			return math.NaN(), math.NaN()
		}
		return 0, 0
	}
	panic("posterior: SD of an unknown scale")
}

// addBounds gives lo <= a + b and c + d <= hi for numbers >= 0. A sum to nearest errs by
// half the distance to its neighbours at most; that of a zero is exact.
func addBounds(a, b, c, d float64) (lo, hi float64) {
	if lo = a + b; a != 0 {
		lo = math.Nextafter(lo, math.Inf(-1))
	}
	if hi = c + d; c != 0 {
		hi = math.Nextafter(hi, math.Inf(1))
	}
	return lo, hi
}

// sqrtBounds gives the largest float64 <= sqrt(v) and the smallest >= sqrt(v)
// for v >= 1e-290, and the neighbours of sqrt(v) for smaller v > 0.
//
// IEEE 754 has math.Sqrt rounded correctly, so sqrt(v) lies between r and one of
// its neighbours; the sign of r*r - v says which. FMA rounds that difference
// once, and rounding keeps its sign and its being zero as long as it does not
// underflow: it is a multiple of ulp(r)^2 > 2^-106 v, above the smallest float64
// 2^-1074 where v >= 1e-290 > 2^-968.
func sqrtBounds(v float64) (lo, hi float64) {
	if v == 0 {
		return 0, 0
	}
	r := math.Sqrt(v)
	if math.IsNaN(r) || math.IsInf(r, 0) {
		return r, r
	}
	below, above := math.Nextafter(r, 0), math.Nextafter(r, math.Inf(1))
	if v < 1e-290 {
		return below, above
	}
	switch d := math.FMA(r, r, -v); {
	case d > 0:
		return below, r
	case d < 0:
		return r, above
	}
	return r, r
}

// margin is the relative distance by which softplusBounds and expBounds go outward.
const margin = 1e-14

// softplusBounds bounds log(1 + exp(s)).
//
// In the middle range it trusts Go's math.Exp and math.Log1p to err by less than
// one unit in the last place, that is 2^-52 relatively (no result is subnormal
// there). With e = exp(s), an error of 2^-52 in e changes log1p(e) by a factor
// within 1 +- 2^-52, because e/(1+e) <= log1p(e). Both together are below
// 4.5e-16, and the two roundings of the margin below 2.3e-16: the margin of 1e-14
// is more than ten times what is needed.
//
// Above 30, s < softplus(s) < s + exp(-s) < s + 9.4e-14 < s * (1 + 3.2e-15).
// Below -700, 0 < softplus(s) < exp(s) < 1e-304; -Inf stands for exp(s) = 0.
func softplusBounds(s float64) (lo, hi float64) {
	switch {
	case s > 30:
		return s, s + s*margin
	case s < -700:
		return tinyBounds(s)
	}
	y := math.Log1p(math.Exp(s))
	return y - y*margin, y + y*margin
}

// maxLog is the largest logarithm that is read: exp(709) is 8.2e307, and some processors'
// math.Exp overflows a little before it must.
const maxLog = 709

// expBounds bounds exp(s), as softplusBounds does, and s may be off by 2^-1075: halving a
// float64 errs by no more. exp(s) is a normal number between -700 and maxLog.
func expBounds(s float64) (lo, hi float64) {
	switch {
	case s < -700:
		return tinyBounds(s)
	case s > maxLog:
		return math.Inf(1), math.Inf(1)
	}
	y := math.Exp(s)
	return y - y*margin, y + y*margin
}

// tinyBounds bounds exp(s), and log(1 + exp(s)) too, for s < -700.
func tinyBounds(s float64) (lo, hi float64) {
	if math.IsInf(s, -1) {
		return 0, 0
	}
	return 0, 1e-304
}
