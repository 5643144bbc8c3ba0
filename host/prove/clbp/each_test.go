package clbp

import (
	"slices"
	"testing"

	"psafe/host/bound"
	"psafe/internal/testkit/convtest"
)

// TestEachHalves: cells that are cut are about points as their parts are.
func TestEachHalves(t *testing.T) {
	post := convtest.Named("tinyA").Posterior(1)
	task := convtest.KeepsClass(post, convtest.Picture(14, convtest.Named("tinyA").Image), 0x1p-6, 0)
	for _, each := range []bool{false, true} {
		c := &cell{task: &task, box: task.T[0], each: each}
		if (method{}).halve(post.Network(), post.Mean(), c); c.parts[0].each != each || c.parts[1].each != each {
			t.Errorf("about each point: %v, the halves are not", each)
		}
	}
}

// TestPointwise: of one point of a box nothing varies and no radius may fail, and of the box itself something does and
// may; all that is bounded of a point is bounded there as tightly.
func TestPointwise(t *testing.T) {
	for _, name := range []string{"tinyA", "tinyD"} {
		post := convtest.Named(name).Posterior(1)
		task := convtest.KeepsClass(post, convtest.Picture(14, convtest.Named(name).Image), 0x1p-6, 0)
		e := engineOf(t, bound.Float64, post.Layers...)
		said := map[bool]*bound.CLBPMargins{}
		for _, pointwise := range []bool{false, true} {
			c := &cell{task: &task, box: task.T[0], fail: 1}
			err := method{e: e, pointwise: pointwise}.propagate(e.Model, []*cell{c}, Quantiles(e, bound.Float64, 1e-4), func(_ *cell, n *bound.CLBPMargins, _ int) error {
				said[pointwise] = n
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		most := func(n *bound.CLBPMargins) float64 { return slices.Max(slices.Concat(n.ByLines.Mean...)) }
		if box, point := said[false], said[true]; box.Events[0].Radii == 0 || point.Events[0].Radii != 0 || point.Events[0].Ends != box.Events[0].Ends {
			t.Errorf("%s: events %+v, of a point %+v", name, box.Events[0], point.Events[0])
		} else if !(most(box) > 1e-6) || !(most(point) < 1e-12) {
			t.Errorf("%s: noise adds %v over the box, and %v at a point", name, most(box), most(point))
		} else if slices.Min(point.ByLines.Lo) < slices.Min(box.ByLines.Lo) {
			t.Errorf("%s: a row is at least %v, and at a point %v", name, box.ByLines.Lo, point.ByLines.Lo)
		}
	}
}
