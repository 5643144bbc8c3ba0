package probability

import (
	"math"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
)

// The distribution of a sum of many independent terms on a lattice, by Fourier transforms on a
// circle of N points. It costs n transforms, however long the terms' lattices are, where SumUp
// multiplies lattices with each other. Masses that are N points apart coincide. That adds to
// masses, which are upper bounds, so that only what lies below the part of the line that the circle
// stands for has to be bounded (leftUp).
//
// Sums of products on a circle. What stands in for a product X = A H (Split) is X + D, where D is
// the sum of steps of mean 0, each on an interval of a known length r whatever came before: the
// rounding of A, that of H, and that to the lattice. By Hoeffding's lemma E exp(rate D) <=
// exp(rate^2 r^2/8), so that for every s and number x
//
//	E psi(x + D - rate r^2/8) >= psi(x),   psi(x) = max(0, 1 - e^(rate (x - s)))
//
// and, one step after the other, with Y the sum of all X + D - rate r^2/8,
//
//	P(sum X + rest <= 0) (1 - e^(-rate s)) <= E psi(sum X + rest) <= E psi(Y + rest) <= P(Y + rest <= s)
//
// for s > 0 (thin). Mixtures of psi over s do as well. If rest is normal with deviation sigma and
// rho = rate sigma, one of them is, of v = x + E rest,
//
//	G = Phi(-v/sigma)                                                 for v >= -rho sigma
//	    Phi(rho) + phi(rho)/rho (1 - e^(rate (v + rho sigma)))        for v < -rho sigma
//
// as G falls and its second derivative is at least rate G' everywhere: -G' e^(-rate v) falls, and is
// a mixture of indicators of v <= s. P(x + rest <= 0) = Phi(-v/sigma) <= G <= R Phi(-v/sigma), R = 1
// + phi(rho)/(rho Phi(rho)), so that (smooth)
//
//	P(sum X + rest <= 0) <= R P(Y + rest <= 0)
//
// A larger rate makes s smaller, or R, and rate r^2/8 larger.

// ProductsNotPositiveUp bounds P(sum X + rest <= 0) for independent products and an independent
// rest, at most 1. each runs f(0) ... f(n-1), in any order or at the same time.
func ProductsNotPositiveUp(products []Product, rest gauss.Normal, each func(n int, f func(i int))) float64 {
	mean, variance, fourth, ranges, size := 0.0, rest.SdHi*rest.SdHi, 0.0, 0.0, 0.0
	for i := range products {
		m, v, f, r := products[i].momentsApprox()
		mean, variance, fourth, ranges, size = mean+m, variance+v, fourth+f, ranges+r, size+math.Abs(m)
	}
	best, c := 1.0, arith.CircleOf(sumLog)
	// Sums that hardly vary need steps that are small beside what they are.
	sd := max(math.Sqrt(variance), 1e-4*(size+math.Abs(rest.MeanLo)), 0x1p-300)
	if !(sd < 0x1p300 && math.Abs(mean) < 0x1p400) {
		return 1
	}
	// Where a few products with heavy tails make up most of the sum, the circle must be wider.
	span := 16.0
	if fourth > 20*variance*variance {
		span = 32
	}
	for ; span < 600; span *= 2 {
		s := &circleSum{step: circleStep(span * sd / float64(c.N)), rest: rest}
		s.chooseRate(sd, ranges+float64(len(products))*s.step*s.step)
		s.add(c, len(products), func(i int) *Lattice { return products[i].lattice(s.step, s.rate) }, sd/s.step, each)
		best = min(best, s.notPositiveUp())
		if max(s.lost, s.edgeApprox()) <= max(1e-7, best/128) {
			break
		}
	}
	if !(best <= 1) { // NaN
		return 1
	}
	return best
}

// sumLog is the binary logarithm of how many points circles of sums have.
const sumLog = 16

// circleStep has 8 significant bits, so that its multiples are exact.
func circleStep(about float64) float64 {
	m, e := math.Frexp(about)
	return math.Ldexp(math.Ceil(m*0x1p8), e-8)
}

// circleSum is the distribution of a sum Y on a circle, times step.
type circleSum struct {
	step, rate float64
	rest       gauss.Normal
	terms      int
	first      int // the point that p[0] is
	p          []float64
	// lost holds what is outside or lost, err what a sum of masses may be wrong by.
	lost, err float64
}

// thinMiss is about e^(-rate s), smoothRho what rho should be.
const thinMiss, smoothRho = 0.01, 3

// chooseRate: any will do. A bound grows by about 2.5 percent for each percent of a deviation that
// the sum is lowered by.
func (s *circleSum) chooseRate(sd, ranges float64) {
	exponent := -math.Log(thinMiss)
	s.rate = math.Sqrt(8 * exponent / ranges)
	thin := 2.5/sd*(s.rate*ranges/8+exponent/s.rate) + thinMiss
	if sigma := s.rest.SdLo; sigma > 0 && 2.5/sd*smoothRho/sigma*ranges/8+0.0015 < thin {
		s.rate = smoothRho / sigma
	}
	s.rate = min(max(s.rate, 0x1p-450), 0x1p450)
}

// circlePart is the product of the transforms of some terms and what else their sum must know.
type circlePart struct {
	product              []complex128
	mean, total, largest float64
	lost                 float64
	powers               []power
}

// partsOfSum is the number of parts of a sum: how many processors there are does not change a bound.
const partsOfSum = 8

// add makes n terms, two at a time, and multiplies their transforms. sd is about that of the sum,
// in steps.
func (s *circleSum) add(c *arith.Circle, n int, term func(i int) *Lattice, sd float64, each func(n int, f func(i int))) {
	s.terms = n
	var bases []float64
	for _, r := range []float64{2, 0.9, 0.3} {
		bases = append(bases, 1-min(0.5, r/max(sd, 1e-3)))
	}
	pairs := (n + 1) / 2
	parts := make([]circlePart, min(partsOfSum, pairs))
	each(len(parts), func(k int) {
		p := circlePart{product: make([]complex128, c.N), total: 1, largest: 1, powers: make([]power, len(bases))}
		for q := range p.product {
			p.product[q] = 1
		}
		for q := range p.powers {
			p.powers[q] = power{m: 1}
		}
		z := make([]complex128, c.N)
		for i := k; i < pairs; i += len(parts) {
			clear(z)
			two := 2*i+1 < n
			p.wind(term(2*i), z, 1, bases)
			if two {
				p.wind(term(2*i+1), z, 1i, bases)
			}
			c.Forward(z)
			c.Multiply(p.product, z, two)
		}
		parts[k] = p
	})
	all := parts[0]
	for k := 1; k < len(parts); k++ {
		p := &parts[k]
		for q, x := range p.product {
			all.product[q] *= x
		}
		for q := range all.powers {
			all.powers[q] = all.powers[q].times(p.powers[q])
		}
		all.mean, all.lost = all.mean+p.mean, up(all.lost+p.lost)
		all.total, all.largest = up(all.total*p.total), max(all.largest, p.largest)
	}
	s.first = int(min(max(math.Floor(all.mean-circleBelow*float64(c.N-circleMore))-circleMore, -0x1p40), 0x1p40))
	s.err = c.ErrorUp(n, all.total, all.largest)
	s.lost = up(all.lost + leftUp(all.powers, bases, s.first))
	z := all.product
	c.Backward(z)
	s.p = make([]float64, c.N)
	for k := range s.p {
		s.p[k] = max(0, real(z[(s.first+k)&(c.N-1)])) / float64(c.N)
	}
}

// circleBelow is the part of the circle that is below the mean of the sum.
const circleBelow = 0.6

// circleMore is how many points more are below, for sums that hardly vary.
const circleMore = 48

// wind trims the term l and adds its masses times f, 1 or i, to a circle.
func (p *circlePart) wind(l *Lattice, z []complex128, f complex128, bases []float64) {
	l.Trim()
	mean, total := l.momentsApprox()
	p.mean, p.total, p.largest = p.mean+mean, up(p.total*max(1, total)), max(p.largest, total)
	p.lost = up(p.lost + l.Lost)
	for k, r := range bases {
		p.powers[k] = p.powers[k].times(l.meanPowerUp(r))
	}
	for k, m := range l.P {
		if f == 1 {
			z[(l.First+k)&(len(z)-1)] += complex(m, 0)
		} else {
			z[(l.First+k)&(len(z)-1)] += complex(0, m)
		}
	}
}

// momentsApprox are about the mean, in steps, and at least the total mass.
func (l *Lattice) momentsApprox() (mean, total float64) {
	for i, p := range l.P {
		total += p
		mean += p * float64(l.First+i)
	}
	return mean, total * (1 + float64(len(l.P)+4)*(2*unit))
}

// leftUp bounds the probability that the sum is below first steps: for any 0 < r < 1 at most
// r^-first times the product of E r^k (Chernoff).
func leftUp(powers []power, bases []float64, first int) float64 {
	best := 1.0
	for k, r := range bases {
		best = min(best, powers[k].times(newPower(r, -first)).up())
	}
	return best
}

// edgeApprox is the mass at the lower end of the window, where what is above its upper end comes
// first.
func (s *circleSum) edgeApprox() float64 {
	sum := 0.0
	for _, p := range s.p[:len(s.p)/16] {
		sum += p
	}
	return sum
}

// below bounds P(Y + rest <= x), at most 1. Lattice points are n rate step^2/8 higher than Y.
func (s *circleSum) below(x float64) float64 {
	x = up(x + up(up(float64(s.terms)*s.rate*(1+0x1p-50))*s.step)*s.step/8*(1+0x1p-50))
	sum, rest := 0.0, &s.rest
	const far = 9 // the tail there is below 2^-60
	for k, p := range s.p {
		switch y := x - float64(s.first+k)*s.step; {
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

// notPositiveUp bounds P(sum X + rest <= 0): the least of (smooth) and some of (thin).
func (s *circleSum) notPositiveUp() float64 {
	best := 1.0
	rho := down(s.rate * s.rest.SdLo)
	if rho >= 1 {
		best = min(1, up(up(s.below(0)*smoothUp(rho))))
	}
	if rho > smoothRho/2 {
		return best // (thin) needs a slower rate
	}
	exponent := -math.Log(thinMiss)
	for k := 0.4; k < 1.6; k *= 1.2 {
		at := k * exponent / s.rate
		miss := arith.ExpUp(-down(s.rate * at))
		p := up(s.below(at) / down(1-miss))
		if p > best {
			break
		}
		best = p
	}
	return best
}

// smoothUp bounds R, for rho >= 1: it falls with rho.
func smoothUp(rho float64) float64 {
	density := up(0.3989422804014328 * arith.ExpUp(-down(rho*rho/2))) // 1/sqrt(2 pi) = 0.39894228040143267794
	return up(1 + up(density/down(rho*down(1-gauss.TailUp(rho)))))
}
