package prove_test

import (
	"math/rand/v2"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/internal/testkit/convtest"
	"psafe/internal/testkit/sumtest"
)

// TestDecisionsAskedAgain: what is asked again of decisions is what was asked, also when cells are looked at for the
// second time meanwhile: no honest device is dropped.
func TestDecisionsAskedAgain(t *testing.T) {
	for name, post := range map[string]*posterior.Posterior{
		"chain":   sumtest.RandomNoisy(rand.New(rand.NewPCG(9, 5)), relu, 0.3, 2, 6, 5, 3),
		"SWAG":    sumtest.RandomSWAG(rand.New(rand.NewPCG(9, 5)), relu, 0.3, 2, 6, 5, 3),
		"on top":  sumtest.RandomOnTop(rand.New(rand.NewPCG(9, 5)), relu, 0.3, 2, 6, 3),
		"dropout": sumtest.RandomMasked(rand.New(rand.NewPCG(9, 5)), relu, 1, 2, 6, 5, 3),
		"set":     setOf(t, rand.New(rand.NewPCG(9, 5)), 12, relu, 2, 6, 3),
		"graph":   convtest.Random(rand.New(rand.NewPCG(9, 2)), convtest.Shape{Blocks: 3, Spread: 0.3, Outputs: 3}),
	} {
		t.Run(name, func(t *testing.T) {
			box := property.Box{}
			for range post.Inputs() {
				box.Lo, box.Hi = append(box.Lo, 0.25), append(box.Hi, 0.75)
			}
			for _, share := range []float64{1e-12, 1} {
				e, err := engine.New(fallback.New(bound.Float64), func() bound.Device { return fallback.New(bound.Float64) }, post, 12)
				if err != nil {
					t.Fatal(err)
				}
				e.Recheck(engine.Recheck{Share: share, Tell: func(d *engine.Dropped) { t.Errorf("share %v: %v", share, d) }})
				cfg := prove.Config{Method: map[bool]prove.Method{true: prove.Finite, false: prove.CLBP}[post.Networks() != nil], Decision: true, Each: true, NoUpper: true, Cells: 8}
				for class := range 3 {
					task := inner(safeOn(property.ArgmaxIs(class, post.Outputs()), box))
					task.Label = class
					runOn(t, []*engine.Engine{e}, cfg, task)
				}
				e.Close()
			}
		})
	}
}
