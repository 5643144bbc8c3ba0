package check

import (
	"math"
	"math/big"

	"psafe/host/arith"
)

// chance is a lower bound of a probability, x e^-y with 0 <= x <= 1 and y >= 0: what is
// nearly 1 keeps its digits in y, and what is below every float64 in x. Without an x nothing
// is known, without a y it is 0.
type chance struct{ x, y *big.Float }

// nearHalf is up to where a probability of failure goes into y.
const nearHalf = 0x1p-8

// safe is a number that is more than 2^-299, relative, below 1: it covers the roundings of a chance.
var safe = arith.NewBig().Sub(arith.BigUnit, arith.NewBig().SetMantExp(arith.BigUnit, -299))

// complement is the chance of what fails with a probability of at most fail.
func complement(fail float64) chance {
	switch {
	case !(fail < 1):
		return chance{}
	case fail <= 0:
		return chance{x: arith.BigUnit}
	case fail <= nearHalf:
		y := arith.NewBig().SetFloat64(fail)
		return chance{x: arith.BigUnit, y: y.Add(y, arith.NewBig().Mul(y, big.NewFloat(logRest(fail))))}
	}
	return chance{x: arith.NewBig().Sub(arith.BigUnit, big.NewFloat(fail))}
}

// logRest is an r with -ln(1-q) <= q (1 + r) for 0 <= q <= nearHalf: q/2 + q^2/3 + ..., where the
// terms from q^7/8 on are at most q^7/8 / (1-q), and 0.126 is more than 1/(8 (1-2^-8)). The
// few roundings are within 16 units.
func logRest(q float64) float64 {
	p := 0.126
	for _, c := range [...]float64{1.0 / 7, 1.0 / 6, 1.0 / 5, 1.0 / 4, 1.0 / 3, 1.0 / 2} {
		p = p*q + c
	}
	return q*p*(1+16*arith.Unit) + arith.Eta
}

// isZero reports whether nothing is known.
func (c chance) isZero() bool { return c.x == nil || c.x.Sign() <= 0 }

// value is a number at or below the chance.
func (c chance) value() *big.Float {
	if c.isZero() {
		return arith.NewBig()
	}
	if c.y == nil {
		return c.x
	}
	v := arith.NewBig().Mul(c.x, arith.BigExp(c.y))
	return v.Mul(v, safe)
}

// reaches reports whether the chance is at least p.
func (c chance) reaches(p *big.Rat) bool {
	v, _ := c.value().Rat(nil)
	return v.Cmp(p) >= 0
}

// reachesLog10 says whether the chance is at least 10^l for a real number l <= 0:
// l ln 10 + y <= ln x.
func (c chance) reachesLog10(l *big.Rat) bool {
	if c.isZero() || l.Sign() > 0 {
		return false
	}
	// power is at or above l ln 10: this is at most 0.
	power := arith.NewBig().Mul(arith.NewBig().SetRat(l), arith.BigLn10)
	power.Mul(power, safe)
	t := power
	if c.y != nil {
		t.Add(t, c.y)
	}
	if t.Sign() > 0 {
		return false // above e^-y
	}
	if c.x.Cmp(arith.BigUnit) == 0 {
		return true
	}
	e := arith.NewBig().Mul(arith.BigExp(t.Neg(t)), arith.NewBig().Sub(big.NewFloat(2), safe))
	return e.Cmp(c.x) <= 0
}

// float is a float64 at or below the chance, for messages and sums.
func (c chance) float() float64 {
	v := c.value()
	f, _ := v.Float64()
	if big.NewFloat(f).Cmp(v) > 0 {
		f = arith.Down(f)
	}
	return max(0, f)
}

// failUp is a float64 at or above 1 less the chance.
func (c chance) failUp() float64 {
	rest := arith.NewBig().Sub(arith.BigUnit, c.value())
	f, _ := rest.Float64()
	if arith.NewBig().SetFloat64(f).Cmp(rest) <= 0 {
		f = arith.Up(f) // also for what Sub rounds
	}
	return min(1, f)
}

// log10Approx is about the decimal logarithm, for messages.
func (c chance) log10Approx() float64 {
	v := c.value()
	if v.Sign() <= 0 {
		return -arith.Inf
	}
	if c.y != nil && c.x.Cmp(arith.BigUnit) == 0 {
		y, _ := c.y.Float64()
		return -y / math.Ln10
	}
	m, e := new(big.Float), 0
	e = v.MantExp(m)
	f, _ := m.Float64()
	return math.Log10(f) + float64(e)*math.Log10(2)
}
