package arith

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// bigExp is e^x within 2^-290.
func bigExp(x float64) *big.Float {
	if x <= 0 {
		return BigExp(NewBig().SetFloat64(-x))
	}
	return NewBig().Quo(BigUnit, BigExp(NewBig().SetFloat64(x)))
}

// bigSoftmax is 1/(1 + sum e^-t).
func bigSoftmax(t ...float64) *big.Float {
	sum := NewBig().SetInt64(1)
	for _, x := range t {
		sum.Add(sum, bigExp(-x))
	}
	return NewBig().Quo(BigUnit, sum)
}

// TestSoftmaxExactly: bounds of the softmax are below and above it, by a few roundings at most.
func TestSoftmaxExactly(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 1))
	within := func(name string, got float64, exact *big.Float, up bool, at any) {
		t.Helper()
		off := NewBig().Sub(NewBig().SetFloat64(got), exact)
		if up {
			off.Neg(off)
		}
		if most := math.Abs(toFloat(exact))*1e-14 + 1e-15; off.Sign() > 0 || -toFloat(off) > most {
			t.Errorf("%s at %v: %v, %v beside %v", name, at, got, off, exact)
		}
	}
	for range 300 {
		m := make([]float64, 1+r.IntN(5))
		for k := range m {
			m[k] = r.NormFloat64() * math.Exp(4*r.NormFloat64())
			m[k] = min(max(m[k], -600), 600)
		}
		s := bigSoftmax(m...)
		down := SoftmaxDown(m)
		within("SoftmaxDown", down, s, false, m)
		within("SigmoidUp", SigmoidUp(m[0]), bigSoftmax(-m[0]), true, m[0])
		// The gap is s (1 - e^-t), or (e^t - 1)/(e^t + 1).
		y := bigExp(-math.Abs(m[0]))
		gap := NewBig().Sub(BigUnit, y)
		if m[0] >= 0 {
			gap.Mul(gap, s)
		} else {
			gap.Quo(gap.Neg(gap), NewBig().Add(BigUnit, y))
		}
		within("SoftmaxGapDown", SoftmaxGapDown(down, m[0]), gap, false, m)
	}
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct{ got, want float64 }{
		{SoftmaxDown([]float64{nan}), 0}, {SoftmaxDown([]float64{5, -inf}), 0}, {SigmoidUp(nan), 1}, {SigmoidUp(-inf), 1},
		{SoftmaxGapDown(1, nan), -1}, {SoftmaxGapDown(0.5, -inf), -1}, {SoftmaxDown(nil), 1},
	} {
		if math.Abs(c.got-c.want) > 1e-15 {
			t.Errorf("%v, want %v", c.got, c.want)
		}
	}
}

func toFloat(x *big.Float) float64 { f, _ := x.Float64(); return f }
