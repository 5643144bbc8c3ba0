// Package mass bounds the probability of weight boxes from below (docs/theory.md, section 2): of one, and of the union
// of several.
package mass

import (
	"math"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/check/law"
)

// mass is the probability of a box of independent normal weights on the way through its
// factors: at least m 2^e (1 - loss) e^-(rest + restErr). A factor 1-q with a small q goes
// into rest as -ln(1-q), times restScale, lest anything underflow; others go into m.
type mass struct {
	m             arith.DD
	e             int
	loss          float64
	rest          arith.Sum
	restErr       float64
	none, factors bool
}

const restScale = 0x1p600

// chance returns what has been multiplied so far. Sums of errors meet fewer than 2^30 roundings,
// which 1+2^-20 outweighs.
func (p *mass) chance() law.Chance {
	loss := p.loss * (1 + 0x1p-20)
	if p.none || !(loss < 0.5) {
		return law.Chance{}
	}
	c := law.Chance{X: arith.BigUnit}
	if p.rest.N > 0 {
		y := arith.Up(p.rest.Hi() + arith.Up(p.restErr*(1+0x1p-20)))
		if !(y <= math.MaxFloat64) {
			return law.Chance{}
		}
		c.Y = arith.NewBig().Quo(arith.NewBig().SetFloat64(y), arith.NewBig().SetFloat64(restScale))
	}
	if p.factors {
		x := arith.NewBig().Add(arith.NewBig().SetFloat64(p.m.Hi), arith.NewBig().SetFloat64(p.m.Lo))
		x.Mul(x, arith.NewBig().Sub(arith.BigUnit, arith.NewBig().SetFloat64(loss)))
		x.SetMantExp(x, p.e)
		if c.X = x.Mul(x, law.Safe); x.Cmp(arith.BigUnit) > 0 {
			c.X = arith.BigUnit
		}
	}
	return c
}

// interval multiplies by P(lo <= N(mean, sd^2) <= hi), at its least for sdLo <= sd <= sdHi. If
// the mean is in the interval both tails grow with sd. If it is not, the probability rises
// and then falls with sd, so that it is least at one of both.
func (p *mass) interval(lo, hi, mean, sdLo, sdHi float64) {
	switch {
	case !(lo <= hi && math.Abs(mean) <= math.MaxFloat64 && 0 <= sdLo && sdLo <= sdHi && sdHi <= math.MaxFloat64):
		p.none = true
	case lo == -arith.Inf && hi == arith.Inf:
	case lo <= mean && mean <= hi:
		if sdHi > 0 {
			p.around(distance(mean, lo, sdHi), distance(hi, mean, sdHi))
		}
	case sdLo == 0:
		p.none = true // at sd = 0
	default:
		f, err := beside(lo, hi, mean, sdHi)
		if sdLo != sdHi {
			g, gErr := beside(lo, hi, mean, sdLo)
			if g.Hi < f.Hi {
				f = g
			}
			err = max(err, gErr) + 4*arith.Unit*f.Hi
		}
		p.times(f, err)
	}
}

// around multiplies by 1 - Q(a) - Q(b).
func (p *mass) around(a, b arith.DD) {
	qa, errA := gauss.TailNear(a)
	qb, errB := gauss.TailNear(b)
	q, err := qa.Plus(qb), errA+errB
	if q.Hi <= law.NearHalf {
		p.rest.Plus(q.Hi * restScale)
		p.rest.Plus(q.Lo * restScale)
		p.rest.Add(q.Hi*restScale, law.LogRest(q.Hi))
		p.restErr += err*restScale*1.01 + q.Hi*restScale*0x1p-58
		return
	}
	ca, errA := gauss.CentralNear(a)
	cb, errB := gauss.CentralNear(b)
	p.times(ca.Plus(cb), errA+errB)
}

// beside is P(lo <= N(mean, sd^2) <= hi) for an interval without the mean, within err.
func beside(lo, hi, mean, sd float64) (f arith.DD, err float64) {
	near, far := distance(lo, mean, sd), distance(hi, mean, sd)
	if hi < mean {
		near, far = distance(mean, hi, sd), distance(mean, lo, sd)
	}
	qn, errN := gauss.TailNear(near)
	qf, errF := gauss.TailNear(far)
	return qn.Minus(qf), errN + errF
}

// times multiplies by a factor f that is wrong by err.
func (p *mass) times(f arith.DD, err float64) {
	if !(f.Hi > 2*err) {
		p.none = true
		return
	}
	p.factors = true
	f, k := normal(f)
	err = math.Ldexp(err, -k)
	p.m = p.m.Times(f)
	p.loss += 1.01*err/f.Hi + 0x1p-98
	p.m, p.e = normalBy(p.m, p.e+k)
}

// normal is f as m 2^k with m in [1/2, 1), exactly.
func normal(f arith.DD) (m arith.DD, k int) {
	_, k = math.Frexp(f.Hi)
	return f.Scaled(-k), k
}

// normalBy is normal with k added to the exponent, where m is not near 1 already.
func normalBy(m arith.DD, k int) (arith.DD, int) {
	if m.Hi > 0x1p-200 {
		return m, k
	}
	m, e := normal(m)
	return m, k + e
}

// distance is (x - y)/sd for x >= y and sd > 0: within 2^-98, relative; but 2^400 for what is
// more than 2^400, and 0 for what is less than 2^-400. Only what is infinite is infinite.
func distance(x, y, sd float64) arith.DD {
	s, e := arith.TwoSum(x, -y)
	if !(s <= math.MaxFloat64) {
		return arith.DDOf(arith.Inf)
	}
	if s == 0 {
		return arith.DDOf(0)
	}
	d, k := normal(arith.DD{Hi: s, Lo: e})
	sd, l := math.Frexp(sd)
	switch k -= l; {
	case k > 400:
		return arith.DDOf(0x1p400)
	case k < -400:
		return arith.DDOf(0)
	}
	return d.Over(sd).Scaled(k)
}
