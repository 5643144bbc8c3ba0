package gauss

import (
	"math"

	"psafe/host/arith"
)

// ReLUMomentUp returns an upper bound of the logarithm of the moment
//
//	Lam(al, b; mean, v) = log E exp(-al z + b z^2/2),   z = max(W, 0),   W ~ N(mean, v)
//	                    = log( Q(mean/s) + e^E Phi(y)/sqrt D ),   s = sqrt v,   D = 1 - b v,       (51)
//	E = (b mean^2 - 2 al mean + al^2 v)/(2 D),   y = (mean - al v)/(s sqrt D)
//
// (docs/theory.md, section 7), for v >= 0: +Inf where D is not surely positive, and for what is no number. It
// is an upper bound for every larger al and every smaller b, too, as z >= 0.
//
// For y < 0, E and y^2/2 may both be large, and E - y^2/2 = -mean^2/(2v): with Mills' ratio
// M(t) = Q(t)/phi(t) the second term is e^(-mean^2/(2v)) M(-y)/sqrt(2 pi D). So nothing cancels but
// what cancels in mean - al v and in E itself.
func ReLUMomentUp(al, b, mean, v float64) float64 {
	if !(math.Abs(al) <= math.MaxFloat64 && math.Abs(b) <= math.MaxFloat64 && math.Abs(mean) <= math.MaxFloat64 && v >= 0 && v <= math.MaxFloat64) {
		return math.Inf(1)
	}
	squareLo, squareHi := max(0, down(mean*mean)), up(mean*mean)
	if v == 0 {
		if mean <= 0 {
			return 0
		}
		return numberOrInf(up(up(-al*mean) + up(timesUp(b, squareLo, squareHi)/2)))
	}
	dLo, dHi := down(1-up(b*v)), up(1-down(b*v))
	if !(dLo > 0) {
		return math.Inf(1)
	}
	sLo, sHi := down(math.Sqrt(v)), up(math.Sqrt(v))
	far := min(0, -down(squareLo/v)/2) // at least -mean^2/(2v)

	zLo := down(quotient(mean, sHi, sLo))
	m, e := TailUp(zLo), 0.0
	if zLo >= seriesEnd {
		m, e = up(millsUp(zLo)*(invSqrt2Pi*(1+4*unit))), far
	}

	rLo, rHi := down(math.Sqrt(dLo)), up(math.Sqrt(dHi))
	numHi := up(mean - down(al*v))
	yHi := up(quotient(numHi, down(sLo*rLo), up(sHi*rHi)))
	m2, e2 := 0.0, 0.0
	if yHi <= -seriesEnd {
		m2, e2 = up(up(millsUp(-yHi)*(invSqrt2Pi*(1+4*unit)))/rLo), far
	} else {
		m2, e2 = up(TailUp(-yHi)/rLo), exponentUp(al, b, mean, v, squareLo, squareHi, dLo, dHi)
	}

	most := max(e, e2)
	sum := up(up(m*arith.ExpUp(up(e-most))) + up(m2*arith.ExpUp(up(e2-most))))
	if !(sum <= math.MaxFloat64) || math.IsNaN(most) {
		return math.Inf(1)
	}
	return numberOrInf(up(most + arith.LogUp(sum)))
}

// MomentUp returns an upper bound of log E exp(-al W + b W^2/2) = E - log(D)/2, in the symbols of
// ReLUMomentUp, for W ~ N(mean, v) itself, v > 0; +Inf as there.
func MomentUp(al, b, mean, v float64) float64 {
	if !(math.Abs(al) <= math.MaxFloat64 && math.Abs(b) <= math.MaxFloat64 && math.Abs(mean) <= math.MaxFloat64 && v > 0 && v <= math.MaxFloat64) {
		return math.Inf(1)
	}
	dLo, dHi := down(1-up(b*v)), up(1-down(b*v))
	if !(dLo > 0) {
		return math.Inf(1)
	}
	e := exponentUp(al, b, mean, v, max(0, down(mean*mean)), up(mean*mean), dLo, dHi)
	if b != 0 {
		e = up(e - arith.LogDown(dLo)/2)
	}
	return numberOrInf(e)
}

// exponentUp is at least E.
func exponentUp(al, b, mean, v, squareLo, squareHi, dLo, dHi float64) float64 {
	square := up(up(timesUp(b, squareLo, squareHi)+up(-2*(al*mean))) + up(up(al*al)*v))
	return up(up(quotient(square, dLo, dHi)) / 2)
}

// quotient is x/a for x >= 0, and x/b for others: with 0 < a <= b bounds of a number, a bound from
// above of x over it but for rounding, and with b <= a one from below.
func quotient(x, a, b float64) float64 {
	if x >= 0 {
		return x / a
	}
	return x / b
}

// timesUp is at least b x for every x between lo and hi, 0 <= lo.
func timesUp(b, lo, hi float64) float64 {
	if b == 0 {
		return 0
	}
	if b > 0 {
		return up(b * hi)
	}
	return up(b * lo)
}

// numberOrInf is x, and +Inf for NaN.
func numberOrInf(x float64) float64 {
	if math.IsNaN(x) {
		return math.Inf(1)
	}
	return x
}
