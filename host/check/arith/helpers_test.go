package arith

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	net "psafe/host/model/network"
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
		if hi-lo > 4*Unit*(1+math.Abs(x)) {
			t.Fatalf("%v(%v) in [%v, %v]", act, x, lo, hi)
		}
	}
	for _, x := range []float64{-Inf, -1e300, 1e300, Inf} {
		for _, act := range activations {
			if lo, hi := ValueDown(act, x), ValueUp(act, x); !(lo <= hi) {
				t.Errorf("%v(%v) in [%v, %v]", act, x, lo, hi)
			}
		}
	}
}

// TestExpOf against 400 bits.
func TestExpOf(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 36))
	for range testscale.Cases(t, 3000) {
		y := DD{-math.Exp(rng.NormFloat64()*5 + 1), 0}
		y.Hi = max(y.Hi, -1e6)
		y.Lo = y.Hi * 0x1p-54 * rng.Float64()
		v, k := ExpOf(y)
		got := NewBig().Add(big.NewFloat(v.Hi), big.NewFloat(v.Lo))
		got.SetMantExp(got, k)
		exact := BigExp(NewBig().Neg(NewBig().Add(big.NewFloat(y.Hi), big.NewFloat(y.Lo))))
		apart := NewBig().Quo(got, exact)
		if f, _ := apart.Sub(apart, BigUnit).Float64(); math.Abs(f) > expErr {
			t.Fatalf("expOf(%v) is %v off", y, f)
		}
	}
}

// TestEnclosedOperations: members' results are members.
func TestEnclosedOperations(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 28))
	in := func(what string, x *big.Rat, v Interval) {
		t.Helper()
		if math.IsInf(v.Lo, 0) || math.IsInf(v.Hi, 0) {
			return
		}
		if exactly(v.Lo).Cmp(x) > 0 || exactly(v.Hi).Cmp(x) < 0 {
			t.Fatalf("%s: %v is not in %v", what, x.FloatString(40), v)
		}
	}
	member := func(v Interval) float64 { return [3]float64{v.Lo, v.Hi, Middle(v.Lo, v.Hi)}[rng.IntN(3)] }
	for range 20000 {
		wide := []int{1, 30, 300}[rng.IntN(3)]
		a, b := Point(anyFloat(rng, wide)), Point(anyFloat(rng, wide))
		if rng.IntN(2) == 0 {
			a.Hi = max(a.Lo, anyFloat(rng, wide))
			b.Hi = max(b.Lo, anyFloat(rng, wide))
		}
		x, y := exactly(member(a)), exactly(member(b))
		in("plus", new(big.Rat).Add(x, y), a.Plus(b))
		in("minus", new(big.Rat).Sub(x, y), a.Minus(b))
		in("times", new(big.Rat).Mul(x, y), a.Times(b))
		in("size", new(big.Rat).Abs(x), a.Size())
		if b = b.Size(); b.Lo > 0 {
			in("over", new(big.Rat).Quo(x, exactly(member(b))), a.Over(b))
		}
		square := a.Size()
		r := square.Root()
		if exactly(r.Lo).Mul(exactly(r.Lo), exactly(r.Lo)).Cmp(exactly(square.Lo)) > 0 || exactly(r.Hi).Mul(exactly(r.Hi), exactly(r.Hi)).Cmp(exactly(square.Hi)) < 0 {
			t.Fatalf("root of %v is not in %v", square, r)
		}
	}
}

var activations = []net.Activation{
	{Kind: net.Identity}, {Kind: net.ReLU}, {Kind: net.LeakyReLU, Slope: 0.1}, {Kind: net.Tanh}, {Kind: net.Sigmoid},
	{Kind: net.Softplus}, {Kind: net.ELU, Slope: 1}, {Kind: net.ELU, Slope: 0.3},
}

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
	e := BigExp(NewBig().SetFloat64(math.Abs(t))) // e^-|t|
	one := NewBig().SetInt64(1)
	switch {
	case a.Kind == net.Softplus: // max(t, 0) + 2 atanh(e/(2+e))
		sum := NewBig().SetFloat64(max(t, 0))
		return sum.Add(sum, bigAtanh2(NewBig().Quo(e, NewBig().Add(big.NewFloat(2), e))))
	case a.Kind == net.ELU && t >= 0:
		return NewBig().SetFloat64(t)
	case a.Kind == net.ELU:
		return NewBig().Mul(NewBig().SetFloat64(a.Slope), NewBig().Sub(e, one))
	}
	if t >= 0 {
		return NewBig().Quo(one, NewBig().Add(one, e))
	}
	return NewBig().Quo(e, NewBig().Add(one, e))
}

// bigAtanh2 is 2 atanh(z) for 0 <= z <= 1/3.
func bigAtanh2(z *big.Float) *big.Float {
	total, power, square := NewBig(), NewBig().Add(z, z), NewBig().Mul(z, z)
	for i := 1.0; power.Sign() > 0 && power.MantExp(nil) > -420; i += 2 {
		total.Add(total, NewBig().Quo(power, NewBig().SetFloat64(i)))
		power.Mul(power, square)
	}
	return total
}
