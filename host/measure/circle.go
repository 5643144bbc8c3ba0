package measure

import (
	"math"
	"math/bits"
	"sync"
)

// The distribution of a sum of many independent terms on a lattice, by Fourier transforms on a
// circle of N points. It costs n transforms, however long the terms' lattices are, where SumUp
// multiplies lattices with each other.
//
// Masses that are N points apart coincide. That adds to masses, which are upper bounds, so that only what
// lies below the part of the line that the circle stands for has to be bounded (leftUp).
//
// Rounding errors: let P_i >= 0 be the masses of term i on the circle, a_i >= sum P_i. A transform of t = log2 N stages
// errs by at most delta = t eta/(1 - t eta) of its 2-norm, eta = mu + 4.01 u (sqrt 2 + mu) for factors that err by
// at most mu (Higham, Accuracy and Stability of Numerical Algorithms, theorem 24.2). Two terms share
// one, P_i + i P_j, and are parted by sums of two numbers, halved: each of the two errs by at most
// (delta + 2u) sqrt(N) (a_i + a_j) in its 2-norm, and is at most a_i everywhere. With all a_i in [1, a]
// (a_i + a_j)/a_i is at most 1 + a, so that the product of all n, each factor of which brings less than
// 3 u, errs by at most
//
//	sqrt(N) A n ((1 + a)(delta + 2u) + 3 u)(1 + 2^-10),   A = product of the a_i,
//
// and its transform back by sqrt(N) A delta more; in masses all that is divided by sqrt(N). So a sum of masses
// with weights of [0, 1] errs by at most sqrt(N) times that (Cauchy and Schwarz): error.
type circle struct {
	n       int
	factors []complex128 // exp(-2 pi i k/n), k < n/2
	partner []int32      // where the coefficient of -k is, for where that of k is
}

// circles has the circles that are in use, by log2 n.
var circles [24]struct {
	once sync.Once
	c    *circle
}

// factorErr bounds the error of circle.factors: math.Sincos is within an ulp of the sine and
// the cosine of a number that is within 1.5 u of an angle of at most pi. TestCircleFactors measures them.
const factorErr = 16 * unit

func circleOf(log int) *circle {
	at := &circles[log]
	at.once.Do(func() {
		n := 1 << log
		c := &circle{n: n, factors: make([]complex128, n/2), partner: make([]int32, n)}
		for k := range c.factors {
			sin, cos := math.Sincos(2 * math.Pi * (float64(k) / float64(n)))
			c.factors[k] = complex(cos, -sin)
		}
		for k := range n {
			c.partner[reversed(k, log)] = int32(reversed((n-k)&(n-1), log))
		}
		at.c = c
	})
	return at.c
}

func reversed(k, log int) int { return int(bits.Reverse64(uint64(k)) >> (64 - log)) }

// forward transforms z; the coefficient of k is then where the reversed bits of k say.
func (c *circle) forward(z []complex128) {
	for half, stride := c.n/2, 1; half > 0; half, stride = half/2, stride*2 {
		for from := 0; from < c.n; from += 2 * half {
			a, b := z[from:from+half], z[from+half:from+2*half]
			b = b[:len(a)]
			for k := range a {
				x, y := a[k], b[k]
				a[k] = x + y
				b[k] = (x - y) * c.factors[k*stride]
			}
		}
	}
}

// backward is the inverse, times n.
func (c *circle) backward(z []complex128) {
	for half, stride := 1, c.n/2; half < c.n; half, stride = half*2, stride/2 {
		for from := 0; from < c.n; from += 2 * half {
			a, b := z[from:from+half], z[from+half:from+2*half]
			b = b[:len(a)]
			for k := range a {
				w := c.factors[k*stride]
				x, y := a[k], b[k]*complex(real(w), -imag(w))
				a[k] = x + y
				b[k] = x - y
			}
		}
	}
}

// errorUp is the bound above for n terms, the product of the a_i and the largest, all at least 1.
func (c *circle) errorUp(n int, product, largest float64) float64 {
	t := float64(bits.Len(uint(c.n)) - 1)
	eta := factorErr + 4.01*unit*(1.42+factorErr)
	delta := 1.01 * t * eta
	each := float64(n)*((1+largest)*(delta+2*unit)+3*unit) + delta
	return up(up(each*1.01*product) * up(math.Sqrt(float64(c.n))))
}

// CircleSum is the distribution of a sum of terms on a circle.
type CircleSum struct {
	step  float64
	first int // the point that P[0] is
	p     []float64
	// lost is what is outside or lost, err what a sum of masses may be wrong by.
	lost, err float64
	terms     int
}

// CircleStepApprox is the step for terms whose sum has about this standard deviation, on a circle of
// 2^log points that stands for span to 2 span of them.
func CircleStepApprox(sd, span float64, log int) float64 {
	_, e := math.Frexp(min(max(span*sd/float64(int(1)<<log), 0x1p-500), 0x1p500))
	return math.Ldexp(1, e)
}

// circleBelow is the part of the circle that is below the mean of the sum.
const circleBelow = 0.6

// circleMore is how many points more are below, for sums that hardly vary.
const circleMore = 48

// SumOnCircle returns the distribution of the sum of independent terms on lattices of
// one step, of which it uses 2^log points. It uses the terms up. each is as for SumUp.
func SumOnCircle(terms []*Lattice, log int, each func(n int, f func(i int))) *CircleSum {
	c := circleOf(log)
	const parts = 8
	products := make([][]complex128, parts)
	pairs := (len(terms) + 1) / 2
	each(min(parts, pairs), func(part int) {
		product, z := make([]complex128, c.n), make([]complex128, c.n)
		for k := range product {
			product[k] = 1
		}
		for i := part; i < pairs; i += parts {
			clear(z)
			terms[2*i].wind(z, 1)
			if 2*i+1 < len(terms) {
				terms[2*i+1].wind(z, 1i)
			}
			c.forward(z)
			c.multiply(product, z, 2*i+1 < len(terms))
		}
		products[part] = product
	})
	s := &CircleSum{step: terms[0].Step, terms: len(terms)}
	mean, variance, total, largest := 0.0, 0.0, 1.0, 1.0
	for _, t := range terms {
		m, v, sum := t.momentsApprox()
		mean, variance, total, largest = mean+m, variance+v, up(total*max(1, sum)), max(largest, sum)
		s.lost = up(s.lost + t.Lost)
	}
	s.first = int(min(max(math.Floor(mean-circleBelow*float64(c.n-circleMore))-circleMore, -0x1p40), 0x1p40))
	s.err = c.errorUp(len(terms), total, largest)
	s.lost = up(s.lost + leftUp(terms, s.first, math.Sqrt(variance)))
	z := products[0]
	for _, p := range products[1:min(parts, pairs)] {
		for k, x := range p {
			z[k] *= x
		}
	}
	c.backward(z)
	s.p = make([]float64, c.n)
	for k := range s.p {
		s.p[k] = max(0, real(z[(s.first+k)&(c.n-1)])) / float64(c.n)
	}
	return s
}

// wind trims l and adds the masses times f, 1 or i, to a circle.
func (l *Lattice) wind(z []complex128, f complex128) {
	l.Trim()
	if f == 1 {
		for k, p := range l.P {
			z[(l.First+k)&(len(z)-1)] += complex(p, 0)
		}
		return
	}
	for k, p := range l.P {
		z[(l.First+k)&(len(z)-1)] += complex(0, p)
	}
}

// multiply multiplies by the transforms of the real and, if two, the imaginary part of what z is
// the transform of.
func (c *circle) multiply(product, z []complex128, two bool) {
	for k, other := range c.partner {
		x, y := z[k], z[other]
		y = complex(real(y), -imag(y))
		a := (x + y) / 2
		if two {
			d := x - y // 2i times the other transform
			a *= complex(imag(d)/2, -real(d)/2)
		}
		product[k] *= a
	}
}

// momentsApprox are about the mean and the variance, in steps, and at least the total mass.
func (l *Lattice) momentsApprox() (mean, variance, total float64) {
	second := 0.0
	for i, p := range l.P {
		k := float64(l.First + i)
		total += p
		mean += p * k
		second += p * k * k
	}
	return mean, max(0, second-mean*mean), total * (1 + float64(len(l.P)+4)*(2*unit))
}

// leftUp bounds the probability that the sum of the terms is below first steps: for any 0 < r < 1
// at most r^-first times the product of E r^k (Chernoff).
func leftUp(terms []*Lattice, first int, sd float64) float64 {
	best := 1.0
	for _, rate := range []float64{2, 1.2, 0.7, 3, 0.4} {
		r := 1 - min(0.5, rate/max(sd, 1e-3))
		p := newPower(r, -first)
		for _, t := range terms {
			p = p.times(t.meanPowerUp(r))
		}
		if best = min(best, p.up()); best < 1e-9 {
			break
		}
	}
	return best
}

// power is a positive number m 2^e with a relative error of at most ops (3u).
type power struct {
	m   float64
	e   int
	ops float64
}

func (p power) times(q power) power {
	m, e := math.Frexp(p.m * q.m)
	return power{m, p.e + q.e + e, p.ops + q.ops + 1}
}

// newPower is r^k.
func newPower(r float64, k int) power {
	base := power{m: r}
	if k < 0 {
		base, k = power{m: 1 / r, ops: 1}, -k
	}
	p := power{m: 1}
	for ; k > 0; k >>= 1 {
		if k&1 == 1 {
			p = p.times(base)
		}
		base = base.times(base)
	}
	return p
}

func (p power) up() float64 {
	if !(p.ops < 0x1p40) || p.e > 0 || !(p.m > 0) {
		return 1
	}
	return min(1, up(up(p.m*(1+p.ops*3.01*unit))*math.Ldexp(1, max(p.e, -1000))))
}

// meanPowerUp is E r^k for the lattice's points k: by Horner's rule from the upper end, times r^First.
func (l *Lattice) meanPowerUp(r float64) power {
	sum := 0.0
	for i := len(l.P) - 1; i >= 0; i-- {
		sum = sum*r + l.P[i]
	}
	p := newPower(r, l.First).times(power{m: max(sum, 0x1p-1000)})
	p.ops += float64(len(l.P) + 2)
	return p
}

// Lost is what is outside of the circle, or was lost by the terms: it counts as below.
func (s *CircleSum) Lost() float64 { return s.lost }

// below bounds P(sum + rest <= x), at most 1.
func (s *CircleSum) below(rest Normal, x float64) float64 {
	sum := 0.0
	at := func(k int) float64 { return float64(s.first+k) * s.step }
	const far = 9 // the tail there is below 2^-60
	for k, p := range s.p {
		switch y := x - at(k); {
		case y < rest.MeanLo-far*rest.SdHi-0x1p-40*math.Abs(rest.MeanLo):
			sum += p * 0x1p-60
		case y > rest.MeanHi+far*rest.SdHi:
			sum += p
		default:
			sum += p * rest.BelowUp(up(y))
		}
	}
	return min(1, up(up(sum*(1+float64(len(s.p)+4)*(2*unit))+s.err)+s.lost))
}

// NotPositiveUp bounds P(sum X + rest <= 0) as Lattice.NotPositiveUp does.
func (s *CircleSum) NotPositiveUp(rest Normal) float64 {
	best := 1.0
	if s.terms <= 16 {
		best = s.below(rest, float64(s.terms)*s.step)
	}
	root := math.Sqrt(float64(s.terms))
	for c := 0.7; c < 2.2; c += 0.2 {
		steps := c * root
		exponent := down(down(2*down(steps*steps)) / float64(s.terms))
		miss := ExpUp(-exponent)
		p := up(s.below(rest, steps*s.step) / down(1-miss))
		if p > best {
			break
		}
		best = p
	}
	return best
}
