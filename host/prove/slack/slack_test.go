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
		{0.1, 7, 63, big.NewRat(13, 10), big.NewRat(14, 100000)},
		{1e-9, 4096, 1, big.NewRat(13, 10), big.NewRat(8192, 100000)},
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
