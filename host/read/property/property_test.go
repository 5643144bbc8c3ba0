package property

import (
	"math"
	"math/rand/v2"
	"testing"
)

// values returns what the rows say at exact logits: coefficients are float64 here.
func values(s Safe, y []float64) []float64 {
	v := make([]float64, len(s.Rows))
	for r, row := range s.Rows {
		v[r] = row.D
		for i, c := range row.CLo {
			if c != row.CHi[i] {
				panic("a coefficient that is no float64")
			}
			v[r] += c * y[i]
		}
	}
	return v
}

// TestArgmaxMeansArgmax compares both sets with their definition, on small integer
// logits, where ties are frequent.
func TestArgmaxMeansArgmax(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 5000 {
		y := make([]float64, 2+r.IntN(4))
		for i := range y {
			y[i] = float64(r.IntN(3))
		}
		c := r.IntN(len(y))
		is, never := true, false
		for j := range y {
			is = is && y[c] >= y[j]
			never = never || j != c && y[j] >= y[c]
		}
		for _, s := range []struct {
			name string
			set  Safe
			want bool
		}{{"argmax_is", ArgmaxIs(c, len(y)), is}, {"argmax_is_never", ArgmaxIsNever(c, len(y)), never}} {
			v := values(s.set, y)
			if got := s.set.Holds(v); got != s.want || s.set.MarginLo(v) >= 0 != s.want {
				t.Errorf("%s:%d at %v: %v, margin %v, want %v", s.name, c, y, got, s.set.MarginLo(v), s.want)
			}
		}
	}
}

// TestHoldsFailsClosed: a bound that is NaN proves nothing, and a task without
// alternatives has no safe logits.
func TestHoldsFailsClosed(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	rows := make([]Row, 3)
	for _, c := range []struct {
		any    [][]int
		lo     []float64
		margin float64
	}{
		{[][]int{{0, 1}}, []float64{1, nan, 0}, -inf},
		{[][]int{{0, 1}}, []float64{nan, 1, 0}, -inf},
		{[][]int{{0, 1}}, []float64{inf, 2, nan}, 2},
		{[][]int{{0}, {1}}, []float64{nan, 3, nan}, 3},
		{[][]int{{0}, {1}}, []float64{3, nan, nan}, 3},
		{[][]int{{0}, {1, 2}}, []float64{-1, -2, 5}, -1},
		{[][]int{{0}}, []float64{-inf, 1, 1}, -inf},
		{[][]int{{0}}, []float64{math.Copysign(0, -1), 1, 1}, 0},
		{nil, []float64{1, 1, 1}, -inf},
		{[][]int{{}}, []float64{nan, nan, nan}, inf},
	} {
		s := Safe{Rows: rows, Any: c.any}
		if got := s.MarginLo(c.lo); got != c.margin || s.Holds(c.lo) != (c.margin >= 0) {
			t.Errorf("%v of %v: margin %v, holds %v; want margin %v", c.any, c.lo, got, s.Holds(c.lo), c.margin)
		}
	}
	wantPanic(t, func() { s := Safe{Rows: rows}; s.Holds([]float64{1}) }, "1 bounds for 3 rows")
}

// TestBallOfInterval: a point that is known only to lie in an interval.
func TestBallOfInterval(t *testing.T) {
	eps := Decimal{0.125, 0.25}
	b, err := BallLinf([]float64{0.5, -1}, []float64{0.75, 3}, eps, nil)
	if err != nil || b.Lo[0] != 0.25 || b.Hi[0] != 1 || b.Lo[1] != -1.25 || b.Hi[1] != 3.25 {
		t.Errorf("%v, %v", b, err)
	}
	b, err = BallLinf([]float64{0.5}, []float64{0.75}, eps, &[2]Decimal{{0.3125, 0.375}, {0.8125, 0.875}})
	if err != nil || b.Lo[0] != 0.3125 || b.Hi[0] != 0.875 {
		t.Errorf("%v, %v", b, err)
	}
}
