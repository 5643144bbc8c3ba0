package slack

import (
	"math/big"
	"testing"
)

// TestGridUp: what is claimed to fail is more than what grids show, by the factor and the points that
// stand there, rounded up.
func TestGridUp(t *testing.T) {
	for _, c := range []struct {
		failUp          float64
		points, neurons int
		factor, more    *big.Rat
	}{
		{0.1, 7, 63, big.NewRat(104, 100), big.NewRat(35, 1000000)},
		{1e-9, 4096, 1, big.NewRat(104, 100), big.NewRat(20480, 1000000)},
		{0.1, 7, 64, big.NewRat(104, 100), new(big.Rat)},
		{0, 1, 200, big.NewRat(104, 100), new(big.Rat)},
	} {
		exact := new(big.Rat).SetFloat64(c.failUp)
		exact.Add(exact.Mul(exact, c.factor), c.more)
		got := new(big.Rat).SetFloat64(GridUp(c.failUp, c.points, c.neurons))
		if above := got.Sub(got, exact); above.Sign() <= 0 || above.Cmp(big.NewRat(1, 1e15)) > 0 {
			t.Errorf("%+v: %v above that", c, above.FloatString(20))
		}
	}
}

// TestPredictive: what is claimed of a probability is less than what is proved, by the share and the
// number that stand there, rounded to the side that claims less.
func TestPredictive(t *testing.T) {
	for _, p := range []float64{-1, 0, 1e-20, 0.3, 0.999, 1} {
		exact := new(big.Rat).SetFloat64(p)
		kept := func(missing *big.Rat) *big.Rat {
			m := new(big.Rat).Mul(missing, big.NewRat(1, 512))
			return m.Add(m, big.NewRat(1, 1<<40))
		}
		down := new(big.Rat).Sub(exact, kept(new(big.Rat).Sub(big.NewRat(1, 1), exact)))
		if off := down.Sub(down, new(big.Rat).SetFloat64(PredictiveDown(p))); off.Sign() <= 0 || off.Cmp(big.NewRat(1, 1e15)) > 0 {
			t.Errorf("%v: %v below", p, off.FloatString(20))
		}
		if p < 0 {
			continue
		}
		up := new(big.Rat).Add(exact, kept(exact))
		if up.Cmp(big.NewRat(1, 1)) > 0 {
			up.SetInt64(1)
		}
		if off := up.Sub(new(big.Rat).SetFloat64(PredictiveUp(p)), up); off.Sign() < 0 || off.Cmp(big.NewRat(1, 1e15)) > 0 {
			t.Errorf("%v: %v above", p, off.FloatString(20))
		}
	}
}
