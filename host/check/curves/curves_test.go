package curves

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/host/arith"
	net "psafe/host/model/network"
	"psafe/internal/testkit/networktest"
	"psafe/internal/testscale"
)

func TestValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	for n := range testscale.Cases(t, 6000) {
		act := activations[n%len(activations)]
		x := rng.NormFloat64() * math.Exp(rng.NormFloat64()*4)
		lo, hi, v := ValueDown(act, x), ValueUp(act, x), exactValue(act, x)
		if big.NewFloat(lo).Cmp(v) > 0 || big.NewFloat(hi).Cmp(v) < 0 {
			t.Fatalf("%v(%v) = %v is outside of [%v, %v]", act, x, v, lo, hi)
		}
		if hi-lo > 4*arith.Unit*(1+math.Abs(x)) {
			t.Fatalf("%v(%v) in [%v, %v]", act, x, lo, hi)
		}
	}
	for _, x := range []float64{-arith.Inf, -1e300, 1e300, arith.Inf} {
		for _, act := range activations {
			if lo, hi := ValueDown(act, x), ValueUp(act, x); !(lo <= hi) {
				t.Errorf("%v(%v) in [%v, %v]", act, x, lo, hi)
			}
		}
	}
}

var activations = networktest.Activations(1, 0.1)

// valueOf is an activation of a rational: exact if it is kinked, else a float64's value and
// how far it may be off.
func valueOf(a net.Activation, t *big.Rat) *big.Rat {
	if below, kinked := a.Kinked(); kinked {
		if t.Sign() < 0 {
			return new(big.Rat).Mul(t, exactly(below))
		}
		return t
	}
	f, _ := t.Float64()
	return exactly(a.Approx(f))
}

// exactValue is an activation of a float64, within 2^-290.
func exactValue(a net.Activation, t float64) *big.Float {
	if _, kinked := a.Kinked(); kinked {
		return new(big.Float).SetPrec(400).SetRat(valueOf(a, exactly(t)))
	}
	if a.Kind == net.Tanh {
		s := exactValue(net.Activation{Kind: net.Sigmoid}, 2*t)
		s.Mul(s, big.NewFloat(2))
		return s.Sub(s, big.NewFloat(1))
	}
	e := arith.BigExp(arith.NewBig().SetFloat64(math.Abs(t))) // e^-|t|
	one := arith.NewBig().SetInt64(1)
	switch {
	case a.Kind == net.Softplus: // max(t, 0) + 2 atanh(e/(2+e))
		sum := arith.NewBig().SetFloat64(max(t, 0))
		return sum.Add(sum, bigAtanh2(arith.NewBig().Quo(e, arith.NewBig().Add(big.NewFloat(2), e))))
	case a.Kind == net.ELU && t >= 0:
		return arith.NewBig().SetFloat64(t)
	case a.Kind == net.ELU:
		return arith.NewBig().Mul(arith.NewBig().SetFloat64(a.Slope), arith.NewBig().Sub(e, one))
	}
	if t >= 0 {
		return arith.NewBig().Quo(one, arith.NewBig().Add(one, e))
	}
	return arith.NewBig().Quo(e, arith.NewBig().Add(one, e))
}

// bigAtanh2 is 2 atanh(z) for 0 <= z <= 1/3.
func bigAtanh2(z *big.Float) *big.Float {
	total, power, square := arith.NewBig(), arith.NewBig().Add(z, z), arith.NewBig().Mul(z, z)
	for i := 1.0; power.Sign() > 0 && power.MantExp(nil) > -420; i += 2 {
		total.Add(total, arith.NewBig().Quo(power, arith.NewBig().SetFloat64(i)))
		power.Mul(power, square)
	}
	return total
}

// exactly is x as a rational number.
func exactly(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

// TestValuesNextToNothing: values that are next to nothing are known relative to themselves.
func TestValuesNextToNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 35))
	for range 500 {
		for _, act := range activations {
			x := -150 * rng.Float64()
			switch act.Kind {
			case net.Tanh, net.ELU:
				x = math.Copysign(math.Exp(-60*rng.Float64()), -1)
				if act.Kind == net.Tanh && rng.IntN(2) == 0 {
					x = -x
				}
			case net.Sigmoid, net.Softplus:
			default:
				continue
			}
			lo, hi, v := ValueDown(act, x), ValueUp(act, x), exactValue(act, x)
			f, _ := v.Float64()
			if big.NewFloat(lo).Cmp(v) > 0 || big.NewFloat(hi).Cmp(v) < 0 || hi-lo > 0x1p-24*math.Abs(f) {
				t.Fatalf("%v(%v) = %v in [%v, %v]", act, x, v, lo, hi)
			}
		}
	}
	for _, x := range []float64{-800, -1e300, -arith.Inf} {
		if hi := ValueUp(net.Activation{Kind: net.Sigmoid}, x); !(hi > 0 && hi < 1e-300) {
			t.Errorf("sigmoid(%v) is at most %v", x, hi)
		}
	}
}
