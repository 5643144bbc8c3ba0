package sums

import (
	"math"

	"psafe/host/arith"
)

// Sums of many terms on a fine lattice, by Fourier transforms (doc.go): masses are
// taken modulo n points, where masses that coincide add up. They are upper bounds, so that this
// makes the bound larger but not wrong; only what is below the window that the circle stands for
// would be counted too high up, and is lost instead (belowWindow).

// circleFor is a circle for the sum of m terms: with more points for many, as their lattice has to be
// finer than the sum by the root of m.
func circleFor(m int) *arith.Circle {
	if m <= 64 {
		return arith.CircleOf(14)
	}
	return arith.CircleOf(16)
}

// onCircle is the sum of m independent terms on lattices of one step, as a lattice of the points
// from `first`. Its terms are asked for one by one. Rates are those that belowWindow tries.
func onCircle(c *arith.Circle, m int, term func(i int) *lattice, first int, rates []float64) *lattice {
	product, z := make([]complex128, c.N), make([]complex128, c.N)
	for k := range product {
		product[k] = 1
	}
	all, most := 1., 1.
	s := &lattice{first: first}
	var below []*belowWindow
	for _, rate := range rates {
		below = append(below, newBelowWindow(rate))
	}
	for i := range m {
		l := term(i)
		total := 0.
		for k, p := range l.p {
			at := (l.first + k) & (c.N - 1)
			if total += p; i%2 == 0 {
				z[at] += complex(p, 0)
			} else {
				z[at] += complex(0, p)
			}
		}
		total *= 1 + float64(len(l.p)+8)*0x1p-51
		most = max(most, total) // NaN too
		all = arith.Up(all * max(1, total))
		s.step, s.lost = l.step, arith.Up(s.lost+l.lost)
		for _, b := range below {
			b.times(l)
		}
		if two := i%2 == 1; two || i == m-1 {
			c.Forward(z)
			c.Multiply(product, z, two)
			clear(z)
		}
	}
	c.Backward(product)
	// What the transforms are wrong by, and the additions, less than 2^8, of masses that coincide.
	bound := arith.Up(c.ErrorUp(m, all, most) + all*float64(m)*0x1p-44)
	miss := arith.Inf
	for _, b := range below {
		miss = min(miss, b.up(first))
	}
	s.lost = arith.Up(arith.Up(s.lost+bound) + miss)
	s.p = make([]float64, c.N)
	for k := range s.p {
		s.p[k] = max(0, real(product[(first+k)&(c.N-1)])/float64(c.N))
	}
	return s
}

// belowWindow bounds the probability that the sum S of terms is below a point by E r^S r^-point,
// for r = 1/base < 1 (Chernoff).
type belowWindow struct {
	base, r float64 // r is at least 1/base
	mass    scaled  // at least the product of all E r^(S - first)
	first   int
}

// scaled is m 2^e.
type scaled struct {
	m float64
	e int
}

func (a scaled) times(b scaled) scaled {
	m, e := math.Frexp(arith.Up(a.m * b.m))
	return scaled{m, a.e + b.e + e}
}

func newBelowWindow(rate float64) *belowWindow {
	base := 1 + rate
	return &belowWindow{base: base, r: arith.Up(1 / base), mass: scaled{0.5, 1}}
}

func (b *belowWindow) times(l *lattice) {
	sum, power := 0., 1.
	for _, p := range l.p {
		sum += float64(p * power)
		power *= b.r
	}
	// Powers, and their sum, by less than 2 n + 8 roundings each.
	sum *= 1 + float64(3*len(l.p)+16)*0x1p-51
	b.mass = b.mass.times(scaled{sum + arith.FloorMass, 0})
	b.first += l.first
}

// up bounds Prob(S < point), S of all terms so far.
func (b *belowWindow) up(point int) float64 {
	// E r^(S - (point - 1)) = mass r^(first - point + 1)
	k, p := b.first-point+1, scaled{b.r, 0}
	if k < 0 {
		k, p = -k, scaled{b.base, 0}
	}
	v := b.mass
	for ; k > 0; k /= 2 {
		if k%2 == 1 {
			v = v.times(p)
		}
		p = p.times(p)
	}
	if v.e > 1 || !(v.m >= 0) {
		return 1
	}
	return arith.Up(math.Ldexp(v.m, v.e))
}
