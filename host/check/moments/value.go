package moments

import (
	"math"

	"psafe/host/arith"
)

// valueUp is at least log E exp(-al z + b z^2/2) for z = max(W, 0), W ~ N(mean, v), v > 0 ((51) of docs/theory.md):
// the logarithm of the sum of the part where W <= 0, and of the other one. Each is a number times e to a power,
// which for what is far out is that of the density of W at 0.
func valueUp(al, b, mean, v float64) float64 {
	one, slope, square := arith.Exactly(1), arith.Exactly(al), arith.Exactly(b)
	m, variance := arith.Exactly(mean), arith.Exactly(v)
	room := one.Minus(square.Times(variance))
	if !(v > 0) || !(room.Lo > 0) || !(math.Abs(mean) <= math.MaxFloat64 && math.Abs(al) <= math.MaxFloat64) {
		return arith.Inf
	}
	sd, root := variance.Sqrt(), room.Sqrt()
	far := m.Square().Over(variance).Negated().Hi / 2
	closed, closedAt := portion(m.Over(sd), 0, far)
	y := m.Minus(slope.Times(variance)).Over(sd.Times(root))
	open, openAt := portion(y.Negated(), powerUp(al, b, mean, v), far)
	open = arith.Exactly(open).Over(root).Hi
	top := max(closedAt, openAt)
	sum := arith.Up(arith.Up(closed*expUp(closedAt-top)) + arith.Up(open*expUp(openAt-top)))
	if u := arith.Up(top + logUp(sum)); u < arith.Inf {
		return u
	}
	return arith.Inf // NaN, too
}

// powerUp is at least (b mean^2 - 2 al mean + al^2 v)/(2 (1 - b v)), for b v < 1.
func powerUp(al, b, mean, v float64) float64 {
	m, variance, slope, square := arith.Exactly(mean), arith.Exactly(v), arith.Exactly(al), arith.Exactly(b)
	cross := slope.Times(m)
	return square.Times(m.Square()).Minus(cross).Minus(cross).Plus(slope.Square().Times(variance)).Over(arith.Exactly(1).Minus(square.Times(variance))).Hi / 2
}

// portion is Q(z) for the least z, times e^near: a factor and the power of e that goes with it, which is near for the
// tail itself, and far where that stands for e^near phi(z), up to 1/sqrt(2 pi), and the factor is Mills' ratio.
func portion(z arith.Interval, near, far float64) (factor, power float64) {
	if z.Lo >= centre {
		return arith.Up(millsUp(z.Lo) * density0), far
	}
	return tailUp(z.Lo), near
}

const (
	// centre is up to where Q is taken from its series, density0 more than 1/sqrt(2 pi) = 0.39894228040143267793...
	centre   = 3
	density0 = 0.3989422804014328
	// seriesErr is more than the relative error of what float64 makes of a sum of less than 100 positive
	// terms, each of them from the one before by two roundings, of a factor e^-y, y <= 450, and of laplace.
	seriesErr = 0x1p-43
)

// tailUp is at least Q(z), for z < centre; 1 for NaN.
func tailUp(z float64) float64 {
	a := math.Abs(z)
	switch {
	case !(z < centre) || a > 30: // Q(30) < 2^-600
		return 1
	case a >= centre: // 1 - Q(a)
		return arith.Up(1 - bell(a)*(1-seriesErr)/laplace(a, 1))
	}
	x, s, term := a*a, 1.0, 1.0
	for n := 3.0; term > 0x1p-60*s || 2*x > n; n += 2 {
		term *= x / n
		s += term
	}
	c := bell(a) * a * s
	if z >= 0 {
		return arith.Up(0.5 - c*(1-seriesErr))
	}
	return min(1, arith.Up(0.5+c*(1+seriesErr)))
}

// bell is about the density at a <= 30: with a relative error of 450 roundings of a^2/2, and a few.
func bell(a float64) float64 {
	m, k := arith.ExpOf(arith.DDOf(-a * a / 2))
	return math.Ldexp(m.Hi, k) * density0
}

// millsUp is at least Q(z)/phi(z) for z >= centre.
func millsUp(z float64) float64 { return arith.Up((1 + 0x1p-40) / laplace(z, 0)) }

// laplace is t_0 of Laplace's continued fraction t_i = z + (i+1)/t_(i+1), whose limit is phi(z)/Q(z), with
// t_N = z, which is less than the limit's; so t_0 is less than the limit for an even N, and more for one that is odd.
// Each t_i is off by two roundings and by less than t_(i+1) is.
func laplace(z, odd float64) float64 {
	t := z
	for n := 2*math.Ceil(50/(z*z)) + 6 + odd; n >= 1; n-- {
		t = z + n/t
	}
	return t
}

// expUp is at least e^y for y <= 0, and 1 for others.
func expUp(y float64) float64 {
	switch {
	case !(y < 0):
		return 1
	case y < -700:
		return 0x1p-1000 // e^-700 < 2^-1009
	}
	m, k := arith.ExpOf(arith.DDOf(y))
	return math.Ldexp(m.Hi, k) * (1 + 0x1p-50)
}

// logUp is at least ln x: what math.Log proposes counts if e to it is large enough.
func logUp(x float64) float64 {
	if !(x > 0x1p-1000 && x < 0x1p1000) {
		return arith.Inf
	}
	c := math.Log(x)
	c += 0x1p-44 * (1 + math.Abs(c))
	if m, k := arith.ExpOf(arith.DDOf(c)); math.Ldexp(m.Hi, k)*(1-0x1p-50) >= x {
		return c
	}
	return arith.Inf
}
