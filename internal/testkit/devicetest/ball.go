package devicetest

import (
	"fmt"
	"math/big"

	"psafe/host/model/network"
)

// ball is an interval of reals with ends of ballBits bits, always rounded outward:
// the oracle where a function is not a polynomial, and where exact numbers would
// grow through the layers of a network.
type ball struct{ lo, hi *big.Float }

const ballBits = 640

func loNum() *big.Float { return new(big.Float).SetPrec(ballBits).SetMode(big.ToNegativeInf) }
func hiNum() *big.Float { return new(big.Float).SetPrec(ballBits).SetMode(big.ToPositiveInf) }

func point(x float64) ball { return ball{loNum().SetFloat64(x), hiNum().SetFloat64(x)} }

// ballOf encloses an exact number.
func ballOf(x num) ball { return ball{loNum().Set(x), hiNum().Set(x)} }

func (a ball) add(b ball) ball { return ball{loNum().Add(a.lo, b.lo), hiNum().Add(a.hi, b.hi)} }
func (a ball) neg() ball       { return ball{loNum().Neg(a.hi), hiNum().Neg(a.lo)} }

func (a ball) mul(b ball) ball {
	lo, hi := loNum().Mul(a.lo, b.lo), hiNum().Mul(a.lo, b.lo)
	if a.isPoint() && b.isPoint() {
		return ball{lo, hi}
	}
	for _, p := range [][2]*big.Float{{a.lo, b.hi}, {a.hi, b.lo}, {a.hi, b.hi}} {
		if l := loNum().Mul(p[0], p[1]); l.Cmp(lo) < 0 {
			lo = l
		}
		if h := hiNum().Mul(p[0], p[1]); h.Cmp(hi) > 0 {
			hi = h
		}
	}
	return ball{lo, hi}
}

func (a ball) isPoint() bool { return a.lo.Cmp(a.hi) == 0 }

// activate encloses the activation, for a leaky ReLU or an ELU of the given slope.
func (a ball) activate(kind network.Kind, slope ball) ball {
	switch kind {
	case network.Identity:
		return a
	case network.ReLU:
		return a.monotone(func(t ball) ball { return leaky(t, point(0)) })
	case network.LeakyReLU:
		return a.monotone(func(t ball) ball { return leaky(t, slope) })
	case network.Sigmoid:
		return a.monotone(sigmoid)
	case network.Tanh:
		return a.monotone(func(t ball) ball {
			return point(2).mul(sigmoid(point(2).mul(t))).add(point(-1))
		})
	case network.Softplus:
		return a.monotone(softplus)
	case network.ELU:
		return a.monotone(func(t ball) ball {
			if t.lo.Sign() >= 0 {
				return t
			}
			return slope.mul(expNeg(t.neg()).add(point(-1)))
		})
	}
	panic(fmt.Sprintf("devicetest: no exact value of activation %v in internal/testkit/devicetest/ball.go", kind))
}

// monotone applies an increasing function, given on points.
func (a ball) monotone(f func(ball) ball) ball {
	lo := f(ball{a.lo, a.lo})
	if a.isPoint() {
		return lo
	}
	return ball{lo.lo, f(ball{a.hi, a.hi}).hi}
}

func leaky(t, slope ball) ball {
	if t.lo.Sign() >= 0 {
		return t
	}
	return t.mul(slope)
}

// expCap is beyond where exp(-y) matters: exp(-1500) < 2^-2164.
const expCap = 1500

// sigmoid encloses 1/(1+exp(-t)) for a point t.
func sigmoid(t ball) ball {
	if t.lo.Sign() < 0 {
		return point(1).add(sigmoid(ball{loNum().Neg(t.lo), loNum().Neg(t.lo)}).neg())
	}
	return point(1).over(point(1).add(expNeg(t)))
}

// expNeg encloses exp(-t) for a point t >= 0.
func expNeg(t ball) ball {
	if t.lo.Cmp(big.NewFloat(expCap)) >= 0 {
		return ball{loNum(), loNum().SetMantExp(big.NewFloat(1), -2164)}
	}
	return point(1).over(exp(t.lo))
}

// over is a/b, both positive.
func (a ball) over(b ball) ball { return ball{loNum().Quo(a.lo, b.hi), hiNum().Quo(a.hi, b.lo)} }

// softplus encloses ln(1 + exp(t)) = max(t, 0) + ln(1 + e), e = exp(-|t|), for a point t: ln(1 + e)
// is 2 atanh(z) for z = e/(2+e) <= 1/3, a series of positive terms.
func softplus(t ball) ball {
	m := point(0)
	if t.lo.Sign() > 0 {
		m = t
	} else {
		t = t.neg()
	}
	e := expNeg(t)
	z := e.over(e.add(point(2)))
	square, power, sum := z.mul(z), z, point(0)
	for n := 1.0; power.hi.Sign() > 0 && power.hi.MantExp(nil) > -510; n += 2 { // the rest is below 2^-500
		sum = sum.add(power.over(point(n)))
		power = ball{loNum().Mul(power.lo, square.lo), hiNum().Mul(power.hi, square.hi)}
	}
	sum.hi = hiNum().Add(sum.hi, hiNum().SetMantExp(big.NewFloat(1), -500))
	return m.add(sum).add(sum)
}

// exp encloses exp(y) for 0 <= y < expCap: y = 2^k r with r < 2^-12, Taylor's series
// of exp(r), all of whose terms are positive, and k squarings.
func exp(y *big.Float) ball {
	k := max(0, y.MantExp(nil)+12)
	r := ball{loNum().SetMantExp(y, -k), hiNum().SetMantExp(y, -k)}
	const terms = 32 // the rest is below 2 r^32/32! < 2^-500
	sum, term := point(1), point(1)
	for n := 1; n < terms; n++ {
		term = term.mul(r)
		d := big.NewFloat(float64(n))
		term = ball{loNum().Quo(term.lo, d), hiNum().Quo(term.hi, d)}
		sum = sum.add(term)
	}
	sum.hi = hiNum().Add(sum.hi, hiNum().SetMantExp(big.NewFloat(1), -500))
	for range k {
		sum = ball{loNum().Mul(sum.lo, sum.lo), hiNum().Mul(sum.hi, sum.hi)}
	}
	return sum
}
