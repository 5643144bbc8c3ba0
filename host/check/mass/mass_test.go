package mass

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/host/arith"
	"psafe/host/check/relax"
	"psafe/host/prove/probability"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testscale"
)

// bigTail is Q(z) for a rational z >= 0, within 2^-300 relative, by Phi's power series: all terms
// are positive, and 1/2 - C loses 1.5 z^2 bits, of which there are more.
func bigTail(z *big.Rat) *big.Float {
	f, _ := z.Float64()
	prec := uint(400 + 1.6*f*f)
	number := func(n int64) *big.Float { return new(big.Float).SetPrec(prec).SetInt64(n) }
	x := number(0).SetRat(new(big.Rat).Mul(z, z))
	half := number(0).Quo(x, number(2))
	sum, term := number(1), number(1)
	e, power := number(1), number(1) // e^(z^2/2)
	for n := int64(1); term.Sign() > 0 && term.MantExp(nil) > -int(prec); n++ {
		term.Quo(term.Mul(term, x), number(2*n+1))
		sum.Add(sum, term)
		power.Quo(power.Mul(power, half), number(n))
		e.Add(e, power)
	}
	c := number(0).Mul(sum, number(0).SetRat(z))
	c.Quo(c, e)
	c.Quo(c, number(0).Sqrt(number(0).Mul(number(2), bigPiTo(prec))))
	return c.Sub(big.NewFloat(0.5), c)
}

// bigPiTo is pi by Machin's formula, of 8,000 bits, or as many as are asked for.
var bigPiTo = func() func(uint) *big.Float {
	const prec = 8000
	number := func(n int64) *big.Float { return new(big.Float).SetPrec(prec).SetInt64(n) }
	series := func(n, f int64) *big.Float {
		total, power := number(0), number(0).Quo(number(f), number(n))
		for i := int64(1); power.MantExp(nil) > -prec; i += 2 {
			total.Add(total, number(0).Quo(power, number(i)))
			power.Quo(power, number(-n*n))
		}
		return total
	}
	pi := number(0).Sub(series(5, 16), series(239, 4))
	return func(prec uint) *big.Float { return new(big.Float).SetPrec(prec).Set(pi) }
}()

func boxOfEnds(lo, hi []float64) *relax.WeightBox {
	n := len(lo) - 1
	return &relax.WeightBox{Lo: [][]float64{lo[:n], lo[n:]}, Hi: [][]float64{hi[:n], hi[n:]}}
}

// TestMassAgainstMeasure: what certify says a box holds is claimed by the checker too.
func TestMassAgainstMeasure(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	for range testscale.Cases(t, 3000) {
		n := 2 + rng.IntN(1<<rng.IntN(9))
		mean, sdLo, sdHi, lo, hi := checktest.RandomBox(rng, n, rng.IntN(2) == 0)
		logP := probability.LogMassDown(lo, hi, mean, sdLo, sdHi)
		c := allWeights(checktest.OneLayer(mean, sdLo, sdHi)).chanceOf(lo, hi)
		if math.IsInf(logP, -1) {
			continue
		}
		p := arith.ExpDown(logP)
		if !c.Reaches(checktest.Exactly(p)) {
			t.Fatalf("%d weights: certify has %v, check %v", n, p, c.Float())
		}
		if l := arith.Log10Down(logP); !c.ReachesLog10(checktest.Exactly(l)) {
			t.Fatalf("%d weights: certify has log10 %v, check %v", n, l, c.Log10Approx())
		}
		if !(c.Log10Approx() <= logP/math.Ln10*(1-1e-9)+1e-9) {
			t.Fatalf("%d weights: certify has log10 %v, check %v", n, logP/math.Ln10, c.Log10Approx())
		}
	}
}

// TestMassExact: a mass is a lower bound, and no more than a few units off, against tails
// of 4,000 bits.
func TestMassExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(25, 26))
	for range testscale.Cases(t, 300) {
		mean, _, sd, lo, hi := checktest.RandomBox(rng, 2+rng.IntN(4), true)
		exact := big.NewFloat(1).SetPrec(4000)
		lost := 1.0 // the largest tail beside a factor
		for j := range mean {
			f := exactFactor(lo[j], hi[j], mean[j], sd[j])
			if v, _ := f.Float64(); v > 0 {
				lost = max(lost, 1/v)
			}
			exact.Mul(exact, f)
		}
		got := allWeights(checktest.OneLayer(mean, sd, sd)).chanceOf(lo, hi).Value()
		if got.Cmp(exact) > 0 {
			t.Fatalf("mass %v is above the exact one %v", got, exact)
		}
		enough := new(big.Float).Mul(exact, big.NewFloat(1-1e-13))
		if lost < 100 && got.Cmp(enough) < 0 {
			t.Fatalf("mass %v is far below the exact one %v", got, exact)
		}
	}
}

// TestMassOfSpreads: a mass is a lower bound for every standard deviation of an interval.
func TestMassOfSpreads(t *testing.T) {
	rng := rand.New(rand.NewPCG(29, 30))
	for range testscale.Costly(t, 200) {
		mean, sdLo, sdHi, lo, hi := checktest.RandomBox(rng, 2, true)
		for j := range sdLo {
			sdLo[j] *= rng.Float64()
		}
		got := allWeights(checktest.OneLayer(mean, sdLo, sdHi)).chanceOf(lo, hi).Value()
		for range 4 {
			exact := big.NewFloat(1).SetPrec(4000)
			for j := range mean {
				exact.Mul(exact, exactFactor(lo[j], hi[j], mean[j], checktest.In(rng, sdLo[j], sdHi[j])))
			}
			if got.Cmp(exact) > 0 {
				t.Fatalf("mass %v is above that of some spreads, %v", got, exact)
			}
		}
	}
}

// exactFactor is P(lo <= N(mean, sd^2) <= hi).
func exactFactor(lo, hi, mean, sd float64) *big.Float {
	if sd == 0 {
		if lo <= mean && mean <= hi {
			return big.NewFloat(1)
		}
		return new(big.Float)
	}
	// upper is P(N > x).
	upper := func(x float64) *big.Float {
		if math.IsInf(x, 1) {
			return new(big.Float).SetPrec(4000)
		}
		if math.IsInf(x, -1) {
			return big.NewFloat(1).SetPrec(4000)
		}
		z := new(big.Rat).Sub(checktest.Exactly(x), checktest.Exactly(mean))
		z.Quo(z, checktest.Exactly(sd))
		if f, _ := z.Float64(); f > 70 {
			return new(big.Float).SetPrec(4000)
		} else if f < -70 {
			return big.NewFloat(1).SetPrec(4000)
		}
		if z.Sign() >= 0 {
			return bigTail(z)
		}
		return new(big.Float).SetPrec(4000).Sub(big.NewFloat(1), bigTail(z.Neg(z)))
	}
	return new(big.Float).SetPrec(4000).Sub(upper(lo), upper(hi))
}
