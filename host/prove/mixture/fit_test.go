package mixture

import (
	"testing"
)

// TestMixtureFit: of two rows that fail together one is taken, of two of which each fails where
// the other does not half of each; whatever their number is, factors add up to 1.
func TestMixtureFit(t *testing.T) {
	at := func(values ...[]float64) point { return point{values: values} }
	for name, c := range map[string]struct {
		points [][]point
		want   []float64
	}{
		"one is better":    {[][]point{{at([]float64{3, 1}, []float64{4, 2})}}, []float64{1, 0}},
		"opposite":         {[][]point{{at([]float64{-1, 3}, []float64{3, -1})}}, []float64{0.5, 0.5}},
		"at other points":  {[][]point{{at([]float64{-1, 3}, []float64{-1, 3.5}), at([]float64{3, -1}, []float64{3.5, -1})}}, []float64{0.5, 0.5}},
		"in another box":   {[][]point{{at([]float64{-1, 3}, []float64{-1.5, 3})}, {at([]float64{3, -1}, []float64{3, -1.5})}}, nil},
		"without a spread": {[][]point{{at([]float64{2, 1}, []float64{2, 1})}}, nil},
	} {
		got := newMixtureFit([]int{0, 1}, c.points).best()
		if got[0]+got[1] != 1 || c.want != nil && (got[0] != c.want[0] || got[1] != c.want[1]) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	many := make([]int, 20)
	p := point{values: [][]float64{nil, nil}}
	for a := range many {
		many[a] = a
		p.values[0], p.values[1] = append(p.values[0], float64(a%7)), append(p.values[1], float64(a%5))
	}
	sum := 0.0
	for _, f := range newMixtureFit(many, [][]point{{p}}).best() {
		sum += f
	}
	if sum != 1 {
		t.Errorf("factors of 20 rows add up to %v", sum)
	}
}
