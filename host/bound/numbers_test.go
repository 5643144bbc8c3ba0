package bound_test

import (
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// kernel is a convolution of 1 x 1 of an image of so many pixels in a row.
func kernel(pixels, filters int) network.Conv {
	one := [2]int{1, 1}
	return network.Conv{
		In: network.Image{Height: 1, Width: pixels, Channels: 1}, Window: network.Window{Size: one, Stride: one, Dilation: one}, Filters: filters, Groups: 1,
	}
}

// TestNumbersMeetIntervals: where rows bring numbers to a layer on one way and intervals on another,
// the range of the output over a weight box is exact, in whichever order they come.
func TestNumbersMeetIntervals(t *testing.T) {
	reorder := network.Reorder{In: 2, Order: []int32{1, 0}}
	type layer struct {
		m       network.Map
		sources []int
		lo, hi  []float64
	}
	first := layer{network.Dense{In: 2, Out: 2}, nil, []float64{1, 0, 0, 1}, []float64{1, 0, 0, 1}}
	for name, c := range map[string]struct {
		layers []layer
		row    [2]float64
		least  float64 // at (1, -2)
	}{
		"the last layer is wide": {[]layer{first,
			{m: reorder},
			{network.Dense{In: 4, Out: 1}, []int{0, 1}, []float64{-1, -1, -1, -1}, []float64{1, 1, 1, 1}},
		}, [2]float64{1, 1}, -6},
		// Coefficients of a product of intervals are intervals, each by itself.
		"the row is wide": {[]layer{first,
			{m: reorder},
			{network.Dense{In: 4, Out: 1}, []int{0, 1}, []float64{1, 1, 1, 1}, []float64{1, 1, 1, 1}},
		}, [2]float64{-1, 1}, -6},
		// One weight at both positions, of inputs of both signs.
		"a kernel is wide": {[]layer{
			{kernel(2, 1), nil, []float64{1}, []float64{3}},
			{network.Dense{In: 2, Out: 1}, nil, []float64{1, 1}, []float64{1, 1}},
		}, [2]float64{1, 1}, -3},
		"intervals come last": {[]layer{first,
			{network.Dense{In: 2, Out: 2}, nil, []float64{-1, -1, -1, -1}, []float64{1, 1, 1, 1}},
			{reorder, []int{0}, nil, nil},
			{network.Dense{In: 4, Out: 1}, []int{1, 2}, []float64{1, 1, 1, 1}, []float64{1, 1, 1, 1}},
		}, [2]float64{1, 1}, -7},
		"intervals come first": {[]layer{first,
			{m: reorder},
			{network.Dense{In: 2, Out: 2}, []int{0}, []float64{-1, -1, -1, -1}, []float64{1, 1, 1, 1}},
			{network.Dense{In: 4, Out: 1}, []int{1, 2}, []float64{1, 1, 1, 1}, []float64{1, 1, 1, 1}},
		}, [2]float64{1, 1}, -7},
	} {
		post := &posterior.Posterior{Scale: posterior.ScaleSD}
		var box bound.Explicit
		for _, l := range c.layers {
			bias := make([]float64, 0, 2)
			if l.lo != nil {
				bias = bias[:l.m.Outputs()]
			}
			if c, is := l.m.(network.Conv); is {
				bias = bias[:c.Filters]
			}
			post.Layers = append(post.Layers, posterior.Layer{
				Layer:  network.Layer{Map: l.m, Sources: l.sources},
				Weight: posterior.NewParams(l.lo, make([]float64, len(l.lo)), posterior.ScaleSD), Bias: posterior.NewParams(bias, bias, posterior.ScaleSD),
			})
			box.Lo, box.Hi = append(box.Lo, l.lo, bias), append(box.Hi, l.hi, bias)
		}
		if err := post.Validate(); err != nil {
			t.Fatal(err)
		}
		m, err := bound.NewModel(fallback.New(bound.Float64), post, 1)
		if err != nil {
			t.Fatal(err)
		}
		boxes, err := m.Upload([]bound.Explicit{box})
		if err != nil {
			t.Fatal(err)
		}
		in, err := m.UploadInputs([]property.Box{{Lo: []float64{1, -2}, Hi: []float64{1, -2}}})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := m.UploadRows([][]property.Row{{{CLo: c.row[:1], CHi: c.row[1:]}}})
		if err != nil {
			t.Fatal(err)
		}
		n, err := m.Propagate(bound.Query{Propagation: bound.LBP, Boxes: boxes, Inputs: in, Rows: rows, Batch: bound.Batch{Items: 1, PerBox: 1, Inputs: 1}})
		if err != nil {
			t.Fatal(err)
		}
		lo := n.IBP
		if n.LBP != nil {
			lo = n.LBP
		}
		if !(lo[0] <= c.least && lo[0] > c.least-1e-9) {
			t.Errorf("%s: %v is said to be the least, %v is", name, lo[0], c.least)
		}
	}
}
