package check

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	net "psafe/host/model/network"
	"psafe/internal/testscale"
)

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
	e := bigExp(newBig().SetFloat64(math.Abs(t))) // e^-|t|
	one := newBig().SetInt64(1)
	switch {
	case a.Kind == net.Softplus: // max(t, 0) + 2 atanh(e/(2+e))
		sum := newBig().SetFloat64(max(t, 0))
		return sum.Add(sum, bigAtanh2(newBig().Quo(e, newBig().Add(big.NewFloat(2), e))))
	case a.Kind == net.ELU && t >= 0:
		return newBig().SetFloat64(t)
	case a.Kind == net.ELU:
		return newBig().Mul(newBig().SetFloat64(a.Slope), newBig().Sub(e, one))
	}
	if t >= 0 {
		return newBig().Quo(one, newBig().Add(one, e))
	}
	return newBig().Quo(e, newBig().Add(one, e))
}

// bigAtanh2 is 2 atanh(z) for 0 <= z <= 1/3.
func bigAtanh2(z *big.Float) *big.Float {
	total, power, square := newBig(), newBig().Add(z, z), newBig().Mul(z, z)
	for i := 1.0; power.Sign() > 0 && power.MantExp(nil) > -420; i += 2 {
		total.Add(total, newBig().Quo(power, newBig().SetFloat64(i)))
		power.Mul(power, square)
	}
	return total
}

// at is a t + b, exactly.
func (l line) at(t float64) *big.Float {
	v := newBig().Mul(big.NewFloat(l.a), big.NewFloat(t))
	return v.Add(v, big.NewFloat(l.b))
}

// TestRelax: lines enclose the activation at random points, at the ends and where they touch
// nearly, and do so tightly at one of them.
func TestRelax(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	for n := range testscale.Cases(t, 6000) {
		act := activations[n%len(activations)]
		size := math.Exp(rng.NormFloat64() * 3)
		l := rng.NormFloat64() * size
		u := l + math.Abs(rng.NormFloat64())*size
		switch rng.IntN(8) {
		case 0:
			l, u = -size, size // a tie
		case 1:
			u = l
		case 2:
			u = math.Nextafter(l, inf)
		}
		by := choice{try: uint64(rng.IntN(3))}
		lower, upper := relax(act, l, u, &by)
		closest := [2]float64{inf, inf}
		for i := range 40 {
			x := min(u, l+(u-l)*rng.Float64())
			if i < 2 {
				x = []float64{l, u}[i]
			}
			v := exactValue(act, x)
			under, over := newBig().Sub(v, lower.at(x)), newBig().Sub(upper.at(x), v)
			if _, kinked := act.Kinked(); !kinked { // the oracle's error
				by := newBig().Mul(newBig().SetFloat64(1+math.Abs(x)), newBig().SetMantExp(bigUnit, -280))
				under.Add(under, by)
				over.Add(over, by)
			}
			if under.Sign() < 0 || over.Sign() < 0 {
				t.Fatalf("%v on [%v, %v]: lines %v and %v do not enclose %v at %v", act, l, u, lower, upper, v, x)
			}
			a, _ := under.Float64()
			b, _ := over.Float64()
			closest[0], closest[1] = min(closest[0], a), min(closest[1], b)
		}
		width, _ := newBig().Sub(exactValue(act, u), exactValue(act, l)).Float64()
		if most := 0.5*width + 1e-12; closest[0] > most || closest[1] > most {
			t.Fatalf("%v on [%v, %v]: lines %v and %v are %v away, the values are within %v", act, l, u, lower, upper, closest, width)
		}
	}
}

// TestRelaxUnknown: intervals without an end make lines that prove nothing, or constants.
func TestRelaxUnknown(t *testing.T) {
	for _, act := range activations {
		for _, ends := range [][2]float64{{-inf, 1}, {-1, inf}, {-inf, inf}} {
			lower, upper := relax(act, ends[0], ends[1], &choice{})
			for _, x := range []float64{-1e30, -1, 0, 1, 1e30} {
				if x < ends[0] || x > ends[1] {
					continue
				}
				v := act.Approx(x)
				if lower.a*x+lower.b > v+1e-9*math.Abs(v) || upper.a*x+upper.b < v-1e-9*math.Abs(v) {
					t.Errorf("%v on %v: %v, %v at %v", act, ends, lower, upper, x)
				}
			}
		}
	}
}

func TestValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	for n := range testscale.Cases(t, 6000) {
		act := activations[n%len(activations)]
		x := rng.NormFloat64() * math.Exp(rng.NormFloat64()*4)
		lo, hi, v := valueDown(act, x), valueUp(act, x), exactValue(act, x)
		if big.NewFloat(lo).Cmp(v) > 0 || big.NewFloat(hi).Cmp(v) < 0 {
			t.Fatalf("%v(%v) = %v is outside of [%v, %v]", act, x, v, lo, hi)
		}
		if hi-lo > 4*unit*(1+math.Abs(x)) {
			t.Fatalf("%v(%v) in [%v, %v]", act, x, lo, hi)
		}
	}
	for _, x := range []float64{-inf, -1e300, 1e300, inf} {
		for _, act := range activations {
			if lo, hi := valueDown(act, x), valueUp(act, x); !(lo <= hi) {
				t.Errorf("%v(%v) in [%v, %v]", act, x, lo, hi)
			}
		}
	}
}

// TestExpOf against 400 bits.
func TestExpOf(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 36))
	for range testscale.Cases(t, 3000) {
		y := dd{-math.Exp(rng.NormFloat64()*5 + 1), 0}
		y.hi = max(y.hi, -1e6)
		y.lo = y.hi * 0x1p-54 * rng.Float64()
		v, k := expOf(y)
		got := newBig().Add(big.NewFloat(v.hi), big.NewFloat(v.lo))
		got.SetMantExp(got, k)
		exact := bigExp(newBig().Neg(newBig().Add(big.NewFloat(y.hi), big.NewFloat(y.lo))))
		apart := newBig().Quo(got, exact)
		if f, _ := apart.Sub(apart, bigUnit).Float64(); math.Abs(f) > expErr {
			t.Fatalf("expOf(%v) is %v off", y, f)
		}
	}
}
