package arith

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestInterval compares interval arithmetic with rational numbers, with no tolerance.
func TestInterval(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 1))
	rat := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	holds := func(what string, got Interval, want *big.Rat) {
		t.Helper()
		if rat(got.Lo).Cmp(want) > 0 || rat(got.Hi).Cmp(want) < 0 {
			t.Errorf("%s: %v does not hold %v", what, got, want)
		}
	}
	for range 3000 {
		a, b := r.NormFloat64()*math.Exp(9*r.NormFloat64()), r.NormFloat64()
		x := Of(a, a+math.Abs(r.NormFloat64())*float64(r.IntN(2)))
		y := Of(b, b+math.Abs(r.NormFloat64())*float64(r.IntN(2)))
		for _, p := range []float64{x.Lo, x.Hi} {
			for _, q := range []float64{y.Lo, y.Hi} {
				holds("+", x.Plus(y), new(big.Rat).Add(rat(p), rat(q)))
				holds("-", x.Minus(y), new(big.Rat).Sub(rat(p), rat(q)))
				holds("*", x.Times(y), new(big.Rat).Mul(rat(p), rat(q)))
				if y.Lo > 0 {
					holds("/", x.Over(y), new(big.Rat).Quo(rat(p), rat(q)))
				}
			}
			holds("square", x.Square(), new(big.Rat).Mul(rat(p), rat(p)))
		}
		if s := y.Square().Sqrt(); s.Lo > math.Abs(y.Lo) || s.Hi < math.Abs(y.Hi) {
			t.Errorf("sqrt of the square of %v is %v", y, s)
		}
	}
	for _, b := range []Interval{Of(0, 1), Of(-1, 1), Of(-2, -1), Of(math.NaN(), 1), {}} {
		if o := Of(1, 2).Over(b); o.Finite() {
			t.Errorf("[1, 2]/%v is %v", b, o)
		}
	}
	if (Of(math.NaN(), 1)).Finite() || (Of(1, math.Inf(1))).Finite() {
		t.Error("NaN or infinity is finite")
	}
}
