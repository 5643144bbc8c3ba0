package fallback_test

import (
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
)

// TestSharedVarIsNotIndependent: the mean over 16 positions of one weight with variance 1/4 times 1
// has that variance, and not a sixteenth of it, as 16 weights would have; differences of positions
// have none. The factors come from BackSubstitute, as in propagation.
func TestSharedVarIsNotIndependent(t *testing.T) {
	const positions, rows = 16, 2
	for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
		d := fallback.New(p)
		array := func(v ...float64) bound.Array {
			a, err := d.NewArray(len(v))
			if err == nil {
				err = d.Write(a, v)
			}
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		zeros := array(make([]float64, positions)...)
		var a, ones []float64
		for q := range positions {
			a, ones = append(a, 1./16, float64(1-q%2*2)/16), append(ones, 1)
		}
		z, rowsA := array(ones...), array(a...)
		g, variance := bound.Interval{Lo: array(0, 0), Hi: array(0, 0)}, array(0, 0)
		unused := array(0, 0)
		if err := d.Do(bound.BackSubstitute{S: g, C: unused, A: rowsA, CIn: array(0, 0), W: bound.Interval{Lo: z, Hi: z},
			B: bound.Interval{Lo: zeros, Hi: zeros}, PerBox: 1, P: 1, R: rows, In: 1, Out: positions}); err != nil {
			t.Fatal(err)
		}
		if err := d.Do(bound.SharedVar{Var: variance, G: g, A: rowsA, V: array(0.25), VB: array(0), MaxSq: array(1), P: 1, R: rows, Cols: rows,
			In: 1, Inputs: 1, Positions: positions, K: 1, Channels: 1, Round: p.SharedRounding(positions, 1, 1)}); err != nil {
			t.Fatal(err)
		}
		got := make([]float64, rows)
		if err := d.Read(got, variance); err != nil {
			t.Fatal(err)
		}
		if !(got[0] >= 0.25 && got[0] < 0.25*(1+400*p.Unit())) {
			t.Errorf("%v: variance of the mean is %v, want 1/4", p, got[0])
		}
		if !(got[1] >= 0 && got[1] < 0x1p10*p.Unit()*p.Unit()) {
			t.Errorf("%v: variance of what cancels is %v, want about 0", p, got[1])
		}
	}
}
