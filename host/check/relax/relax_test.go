package relax

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/host/arith"
	net "psafe/host/model/network"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testscale"
)

// exactValue is an activation of a float64, within 2^-290.
func exactValue(a net.Activation, t float64) *big.Float {
	if _, kinked := a.Kinked(); kinked {
		return new(big.Float).SetPrec(400).SetRat(checktest.ValueOf(a, checktest.Exactly(t)))
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

// at is a t + b, exactly.
func (l Line) at(t float64) *big.Float {
	v := arith.NewBig().Mul(big.NewFloat(l.A), big.NewFloat(t))
	return v.Add(v, big.NewFloat(l.B))
}

// TestRelax: lines enclose the activation at random points, at the ends and where they touch
// nearly, and do so tightly at one of them.
func TestRelax(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	for n := range testscale.Cases(t, 6000) {
		act := checktest.Activations[n%len(checktest.Activations)]
		size := math.Exp(rng.NormFloat64() * 3)
		l := rng.NormFloat64() * size
		u := l + math.Abs(rng.NormFloat64())*size
		switch rng.IntN(8) {
		case 0:
			l, u = -size, size // a tie
		case 1:
			u = l
		case 2:
			u = math.Nextafter(l, arith.Inf)
		}
		if n < len(checktest.Activations) {
			l, u = -5, 20 // the ReLU's chord rounded to nearest is below 0 at l
		}
		by := Choice{Try: uint64(rng.IntN(3))}
		lower, upper := LinesAround(act, l, u, &by)
		closest := [2]float64{arith.Inf, arith.Inf}
		for i := range 40 {
			x := min(u, l+(u-l)*rng.Float64())
			if i < 2 {
				x = []float64{l, u}[i]
			}
			v := exactValue(act, x)
			under, over := arith.NewBig().Sub(v, lower.at(x)), arith.NewBig().Sub(upper.at(x), v)
			if _, kinked := act.Kinked(); !kinked { // the oracle's error
				by := arith.NewBig().Mul(arith.NewBig().SetFloat64(1+math.Abs(x)), arith.NewBig().SetMantExp(arith.BigUnit, -280))
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
		width, _ := arith.NewBig().Sub(exactValue(act, u), exactValue(act, l)).Float64()
		if most := 0.5*width + 1e-12; closest[0] > most || closest[1] > most {
			t.Fatalf("%v on [%v, %v]: lines %v and %v are %v away, the values are within %v", act, l, u, lower, upper, closest, width)
		}
	}
}

// TestRelaxUnknown: intervals without an end make lines that prove nothing, or constants.
func TestRelaxUnknown(t *testing.T) {
	for _, act := range checktest.Activations {
		for _, ends := range [][2]float64{{-arith.Inf, 1}, {-1, arith.Inf}, {-arith.Inf, arith.Inf}} {
			lower, upper := LinesAround(act, ends[0], ends[1], &Choice{})
			for _, x := range []float64{-1e30, -1, 0, 1, 1e30} {
				if x < ends[0] || x > ends[1] {
					continue
				}
				v := act.Approx(x)
				if lower.A*x+lower.B > v+1e-9*math.Abs(v) || upper.A*x+upper.B < v-1e-9*math.Abs(v) {
					t.Errorf("%v on %v: %v, %v at %v", act, ends, lower, upper, x)
				}
			}
		}
	}
}
