// Package arith computes with outward rounding: sums of products, intervals, numbers in twice the
// working precision and of 400 bits, exp, log and the softmax, and masses on lattices and circles;
// and the definition of the numbers that boxes are drawn by, which are no bounds. Nothing in it
// knows what is bounded with it. What certifies and what checks share it, and share no bound.
package arith

import "math"

const (
	// Unit is the unit roundoff of float64, Eta its least positive number.
	Unit = 0x1p-53
	Eta  = 0x1p-1074
	// Sqrt2OverPiUp is sqrt(2/pi) = 0.797884560802865355879892..., rounded up: E|g| of a standard normal g.
	Sqrt2OverPiUp = 0.7978845608028655
	// mostTerms is how many terms a sum may have: the constants of its error bound
	// are proved for n unit <= 2^-13.
	mostTerms = 1 << 40
)

var Inf = math.Inf(1)

// Up is the float64 above x; +Inf and NaN stay. It is at or above every real number that was
// rounded to nearest once and became x: that is within half a gap of x, an overflow to -Inf comes
// from below -MaxFloat64, and an underflow to 0 from Eta/2 at most.
func Up(x float64) float64 {
	switch {
	case x > 0 && x <= math.MaxFloat64:
		return math.Float64frombits(math.Float64bits(x) + 1)
	case x < 0:
		return math.Float64frombits(math.Float64bits(x) - 1)
	case x == 0:
		return Eta
	}
	return x
}

// Down is the float64 below x; -Inf and NaN stay.
func Down(x float64) float64 { return -Up(-x) }

// AddUp is an upper bound of a + b: the next float64, unless one of them is 0.
func AddUp(a, b float64) float64 {
	if a == 0 || b == 0 {
		return a + b
	}
	return Up(a + b)
}

// TwoSum returns s = fl(a+b) and e with a+b = s+e exactly (Knuth), unless it overflows,
// which makes e infinite or NaN.
func TwoSum(a, b float64) (s, e float64) {
	s = a + b
	z := s - a
	return s, (a - (s - z)) + (b - z)
}

// TwoProduct returns p = fl(a b) and e with a b = p+e exactly, unless it overflows (e is
// infinite or NaN) or e underflows (it is wrong by eta/2 at most).
func TwoProduct(a, b float64) (p, e float64) {
	p = float64(a * b)
	return p, math.FMA(a, b, -p)
}

// Sum is a sum of products in twice the working precision (Dot2 of Ogita, Rump, Oishi,
// "Accurate sum and dot product", SIAM J. Sci. Comput. 26, 2005), with what bounds its
// error. The zero value is the empty sum.
//
// The heads p are added without error: the exact sum is p + sum_i (q_i + r_i), apart from
// eta/2 for each r_i that underflows. t_i = fl(q_i + r_i) is wrong by at most u|t_i|, and
// their sum by at most g_n sum|t_i|. The computed magnitude is at least (1-u)^n sum|t_i|.
// So p + rest is within (u + g_n)/(1-u)^n mag + n eta/2 of the exact sum, which is at most
// (n+1) u (1+2^-10) mag + n eta/2 for n u <= 2^-13. An overflow makes rest NaN or infinite.
type Sum struct {
	p, rest, mag float64
	N            int
}

// With is the sum and x*y. Loops hold a sum in registers by s = s.with(x, y).
func (s Sum) With(x, y float64) Sum {
	h := float64(x * y)
	p := s.p + h
	z := p - s.p
	t := ((s.p - (p - z)) + (h - z)) + math.FMA(x, y, -h)
	return Sum{p, s.rest + t, s.mag + math.Abs(t), s.N + 1}
}

// Add adds x*y.
func (s *Sum) Add(x, y float64) { *s = s.With(x, y) }

// Plus adds x.
func (s *Sum) Plus(x float64) { s.Add(x, 1) }

// err bounds the distance of p + rest from the exact sum. Its own three roundings are
// within the factor 1.01 and the four more terms.
func (s *Sum) err() float64 {
	if s.N > mostTerms {
		return Inf
	}
	n := float64(s.N + 4)
	return n*Unit*1.01*s.mag + n*Eta
}

// Lo is a float64 at or below the exact sum: the greatest one unless the sum nearly
// cancels. It is -Inf if the sum overflowed or met a NaN.
func (s *Sum) Lo() float64 {
	a, b := TwoSum(s.p, s.rest)
	a, b = TwoSum(a, Down(b-s.err()))
	switch {
	case !(math.Abs(a) <= math.MaxFloat64) || math.IsNaN(b):
		return -Inf
	case b < 0:
		return Down(a)
	}
	return a
}

// Hi is a float64 at or above the exact sum, +Inf if the sum overflowed or met a NaN.
func (s *Sum) Hi() float64 {
	t := Sum{-s.p, -s.rest, s.mag, s.N}
	return -t.Lo()
}

// SumDown is a float64 at or below a + b, the greatest one unless it overflows.
func SumDown(a, b float64) float64 {
	s, e := TwoSum(a, b)
	if e >= 0 && s <= math.MaxFloat64 {
		return s
	}
	return Down(s)
}

// SumUp is a float64 at or above a + b.
func SumUp(a, b float64) float64 { return -SumDown(-a, -b) }

// LeastProduct returns the factors of the least product w z for w in [wLo, wHi] and z in
// [zLo, zHi]: one of the four corners, told by signs where they tell it and otherwise by
// the products themselves, compared without rounding.
func LeastProduct(wLo, wHi, zLo, zHi float64) (w, z float64) {
	switch {
	case zLo >= 0:
		if wLo >= 0 {
			return wLo, zLo
		}
		return wLo, zHi
	case zHi <= 0:
		if wHi >= 0 {
			return wHi, zLo
		}
		return wHi, zHi
	case wLo >= 0:
		return wHi, zLo
	case wHi <= 0:
		return wLo, zHi
	}
	a, aErr := TwoProduct(wLo, zHi)
	b, bErr := TwoProduct(wHi, zLo)
	if a < b || a == b && aErr < bErr {
		return wLo, zHi
	}
	return wHi, zLo
}

// MostProduct returns the factors of the greatest product.
func MostProduct(wLo, wHi, zLo, zHi float64) (w, z float64) {
	w, z = LeastProduct(-wHi, -wLo, zLo, zHi)
	return -w, z
}

// ProductDown is a float64 at or below a b. The error of a product is known unless it
// underflows.
func ProductDown(a, b float64) float64 {
	p, e := TwoProduct(a, b)
	if a == 0 || b == 0 || e >= 0 && math.Abs(p) > 0x1p-900 {
		return p
	}
	return Down(p)
}

// ProductUp is a float64 at or above a b.
func ProductUp(a, b float64) float64 { return -ProductDown(-a, b) }

// SqrtUp is at least the square root of x >= 0; NaN of what is less.
func SqrtUp(x float64) float64 {
	r := math.Sqrt(x)
	if x == 0 {
		return 0
	}
	if p, e := TwoProduct(r, r); x > 0x1p-900 && (p > x || p == x && e >= 0) {
		return r
	}
	return Up(r)
}

// Finite reports whether lo <= hi are two numbers.
func Finite(lo, hi float64) bool {
	return lo >= -math.MaxFloat64 && lo <= hi && hi <= math.MaxFloat64
}

// Middle is a number of [lo, hi].
func Middle(lo, hi float64) float64 { return min(max(lo/2+hi/2, lo), hi) }
