package branch

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"psafe/host/bound"
)

// TestBeside: sub-problems of a tree go down in the packs that they have alone, others beside them, and stay as they are
// once all of their tree are proved, not before.
func TestBeside(t *testing.T) {
	var knots []*knot
	for _, tree := range []int{2, 1, 1, 2, 1, 1, 1, 3} {
		knots = append(knots, &knot{tree: tree})
	}
	var got [][]int
	for _, pack := range (&phased{most: 4}).packs(knots) {
		var trees []int
		for _, k := range pack {
			trees = append(trees, k.tree)
		}
		got = append(got, trees)
	}
	if want := [][]int{{1, 1, 1, 1}, {1, 2, 2, 3}}; !reflect.DeepEqual(got, want) {
		t.Errorf("packs of trees %v, not %v", got, want)
	}
	a := &ascent{tree: []int{0, 0, 1}, best: []float64{1, -1, 2}, ended: make([]bool, 3)}
	if a.proved() || !reflect.DeepEqual(a.ended, []bool{false, false, true}) {
		t.Errorf("of bounds %v rows %v stay as they are", a.best, a.ended)
	}
}

// TestEnded: bounds of rows that have ended are no longer raised, those of others are.
func TestEnded(t *testing.T) {
	c := newNoisyCase(t, rand.New(rand.NewPCG(1, 229)), bound.Float64, 1e-6, 0.003, 3, 8, 7, 5)
	c.on(t, func(p *phased) error {
		a := p.columns([]*knot{p.root([]int{0}), p.root([]int{1})})
		a.best, a.ended[0] = []float64{-1e300, -1e300}, true
		err := a.evaluate(false)
		if a.best[0] != -1e300 || a.best[1] == -1e300 {
			t.Errorf("bounds %v", a.best)
		}
		return err
	})
}
