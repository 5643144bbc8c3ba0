package clbp

import (
	"testing"

	"psafe/host/prove/probability"
	"psafe/host/read/property"
)

// TestDecisionOverCells: a decision over cells is no better than in any of them, in either order.
func TestDecisionOverCells(t *testing.T) {
	task := &property.Task{Label: 1}
	a, b := &cell{task: task}, &cell{task: task}
	d := decider{known: map[*cell]*shown{
		a: {&probability.Predictive{LowerDown: 0.9, GapsDown: []float64{0.5, 0.2}, RivalsUp: []float64{0.02, 0.1}}, 0.8},
		b: {&probability.Predictive{LowerDown: 0.6, GapsDown: []float64{0.3, 0.7}, RivalsUp: []float64{0.3, 0.04}}, 0.95},
	}}
	least := func(what string, is, want float64) {
		t.Helper()
		if is > want || is < want-0.05 {
			t.Errorf("%s %v, in one cell %v", what, is, want)
		}
	}
	for _, roots := range [][]*cell{{a, b}, {b, a}} {
		r := d.decision(roots)
		least("lower", r.Lower, 0.6)
		least("gap", r.Gap, 0.2)
		least("vote", r.Vote, 0.8)
		least("rival's", -r.RivalUpper, -0.3)
		least("the first class's", -r.ClassUpper[0], -0.3)
		least("the last class's", -r.ClassUpper[2], -0.1)
	}
}
