package check

import "math"

// enclosed is a real number known up to its ends. Operations round outward, and not at all
// where the float64 result is exact; what is not finite is for the user to refuse.
type enclosed struct{ lo, hi float64 }

func exact(x float64) enclosed { return enclosed{x, x} }

func (a enclosed) finite() bool {
	return a.lo >= -math.MaxFloat64 && a.hi <= math.MaxFloat64 && a.lo <= a.hi
}

func (a enclosed) plus(b enclosed) enclosed {
	return enclosed{sumDown(a.lo, b.lo), sumUp(a.hi, b.hi)}
}

func (a enclosed) minus(b enclosed) enclosed { return a.plus(enclosed{-b.hi, -b.lo}) }

func (a enclosed) times(b enclosed) enclosed {
	w, z := leastProduct(a.lo, a.hi, b.lo, b.hi)
	v, y := mostProduct(a.lo, a.hi, b.lo, b.hi)
	return enclosed{productDown(w, z), productUp(v, y)}
}

// size is |a|.
func (a enclosed) size() enclosed {
	return enclosed{max(a.lo, -a.hi, 0), max(-a.lo, a.hi)}
}

// over is a/b for b > 0; where b may be 0 the ends are infinite or NaN.
func (a enclosed) over(b enclosed) enclosed {
	lo, hi := a.lo/b.hi, a.hi/b.hi
	if a.lo < 0 {
		lo = a.lo / b.lo
	}
	if a.hi > 0 {
		hi = a.hi / b.lo
	}
	if a.lo != 0 {
		lo = down(lo)
	}
	if a.hi != 0 {
		hi = up(hi)
	}
	return enclosed{lo, hi}
}

// root is the square root of a >= 0.
func (a enclosed) root() enclosed { return enclosed{sqrtDown(a.lo), sqrtUp(a.hi)} }

// productDown is a float64 at or below a b. The error of a product is known unless it
// underflows.
func productDown(a, b float64) float64 {
	p, e := twoProduct(a, b)
	if a == 0 || b == 0 || e >= 0 && math.Abs(p) > 0x1p-900 {
		return p
	}
	return down(p)
}

func productUp(a, b float64) float64 { return -productDown(-a, b) }

// sqrtDown is a float64 at or below the root of x >= 0: r^2 - x tells on which side r is.
func sqrtDown(x float64) float64 {
	r := math.Sqrt(x)
	if x == 0 || x > 0x1p-900 && math.FMA(r, r, -x) <= 0 {
		return r
	}
	return max(0, down(r))
}
