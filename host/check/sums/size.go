package sums

import (
	"math"

	"psafe/host/arith"
)

// A lattice multiplies numbers below 2^190, by steps of at least 2^-400. Terms beyond that are taken
// times powers of two, which changes no sign of a sum.

// sizeBits is how far from 1 the exponents of factors, values and sums may be.
const sizeBits = 190

// sized returns the terms a_i h_i and rest for which sum_i a_i h_i + rest is not positive whenever that
// of the arguments is not: these themselves if their sizes suit a lattice, else (2^-f h_i) (2^(f-e) a_i)
// and 2^-e rest with f for each neuron and one e, rounded outward where they become subnormal. What
// points of grids make of values stays as it is.
func sized(h []*standIn, a []factor, rest normalVar) ([]*standIn, []factor, normalVar) {
	suits, top := true, exponent(rest.sd.Hi)
	ofValue := make([]int, len(h))
	for i := range h {
		if h[i].split != nil || h[i].low.square != nil || h[i].high.square != nil {
			return h, a, rest
		}
		value, weight := max(h[i].low.size(), h[i].high.size()), a[i].a.mean.Size()+binReach*a[i].a.sd.Hi
		if !(max(value, weight) < math.MaxFloat64) {
			return h, a, rest
		}
		ofValue[i] = exponent(value)
		suits = suits && ofValue[i] < sizeBits && exponent(weight) < sizeBits
		top = max(top, ofValue[i]+exponent(weight))
	}
	if suits && -sizeBits < top && top < 2*sizeBits {
		return h, a, rest
	}
	values, factors := make([]*standIn, len(h)), make([]factor, len(h))
	for i := range h {
		f := ofValue[i]
		values[i] = &standIn{low: h[i].low.scaled(-f, scaledDown), high: h[i].high.scaled(-f, scaledUp), lost: h[i].lost}
		factors[i] = a[i].scaled(f - top)
	}
	return values, factors, rest.scaled(-top)
}

// exponent is the e with x in [2^(e-1), 2^e); below that of all others for 0.
func exponent(x float64) int {
	if x == 0 {
		return -1100
	}
	_, e := math.Frexp(x)
	return e
}

// size is the largest |x|; infinite for NaN.
func (a *atoms) size() float64 {
	most := 0.0
	for _, x := range a.x {
		if !(math.Abs(x) <= most) {
			most = math.Abs(x)
		}
		if math.IsNaN(x) {
			return arith.Inf
		}
	}
	return most
}

// scaled has each x times 2^e, rounded by that function.
func (a *atoms) scaled(e int, by func(x float64, e int) float64) (b atoms) {
	for k, x := range a.x {
		b.add(by(x, e), a.p[k])
	}
	return b
}

// scaled is the factor times 2^e, its bins rounded outward, none across 0.
func (f *factor) scaled(e int) factor {
	g := factor{a: f.a.scaled(e), lost: f.lost}
	for k, p := range f.neg.p {
		g.neg.add(scaledDown(f.neg.lo[k], e), min(0, scaledUp(f.neg.hi[k], e)), p)
	}
	for k, p := range f.pos.p {
		g.pos.add(max(0, scaledDown(f.pos.lo[k], e)), scaledUp(f.pos.hi[k], e), p)
	}
	return g
}

// scaled encloses the mean and the standard deviation of the variable times 2^e.
func (a normalVar) scaled(e int) normalVar {
	return normalVar{mean: arith.Of(scaledDown(a.mean.Lo, e), scaledUp(a.mean.Hi, e)),
		sd: arith.Of(max(0, scaledDown(a.sd.Lo, e)), scaledUp(a.sd.Hi, e))}
}

// scaledDown is at most 2^e x, and 2^e x itself if that is a float64.
func scaledDown(x float64, e int) float64 {
	y := math.Ldexp(x, e)
	switch {
	case math.IsInf(y, 1) && !math.IsInf(x, 1):
		return math.MaxFloat64
	case math.Ldexp(y, -e) != x:
		return arith.Down(y) // subnormal, 0, or NaN
	}
	return y
}

// scaledUp is at least 2^e x, and 2^e x itself if that is a float64.
func scaledUp(x float64, e int) float64 { return -scaledDown(-x, e) }
