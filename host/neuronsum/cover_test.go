package neuronsum

import (
	"context"
	"math/rand/v2"
	"testing"

	"psafe/host/network"
	"psafe/host/property"
)

// asked is a context that ends after so many questions.
type asked struct {
	context.Context
	left int
}

func (a *asked) Err() error {
	if a.left--; a.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// TestCoverInTime: whenever its time is up, a cover's bound is no worse than if that had been
// earlier, though a cut may make the sum larger before further ones make it smaller; and its tree
// has as many cells as it says.
func TestCoverInTime(t *testing.T) {
	larger := 0
	for _, seed := range []uint64{5, 6, 7} {
		r := rand.New(rand.NewPCG(seed, 57))
		n := newSum(t, randomSumNet(r, 2, 4, 1, network.Activation{Kind: network.ReLU}))
		box := property.Box{Lo: []float64{-1, -1}, Hi: []float64{1, 1}}
		row := property.Row{CLo: []float64{1}, CHi: []float64{1}, D: 0.5 + r.Float64()}
		row.DHi = row.D
		s := property.Safe{Rows: []property.Row{row}, Any: [][]int{{0}}}
		before := Cover{FailUp: 1}
		for left := 0; ; left++ {
			c, err := n.Cover(&asked{context.Background(), left}, []property.Box{box}, &s, 4)
			cells := 0
			for _, axis := range c.Tree {
				if axis < 0 {
					cells++
				}
			}
			if c.FailUp > before.FailUp || cells != c.Cells || !(c.FailUp >= 0) {
				t.Fatalf("net %d, %d questions: %+v after %+v", seed, left, c, before)
			}
			if c.FailUp == before.FailUp && before.FailUp < 1 {
				larger++
			}
			if before = c; err == nil {
				break
			}
		}
		t.Logf("net %d: %+v", seed, before)
	}
	if larger == 0 {
		t.Error("no cut made a sum larger for a while")
	}
}
