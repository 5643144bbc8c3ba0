package sums

import (
	"math"
	"math/cmplx"
	"sync"

	"psafe/host/arith"
)

// Sums of many terms on a fine lattice, by Fourier transforms (docs/check.md, grids): masses are
// taken modulo n points, where masses that coincide add up. They are upper bounds, so that this
// makes the bound larger but not wrong; only what is below the window that the circle stands for
// would be counted too high up, and is lost instead (belowWindow).
//
// Roundings. A stage of a transform is sqrt(2) times a unitary matrix and makes, of x and y, x + y
// and (x - y) w. What is computed of the first is wrong by u |x + y|, of the second by less than
// 4.3 u |x - y|: u for the difference, sqrt(5) u for the product (Brent, Percival, Zimmermann, Math.
// Comp. 76, 2007), 1.01 u for w (rootsOfUnity). So a stage errs by less than stageErr of its 2-norm, and
// log2(n) = t stages by delta = 1.01 t stageErr; the same holds the other way round. Terms i and j
// with sums of masses a_i and a_j go through one transform, P_i + i P_j, and are told apart by half
// the sum, and difference, of its conjugate parts: each errs by at most (delta + 2 u) sqrt(n) (a_i^2 +
// a_j^2)^(1/2) in the 2-norm. They are at most a_i everywhere, so that the product of m terms errs by
// sqrt(n) A m (r (delta + 2 u) + 5 u), with A the product of all a_i of [0.05, 1.25], r = 1 + (the
// greatest)/(the least of them, and 1), which is 2 unless mass was split off, and 3 u for each product;
// the factor 1.01 has room for products of errors as m delta sqrt(n) < 2^-20. The transform back
// divides by sqrt(n), and adds delta A. By Cauchy and Schwarz a sum of masses with weights of
// [0, 1] errs by sqrt(n) as much at most (errUp).
type circle struct {
	log, n int
	w      []complex128 // exp(-2 pi i k/n), k < n/2
}

const stageErr = 5 * arith.Unit

// circleFor is a circle for the sum of m terms: with more points for many, as their lattice has to be
// finer than the sum by the root of m.
func circleFor(m int) *circle {
	if m <= 64 {
		return smallCircle()
	}
	return largeCircle()
}

var (
	smallCircle = sync.OnceValue(func() *circle { return newCircle(14) })
	largeCircle = sync.OnceValue(func() *circle { return newCircle(16) })
)

func newCircle(log int) *circle { return &circle{log, 1 << log, rootsOfUnity(log)} }

// rootsOfUnity are exp(-2 pi i k/2^log) for k < 2^(log-1), log >= 2, within 1.01 u: products of the
// roots for powers of two, in twice the working precision, which come from half angles.
func rootsOfUnity(log int) []complex128 {
	half := make([][2]arith.DD, log+1) // half[j]: cosine and sine of 2 pi/2^j
	half[2] = [2]arith.DD{arith.DDOf(0), arith.DDOf(1)}
	for j := 3; j <= log; j++ {
		cos := arith.DDOf(1).Plus(half[j-1][0]).Scaled(-1).Root()
		half[j] = [2]arith.DD{cos, half[j-1][1].Quotient(cos).Scaled(-1)}
	}
	n := 1 << (log - 1)
	fine := make([][2]arith.DD, n)
	fine[0] = [2]arith.DD{arith.DDOf(1), arith.DDOf(0)}
	for j, m := log, 1; m < n; j, m = j-1, 2*m {
		c, s := half[j][0], half[j][1]
		for k := range m {
			x, y := fine[k][0], fine[k][1]
			fine[m+k] = [2]arith.DD{x.Times(c).Minus(y.Times(s)), x.Times(s).Plus(y.Times(c))}
		}
	}
	w := make([]complex128, n)
	for k, v := range fine {
		w[k] = complex(v[0].Hi, -v[1].Hi)
	}
	return w
}

// forward transforms z; places are then those of reversed bits.
func (c *circle) forward(z []complex128) {
	for half, stride := c.n/2, 1; half >= 1; half, stride = half/2, 2*stride {
		for at := 0; at < c.n; at += 2 * half {
			x, y := z[at:at+half], z[at+half:at+2*half]
			y = y[:len(x)]
			for k, v := range x {
				d := v - y[k]
				x[k] = v + y[k]
				y[k] = d * c.w[k*stride]
			}
		}
	}
}

// backward undoes it, but for a factor n.
func (c *circle) backward(z []complex128) {
	for half, stride := 1, c.n/2; half < c.n; half, stride = 2*half, stride/2 {
		for at := 0; at < c.n; at += 2 * half {
			x, y := z[at:at+half], z[at+half:at+2*half]
			y = y[:len(x)]
			for k, v := range x {
				r := y[k] * cmplx.Conj(c.w[k*stride])
				x[k], y[k] = v+r, v-r
			}
		}
	}
}

// timesPair multiplies the product so far by the transforms of two real sequences, that are z =
// P + i Q in one. Bits are reversed: that of -k, for k of a highest bit 2^b, is at k with all
// bits below turned.
func (c *circle) timesPair(product, z []complex128) {
	for k := range z {
		m := k
		if k > 1 {
			top := 1
			for 2*top <= k {
				top *= 2
			}
			m = k ^ (top - 1)
		}
		if m < k {
			continue
		}
		a, b := z[k], z[m]
		p, q := (a+cmplx.Conj(b))/2, (a-cmplx.Conj(b))/2 // q is i times the transform of Q
		q = complex(imag(q), -real(q))
		product[k] = product[k] * p * q
		if m != k {
			product[m] = product[m] * cmplx.Conj(p) * cmplx.Conj(q)
		}
	}
}

// errUp bounds what the sum of masses, with weights of [0, 1], of m terms is wrong by; a is at least
// the product of their sums, which are in sums. Infinite if that is not in [0.05, 1.25].
func (c *circle) errUp(m int, a float64, sums arith.Interval) float64 {
	if !(sums.Lo >= 0.05 && sums.Hi <= 1.25) {
		return arith.Inf
	}
	delta := 1.01 * float64(c.log) * stageErr
	r := 1 + sums.Hi/sums.Lo
	return float64(m+1) * (r*(delta+2*arith.Unit) + 5*arith.Unit) * a * math.Sqrt(float64(c.n)) * 1.02
}

// onCircle is the sum of m independent terms on lattices of one step, as a lattice of the points
// from `first`. Its terms are asked for one by one. Rates are those that belowWindow tries.
func (c *circle) onCircle(m int, term func(i int) *lattice, first int, rates []float64) *lattice {
	product, z := make([]complex128, c.n), make([]complex128, c.n)
	for k := range product {
		product[k] = 1
	}
	all, sums := 1., arith.Exactly(1) // also that of the second term where one is alone
	s := &lattice{first: first}
	var below []*belowWindow
	for _, rate := range rates {
		below = append(below, newBelowWindow(rate))
	}
	for i := range m {
		l := term(i)
		total := 0.
		for k, p := range l.p {
			at := (l.first + k) & (c.n - 1)
			if total += p; i%2 == 0 {
				z[at] += complex(p, 0)
			} else {
				z[at] += complex(0, p)
			}
		}
		total *= 1 + float64(len(l.p)+8)*0x1p-51
		sums = arith.Of(min(sums.Lo, total), max(sums.Hi, total)) // NaN too
		all = arith.Up(all * total)
		s.step, s.lost = l.step, arith.Up(s.lost+l.lost)
		for _, b := range below {
			b.times(l)
		}
		switch {
		case i%2 == 1:
			c.forward(z)
			c.timesPair(product, z)
			clear(z)
		case i == m-1: // alone: a second one that is surely 0
			z[0] += complex(0, 1)
			c.forward(z)
			c.timesPair(product, z)
		}
	}
	c.backward(product)
	// What the transforms are wrong by, and the additions, less than 2^8, of masses that coincide.
	bound := arith.Up(c.errUp(m+1, all, sums) + all*float64(m)*0x1p-44)
	miss := arith.Inf
	for _, b := range below {
		miss = min(miss, b.up(first))
	}
	s.lost = arith.Up(arith.Up(s.lost+bound) + miss)
	s.p = make([]float64, c.n)
	for k := range s.p {
		s.p[k] = max(0, real(product[(first+k)&(c.n-1)])/float64(c.n))
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
	b.mass = b.mass.times(scaled{sum + floorMass, 0})
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
