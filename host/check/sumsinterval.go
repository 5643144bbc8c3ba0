package check

import "math"

// interval is a real number known up to its ends. Operations round outward, and not at all
// where the float64 result is exact; what is not finite is for the user to refuse.
type interval struct{ lo, hi float64 }

func exact(x float64) interval { return interval{x, x} }

func (a interval) finite() bool {
	return a.lo >= -math.MaxFloat64 && a.hi <= math.MaxFloat64 && a.lo <= a.hi
}

func (a interval) plus(b interval) interval {
	return interval{sumDown(a.lo, b.lo), sumUp(a.hi, b.hi)}
}

func (a interval) minus(b interval) interval { return a.plus(interval{-b.hi, -b.lo}) }

func (a interval) times(b interval) interval {
	w, z := leastProduct(a.lo, a.hi, b.lo, b.hi)
	v, y := mostProduct(a.lo, a.hi, b.lo, b.hi)
	return interval{productDown(w, z), productUp(v, y)}
}

// size is |a|.
func (a interval) size() interval {
	return interval{max(a.lo, -a.hi, 0), max(-a.lo, a.hi)}
}

// over is a/b for b > 0; where b may be 0 the ends are infinite or NaN.
func (a interval) over(b interval) interval {
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
	return interval{lo, hi}
}

// root is the square root of a >= 0.
func (a interval) root() interval { return interval{sqrtDown(a.lo), sqrtUp(a.hi)} }

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
