// Package law computes laws for the checker: chances from below, tails of sums of noise
// (docs/theory.md, section 3.2), of the binomial law, and laws of margins.
package law

import (
	"math"
	"math/big"

	"psafe/host/arith"
)

// Chance is a lower bound of a probability, x e^-y with 0 <= x <= 1 and y >= 0: what is
// nearly 1 keeps its digits in y, and what is below every float64 in x. Without an x nothing
// is known, without a y it is 0.
type Chance struct{ X, Y *big.Float }

// NearHalf is up to where a probability of failure goes into y.
const NearHalf = 0x1p-8

// Safe is a number that is more than 2^-299, relative, below 1: it covers the roundings of a chance.
var Safe = arith.NewBig().Sub(arith.BigUnit, arith.NewBig().SetMantExp(arith.BigUnit, -299))

// Complement is the chance of what fails with a probability of at most fail.
func Complement(fail float64) Chance {
	switch {
	case !(fail < 1):
		return Chance{}
	case fail <= 0:
		return Chance{X: arith.BigUnit}
	case fail <= NearHalf:
		y := arith.NewBig().SetFloat64(fail)
		return Chance{X: arith.BigUnit, Y: y.Add(y, arith.NewBig().Mul(y, big.NewFloat(LogRest(fail))))}
	}
	return Chance{X: arith.NewBig().Sub(arith.BigUnit, big.NewFloat(fail))}
}

// LogRest is an r with -ln(1-q) <= q (1 + r) for 0 <= q <= NearHalf: q/2 + q^2/3 + ..., where the
// terms from q^7/8 on are at most q^7/8 / (1-q), and 0.126 is more than 1/(8 (1-2^-8)). The
// few roundings are within 16 units.
func LogRest(q float64) float64 {
	p := 0.126
	for _, c := range [...]float64{1.0 / 7, 1.0 / 6, 1.0 / 5, 1.0 / 4, 1.0 / 3, 1.0 / 2} {
		p = p*q + c
	}
	return q*p*(1+16*arith.Unit) + arith.Eta
}

// IsZero reports whether nothing is known.
func (c Chance) IsZero() bool { return c.X == nil || c.X.Sign() <= 0 }

// Value is a number at or below the chance.
func (c Chance) Value() *big.Float {
	if c.IsZero() {
		return arith.NewBig()
	}
	if c.Y == nil {
		return c.X
	}
	v := arith.NewBig().Mul(c.X, arith.BigExp(c.Y))
	return v.Mul(v, Safe)
}

// Reaches reports whether the chance is at least p.
func (c Chance) Reaches(p *big.Rat) bool {
	v, _ := c.Value().Rat(nil)
	return v.Cmp(p) >= 0
}

// ReachesLog10 reports whether the chance is at least 10^l for a real number l <= 0:
// l ln 10 + y <= ln x.
func (c Chance) ReachesLog10(l *big.Rat) bool {
	if c.IsZero() || l.Sign() > 0 {
		return false
	}
	// power is at or above l ln 10: this is at most 0.
	power := arith.NewBig().Mul(arith.NewBig().SetRat(l), arith.BigLn10)
	power.Mul(power, Safe)
	t := power
	if c.Y != nil {
		t.Add(t, c.Y)
	}
	if t.Sign() > 0 {
		return false // above e^-y
	}
	if c.X.Cmp(arith.BigUnit) == 0 {
		return true
	}
	e := arith.NewBig().Mul(arith.BigExp(t.Neg(t)), arith.NewBig().Sub(big.NewFloat(2), Safe))
	return e.Cmp(c.X) <= 0
}

// Float is a float64 at or below the chance, for messages and sums.
func (c Chance) Float() float64 {
	v := c.Value()
	f, _ := v.Float64()
	if big.NewFloat(f).Cmp(v) > 0 {
		f = arith.Down(f)
	}
	return max(0, f)
}

// FailUp is a float64 at or above 1 less the chance.
func (c Chance) FailUp() float64 {
	rest := arith.NewBig().Sub(arith.BigUnit, c.Value())
	f, _ := rest.Float64()
	if arith.NewBig().SetFloat64(f).Cmp(rest) <= 0 {
		f = arith.Up(f) // also for what Sub rounds
	}
	return min(1, f)
}

// Log10Approx is about the decimal logarithm, for messages.
func (c Chance) Log10Approx() float64 {
	v := c.Value()
	if v.Sign() <= 0 {
		return -arith.Inf
	}
	if c.Y != nil && c.X.Cmp(arith.BigUnit) == 0 {
		y, _ := c.Y.Float64()
		return -y / math.Ln10
	}
	m, e := new(big.Float), 0
	e = v.MantExp(m)
	f, _ := m.Float64()
	return math.Log10(f) + float64(e)*math.Log10(2)
}
