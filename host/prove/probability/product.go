package probability

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"psafe/host/arith"
	"psafe/internal/fault"
)

// product is a running bound of a product of factors in [0, 1], held as
//
//	m 2^e exp(-sum),   0.5 <= m <= 1 or m = 0,   sum >= 0
//
// Factors 1 - q with a small q go into sum, where no digit of q is lost; the
// others are multiplied into m. Every operation is rounded to nearest and
// then moved one float64 in the sound direction, so a product is loose by at
// most 2^-52 relative per factor, whatever its size.
type product struct {
	m   float64
	e   int
	sum float64
}

// one is the empty product.
var one = product{m: 1}

// smallTail separates the factors 1-q that go into sum (q below) from those
// multiplied into m.
const smallTail = 0x1p-12

// timesDown multiplies the lower bound p by a factor whose lower bound is
// f, 0 <= f <= 1.
func (p *product) timesDown(f float64) {
	f, e := unscaled(f)
	p.e += e
	switch {
	case f == 1: // exact: a free weight costs nothing
	case p.m == 1:
		p.m = f
	default:
		p.m = max(0, down(p.m*f))
	}
	p.normalise()
}

// timesUp multiplies the upper bound p by a factor whose upper bound is f.
func (p *product) timesUp(f float64) {
	f, e := unscaled(f)
	p.e += e
	switch {
	case p.m == 0 || f >= 1: // 0 is exact and not to be revived by rounding
	case p.m == 1:
		p.m = f
	default:
		p.m = min(1, up(p.m*f))
	}
	p.normalise()
}

// unscaled returns f = m 2^e, exact, with e = 0 unless a product with f might
// be subnormal, where the step to the next float64 would be a large one.
func unscaled(f float64) (m float64, e int) {
	if f >= 0x1p-900 || f == 0 {
		return f, 0
	}
	return math.Frexp(f)
}

// normalise brings m back into [0.5, 1]; exact.
func (p *product) normalise() {
	if p.m < 0.5 && p.m > 0 {
		m, e := math.Frexp(p.m)
		p.m, p.e = m, p.e+e
	}
}

// timesOneMinusDown multiplies the lower bound p by a factor at least 1-q,
// for 0 <= q <= smallTail:
//
//	-ln(1-q) = q + q^2/2 + q^3/3 + ... <= q (1 + q (1/2 + q 0.33342))
//
// since the terms from q^3/3 on are at most q^3/(3(1-q)) and
// 1/(3(1-2^-12)) < 0.33342.
func (p *product) timesOneMinusDown(q float64) {
	if q == 0 {
		return
	}
	t := up(0.5 + up(0.33342*q))
	t = up(1 + up(q*t))
	p.sum = up(p.sum + up(q*t))
}

// timesOneMinusUp multiplies the upper bound p by a factor at most 1-q, for
// 0 <= q <= smallTail: -ln(1-q) >= q (1 + q (1/2 + q 0.33333)).
func (p *product) timesOneMinusUp(q float64) {
	t := down(0.5 + down(0.33333*q))
	t = down(1 + down(q*t))
	p.sum = max(0, down(p.sum+down(q*t)))
}

// joinDown multiplies the lower bound p by the lower bound r.
func (p *product) joinDown(r product) {
	p.timesDown(r.m)
	p.e += r.e
	if r.sum > 0 {
		p.sum = up(p.sum + r.sum)
	}
}

// logDown returns a lower bound, at most 0, of ln of the lower bound p.
func (p product) logDown() float64 {
	l := arith.LnScaledDown(p.m, p.e)
	if p.sum > 0 {
		l = down(l - p.sum)
	}
	return min(0, l)
}

// logUp returns an upper bound, at most 0, of ln of the upper bound p.
func (p product) logUp() float64 {
	l := arith.LnScaledUp(p.m, p.e)
	if p.sum > 0 {
		l = up(l - p.sum)
	}
	return min(0, l)
}

// scaledDown returns a lower bound of the lower bound p as m 2^e.
func (p product) scaledDown() scaled {
	m, e := p.m, p.e
	// e^-sum in steps, because sum grows with the number of factors.
	// s - step is exact: a multiple of the last digit of s, and not above s.
	for s := p.sum; s > 0 && m > 0; s -= min(s, 512) {
		r, k := arith.ExpNeg(min(s, 512))
		f, de := math.Frexp(down(m * (r * (1 - arith.ExpNegErr - 2*unit))))
		m, e = f, e-k+de
	}
	return makeScaled(m, e)
}

// scaledUp returns an upper bound of the upper bound p as m 2^e.
func (p product) scaledUp() scaled {
	m, e := p.m, p.e
	for s := p.sum; s > 0 && m > 0; s -= min(s, 512) { // as in scaledDown
		r, k := arith.ExpNeg(min(s, 512))
		f, de := math.Frexp(up(m * (r * (1 + arith.ExpNegErr + 2*unit))))
		m, e = f, e-k+de
	}
	return makeScaled(m, e)
}

// makeScaled normalises m 2^e exactly.
func makeScaled(m float64, e int) scaled {
	f, de := math.Frexp(m)
	if f == 0 {
		return scaled{}
	}
	return scaled{f, e + de}
}

// chunk is the number of factors multiplied by one goroutine in one go. It is
// a constant, not a share of the cores: results must not depend on the
// machine.
const chunk = 4096

// inChunks evaluates part, lower bounds, over [0,n) in chunks and joins them in the
// order of the chunks, so the result does not depend on the number of cores.
func inChunks(n int, part func(from, to int) product) product {
	chunks := (n + chunk - 1) / chunk
	if chunks <= 1 {
		return part(0, n)
	}
	parts := make([]product, chunks)
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(chunks, runtime.GOMAXPROCS(0)) {
		fault.Go(&wait, func() {
			for c := int(next.Add(1)) - 1; c < chunks; c = int(next.Add(1)) - 1 {
				parts[c] = part(c*chunk, min(n, (c+1)*chunk))
			}
		})
	}
	wait.Wait()
	p := parts[0]
	for _, r := range parts[1:] {
		p.joinDown(r)
	}
	return p
}
