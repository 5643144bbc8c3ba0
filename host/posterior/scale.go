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
	g := Params{Mean: mean, Spread: spread, SdLo: make([]float64, len(spread)), SdHi: make([]float64, len(spread))}
	for i, s := range spread {
		g.SdLo[i], g.SdHi[i] = scale.SD(s)
	}
	return g
}

// SD bounds the real standard deviation that the spread parameter s stands for:
// lo <= sd <= hi, lo rounded down and hi up. Under ScaleSD both are s. Under
// ScaleVariance they are equal or neighbouring float64. Under ScaleSoftplus they
// are within 2.1e-14 of sd, relatively, for s >= -700; below, they are 0 and
// 1e-304. For s that is no spread (NaN, infinite, negative unless softplus) at
// least one bound is NaN, infinite or negative.
func (scale Scale) SD(s float64) (lo, hi float64) {
	switch scale {
	case ScaleSD:
		// + 0 turns a negative zero into a positive one.
		return s + 0, s + 0
	case ScaleVariance:
		return sqrtBounds(s)
	case ScaleSoftplus:
		return softplusBounds(s)
	}
	panic("posterior: SD of an unknown scale")
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

// softplusMargin is the relative distance by which softplusBounds goes outward.
const softplusMargin = 1e-14

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
// Below -700, 0 < softplus(s) < exp(s) < 1e-304.
func softplusBounds(s float64) (lo, hi float64) {
	switch {
	case s > 30:
		return s, s + s*softplusMargin
	case s < -700:
		if math.IsInf(s, -1) {
			// No parameter of a trained network: NaN lets Validate report it.
			return math.NaN(), math.NaN()
		}
		return 0, 1e-304
	}
	y := math.Log1p(math.Exp(s))
	return y - y*softplusMargin, y + y*softplusMargin
}
