package oracle

import (
	"math"
	"math/big"
	"testing"
)

// TestOracle checks the oracle against itself where its two expansions meet
// and against tabulated digits of Q(1) (Abramowitz & Stegun, table 26.1) and e^-1.
func TestOracle(t *testing.T) {
	below, above := Tail(Of(math.Nextafter(5, 0))), Tail(Of(5))
	// Q falls by phi(5) 2^-50.x between the two.
	gap := New().Sub(below, above)
	want := ExpNeg(Of(12.5))
	want.Mul(want.Mul(want, Phi), Of(5-math.Nextafter(5, 0)))
	if r := Relative(gap, want); r > 1e-14 {
		t.Errorf("series and continued fraction disagree at 5: gap off by %g", r)
	}
	for _, c := range []struct {
		got  *big.Float
		want string
	}{
		{Tail(Of(1)), "0.15865525393145705141"},
		{ExpNeg(Of(1)), "0.36787944117144232159552377"},
	} {
		if s := c.got.Text('f', len(c.want)-2); s != c.want {
			t.Errorf("oracle gives %s, tables %s", s, c.want)
		}
	}
}
