package network

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// expBig is e^x to 200 bits, |x| < 40.
func expBig(x float64) *big.Float {
	y := new(big.Float).SetPrec(200).SetMantExp(new(big.Float).SetPrec(200).SetFloat64(x), -16)
	sum, term := big.NewFloat(1).SetPrec(200), big.NewFloat(1).SetPrec(200)
	for i := 1; i < 30; i++ {
		term.Quo(term.Mul(term, y), new(big.Float).SetPrec(200).SetInt64(int64(i)))
		sum.Add(sum, term)
	}
	for range 16 {
		sum.Mul(sum, sum)
	}
	return sum
}

// TestValues compares bounds of values with 200-bit ones.
func TestValues(t *testing.T) {
	r := rand.New(rand.NewPCG(62, 1))
	one := big.NewFloat(1).SetPrec(200)
	for range 4000 {
		x := 12 * r.NormFloat64() * r.Float64()
		e := expBig(x)
		sigmoid := new(big.Float).Quo(e, new(big.Float).Add(one, e))
		e2 := new(big.Float).Mul(e, e)
		tanh := new(big.Float).Quo(new(big.Float).Sub(e2, one), new(big.Float).Add(e2, one))
		for kind, want := range map[Kind]*big.Float{Tanh: tanh, Sigmoid: sigmoid} {
			s := Activation{Kind: kind}
			lo, hi := s.ValueDown(x), s.ValueUp(x)
			if big.NewFloat(lo).Cmp(want) > 0 || big.NewFloat(hi).Cmp(want) < 0 || hi-lo > 1e-14 {
				t.Errorf("%v(%x) is not in [%x, %x] or loose: %v", Activation{Kind: kind}, x, lo, hi, want)
			}
		}
		soft := Activation{Kind: Softplus}
		lo, hi := soft.ValueDown(x), soft.ValueUp(x) // e^softplus(x) = 1 + e^x
		if sum := new(big.Float).Add(one, e); expBig(lo).Cmp(sum) > 0 || expBig(hi).Cmp(sum) < 0 || hi-lo > 2e-14 {
			t.Errorf("softplus(%x) is not in [%x, %x] or loose", x, lo, hi)
		}
		if elu := (Activation{Kind: ELU, Slope: 0.7}); x < 0 {
			want := new(big.Float).Mul(new(big.Float).Sub(e, one), new(big.Float).SetPrec(200).SetFloat64(0.7))
			lo, hi := elu.ValueDown(x), elu.ValueUp(x)
			if big.NewFloat(lo).Cmp(want) > 0 || big.NewFloat(hi).Cmp(want) < 0 || hi-lo > 1e-14 {
				t.Errorf("elu(%x) is not in [%x, %x] or loose: %v", x, lo, hi, want)
			}
		} else if elu.ValueDown(x) != x || elu.ValueUp(x) != x {
			t.Errorf("elu(%x) is not that", x)
		}
		leaky := Activation{Kind: LeakyReLU, Slope: 0.1}
		want := new(big.Rat).SetFloat64(x)
		if x < 0 {
			want.Mul(want, new(big.Rat).SetFloat64(0.1))
		}
		if new(big.Rat).SetFloat64(leaky.ValueDown(x)).Cmp(want) > 0 || new(big.Rat).SetFloat64(leaky.ValueUp(x)).Cmp(want) < 0 {
			t.Errorf("leaky relu of %x", x)
		}
	}
}

// TestValuesAtTheEnds: of NaN the bounds make NaN, of infinities they are bounds.
func TestValuesAtTheEnds(t *testing.T) {
	for _, a := range someActivations() {
		if lo, hi := a.ValueDown(math.NaN()), a.ValueUp(math.NaN()); !math.IsNaN(lo) || !math.IsNaN(hi) {
			t.Errorf("%v of NaN is from %v to %v", a, lo, hi)
		}
		if lo, hi := a.ValueDown(-inf), a.ValueUp(inf); !(lo <= 0 && hi >= 1-1e-9) || a.ValueUp(-inf) < a.ValueDown(-inf) || a.ValueUp(inf) < a.ValueDown(inf) {
			t.Errorf("%v is from %v to %v", a, lo, hi)
		}
	}
}
