package devicetest

import (
	"math"
	"testing"
)

// TestCompare: the comparison of RunAgainst sees one unit in the last place and
// the sign of a zero, and no difference between NaNs.
func TestCompare(t *testing.T) {
	nan2 := math.Float64frombits(math.Float64bits(math.NaN()) ^ 1<<63)
	zero := math.Copysign(0, -1)
	for _, c := range []struct {
		a, b float64
		same bool
	}{
		{1, 1, true}, {1, 1 + 0x1p-52, false}, {math.NaN(), nan2, true},
		{math.NaN(), math.Inf(-1), false}, {0, zero, false},
	} {
		got := compare([]output{{"x", []float64{0, c.a}}}, []output{{"x", []float64{0, c.b}}})
		if (got == "") != c.same {
			t.Errorf("%x and %x: %q", c.a, c.b, got)
		}
	}
}

// TestOracle holds the enclosures of the sigmoid to the standard library, and to
// each other at neighbouring points.
func TestOracle(t *testing.T) {
	for _, x := range []float64{0, 1e-300, 1, -1, 0.5, 20, -20, 36.5, 700, -700, 1400, 1e300, -1e300} {
		s := sigmoid(point(x))
		lo, _ := s.lo.Float64()
		hi, _ := s.hi.Float64()
		want := 1 / (1 + math.Exp(-x))
		if s.lo.Cmp(s.hi) > 0 || math.Abs(lo-want) > 1e-15 || math.Abs(hi-want) > 1e-15 {
			t.Errorf("sigmoid(%v) is in [%v, %v], want %v", x, lo, hi, want)
		}
	}
}
