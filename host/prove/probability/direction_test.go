package probability

import (
	"math"
	"math/big"
	"testing"
)

// This file tests single roundings that the slack of the tails hides from the
// tests of whole masses: each test fails if one step is rounded to nearest or
// the wrong way.

// TestDistances compares (x-y)/sd with the exact quotient.
func TestDistances(t *testing.T) {
	r := newRand(t, 18)
	for range 20000 {
		x, y := r.NormFloat64(), math.Exp(20*r.Float64()-10)*r.NormFloat64()
		x, y, sd := max(x, y), min(x, y), math.Exp(4*r.NormFloat64())
		truth := newBig().Sub(bigOf(x), bigOf(y))
		// x - y = q sd compared as down sd <= x - y <= up sd: exact.
		lo, hi := distanceDown(x, y, sd), distanceUp(x, y, sd)
		if newBig().Mul(bigOf(lo), bigOf(sd)).Cmp(truth) > 0 || newBig().Mul(bigOf(hi), bigOf(sd)).Cmp(truth) < 0 || lo < 0 {
			t.Errorf("(%x - %x)/%x is not in [%x, %x]", x, y, sd, lo, hi)
		}
		if hi-lo > 1.4e-15*hi+tiny {
			t.Errorf("(%x - %x)/%x is loose: [%x, %x]", x, y, sd, lo, hi)
		}
	}
	inf := math.Inf(1)
	if distanceDown(inf, 0, 1) != inf || distanceDown(0, -inf, 1) != inf || distanceDown(math.MaxFloat64, -math.MaxFloat64, tiny) != math.MaxFloat64 || distanceDown(1, 0, tiny) != math.MaxFloat64 {
		t.Error("only infinite ends are infinitely far")
	}
}

// TestMassFarTail: for z from 25 to 37 a rounding of the argument z counts
// z^2-fold in the tail and shows through its slack.
func TestMassFarTail(t *testing.T) {
	r := newRand(t, 19)
	inf := math.Inf(1)
	for trial := range 600 {
		mean, sd := r.NormFloat64(), math.Exp(2*r.NormFloat64())
		lo, hi := mean+sd*(25+12*r.Float64()), inf
		if trial%2 == 0 {
			lo, hi = -inf, mean-sd*(25+12*r.Float64())
		}
		if trial%3 == 0 && trial%2 == 1 {
			hi = lo + 0.3*(lo-mean)
		}
		truth := oracleInterval(lo, hi, mean, sd)
		one := func(x float64) []float64 { return []float64{x} }
		l := LogMassDown(one(lo), one(hi), one(mean), one(sd), one(sd))
		if !isLower(expOf(l), truth) {
			t.Errorf("[%x, %x], mean %x, sd %x: %x is above", lo, hi, mean, sd, l)
		}
		if e := relative(expOf(l), truth); e > 3e-12 {
			t.Errorf("[%x, %x], mean %x, sd %x: loose by %g", lo, hi, mean, sd, e)
		}
		u1 := unionOf([][]float64{one(lo)}, [][]float64{one(hi)}, one(mean), one(sd), one(sd))
		if len(u1.boxes) != 1 {
			t.Fatalf("box [%x, %x] lost", lo, hi)
		}
		if p := scaledValue(u1.pairsUp()[0][0]); !isUpper(p, truth) {
			t.Errorf("[%x, %x], mean %x, sd %x: pair bound is below", lo, hi, mean, sd)
		}
	}
}

// TestFactorNearOne: tails just above smallTail, before the logarithm, where
// the rounding of 1 - q is larger than the slack of q.
func TestFactorNearOne(t *testing.T) {
	r := newRand(t, 20)
	for range 600 {
		z := 3.3 + 0.37*r.Float64()
		lower := one
		lower.intervalDown(-z, z, 0, 1, 1)
		if !isLower(productValue(lower), oracleInterval(-z, z, 0, 1)) {
			t.Errorf("z = %x: %+v is above", z, lower)
		}
	}
}

// TestSumOfTinyTails adds 20,000 tails of a quarter, and of three quarters, of
// the last digit of the sum: rounded to nearest they would vanish, or count
// for more than they are.
func TestSumOfTinyTails(t *testing.T) {
	for _, share := range []float64{0.25, 0.75} {
		const q0 = 0x1p-13
		q := share * 0x1p-65
		lower, upper := one, one
		lower.timesOneMinusDown(q0)
		upper.timesOneMinusUp(q0)
		truth := newBig().Sub(bigOf(1), bigOf(q0))
		for range 20000 {
			lower.timesOneMinusDown(q)
			upper.timesOneMinusUp(q)
			truth.Mul(truth, newBig().Sub(bigOf(1), bigOf(q)))
		}
		if !isLower(productValue(lower), truth) || !isUpper(productValue(upper), truth) {
			t.Errorf("share %v: %+v, %+v do not bracket", share, lower, upper)
		}
	}
}

// TestJoin joins exact products.
func TestJoin(t *testing.T) {
	r := newRand(t, 21)
	for range 2000 {
		a, b := product{0.5 + 0.5*r.Float64(), -r.IntN(50), 0}, product{0.5 + 0.5*r.Float64(), -r.IntN(50), 0}
		truth := newBig().Mul(productValue(a), productValue(b))
		lower := a
		lower.joinDown(b)
		if productValue(lower).Cmp(truth) > 0 {
			t.Errorf("%+v * %+v: %+v is above", a, b, lower)
		}
		a.sum, b.sum = r.Float64(), r.Float64()*1e-17
		lower = a
		lower.joinDown(b)
		exact := newBig().Add(bigOf(a.sum), bigOf(b.sum))
		if bigOf(lower.sum).Cmp(exact) < 0 {
			t.Errorf("sums of %+v and %+v: %x", a, b, lower.sum)
		}
	}
}

// TestSumDown adds terms whose sum is rounded at every step.
func TestSumDown(t *testing.T) {
	r := newRand(t, 22)
	for range 2000 {
		terms, truth := make([]float64, 1+r.IntN(20)), new(big.Float).SetPrec(1400)
		for i := range terms {
			terms[i] = math.Exp(-40 * r.Float64())
			truth.Add(truth, bigOf(terms[i]))
		}
		got := bigOf(sumDown(terms))
		if got.Cmp(truth) > 0 || relative(got, truth) > 1e-14 {
			t.Errorf("%x: sum %s, truth %s", terms, got.Text('g', 20), truth.Text('g', 20))
		}
	}
}
