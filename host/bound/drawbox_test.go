package bound

import "testing"

// TestBoxEnds: explicit boxes, worked out by hand.
func TestBoxEnds(t *testing.T) {
	for _, c := range []struct{ centreLo, centreHi, unit, gamma, n, lo, hi float64 }{
		{1, 1, 0.5, 2, 0, 0, 2},
		{1, 1, 0.5, 2, -3, -1.5, 0.5},
		{-1, 1, 0, 7, 5, -1, 1},
		{0.25, 0.25, 0.125, 0, 1, 0.375, 0.375},
	} {
		lo, hi := BoxEnds(c.centreLo, c.centreHi, c.unit, c.gamma, c.n)
		lo32, hi32 := BoxEnds(float32(c.centreLo), float32(c.centreHi), float32(c.unit), float32(c.gamma), float32(c.n))
		if lo != c.lo || hi != c.hi || float64(lo32) != c.lo || float64(hi32) != c.hi {
			t.Errorf("BoxEnds%v is [%v, %v] and [%v, %v]", c, lo, hi, lo32, hi32)
		}
	}
}
