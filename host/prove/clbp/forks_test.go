package clbp

import (
	"testing"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testkit/provetest"
)

// TestManyForks: the coefficient that a row starts with is rounded when others are added to it at
// forks. Each of these is too small to change it in float32, and all of them together are not.
func TestManyForks(t *testing.T) {
	const forks, small = 300, 0.99 * 0x1p-24
	relu := network.Activation{Kind: network.ReLU}
	stops := provetest.Forked(forks, small)
	stops.Layers[0].Activation = relu
	for name, post := range map[string]*posterior.Posterior{
		"of the property":                 provetest.Forked(forks, small),
		"of the property, down to values": stops,
		"of a unit":                       provetest.Forked(forks, small, relu),
	} {
		if err := post.Validate(); err != nil {
			t.Fatal(err)
		}
		x := property.Box{Lo: []float64{1}, Hi: []float64{1}}
		task := property.Task{Label: -1, T: []property.Box{x}, Inner: []property.Box{x}}
		task.S = property.Safe{Rows: []property.Row{{CLo: []float64{1}, CHi: []float64{1}}}, Any: [][]int{{0}}}
		const y = 1.5 - forks*small
		if lo := boxMargins(t, bound.Float32, post, &task, bound.LBP, 0)[0]; lo > y || lo < y-1e-3 {
			t.Errorf("a row %s: at least %v, it is %v", name, lo, y)
		}
	}
}

// TestManyForksOfIntervals: as TestManyForks, with a weight of which only an interval is known, so
// that the chord of its product with x has the slope 0 and all of it is in the intercept.
func TestManyForksOfIntervals(t *testing.T) {
	const forks, small = 300, 0.99 * 0x1p-24
	post := provetest.Forked(forks, small)
	last := &post.Layers[len(post.Layers)-1]
	last.Weight.Mean[0] = 0
	sd := make([]float64, len(last.Weight.Mean))
	sd[0] = 1
	last.Weight = posterior.NewParams(last.Weight.Mean, sd, posterior.ScaleSD)
	x := property.Box{Lo: []float64{-1}, Hi: []float64{1}}
	task := property.Task{Label: -1, T: []property.Box{x}, Inner: []property.Box{x}}
	task.S = property.Safe{Rows: []property.Row{{CLo: []float64{1}, CHi: []float64{1}}}, Any: [][]int{{0}}}
	const y = -1.5 - forks*small
	if lo := boxMargins(t, bound.Float32, post, &task, bound.LBP, 1.5)[0]; lo > y || lo < y-1e-3 {
		t.Errorf("at least %v, it is %v", lo, y)
	}
}

// TestStopsAtClosed: behind max(x, 0) are two linear layers and their difference. The form that
// stops at closed values has the noise of the levels above them, and intervals that are taken
// through linear layers in one step tell that the terms cancel.
func TestStopsAtClosed(t *testing.T) {
	x := property.Box{Lo: []float64{0}, Hi: []float64{1}}
	task := property.Task{Label: -1, T: []property.Box{x}, Inner: []property.Box{x}}
	task.S = property.Safe{Rows: []property.Row{{CLo: []float64{1}, CHi: []float64{1}}}, Any: [][]int{{0}}}
	sumIn := map[string]*posterior.Posterior{
		"a hidden layer": provetest.Forked(1, -1, network.Activation{}),
		"the last layer": provetest.Forked(1, -1), // whose rows alone know
	}
	for name, post := range sumIn {
		post.Layers[0].Activation = network.Activation{Kind: network.ReLU}
		for k, l := range post.Layers {
			mean, sd := make([]float64, len(l.Weight.Mean)), make([]float64, len(l.Weight.Mean))
			for e := range mean {
				mean[e], sd[e] = 1, 0.01
				if e == 1 { // the second term of the sum
					mean[e] = -1
				}
			}
			post.Layers[k].Weight = posterior.NewParams(mean, sd, posterior.ScaleSD)
		}
		for _, method := range []bound.Propagation{bound.IBP, bound.LBP} {
			if lo := boxMargins(t, bound.Float64, post, &task, method, 0)[0]; lo > 0 || lo < -1e-9 {
				t.Errorf("the sum is in %s, %v: at least %v, it is 0", name, method, lo)
			}
		}
	}
	n, _ := noisesAt(t, bound.Float64, sumIn["a hidden layer"], &task, 1e-3)
	if stop, all := len(n.ByIntervals.Mean), len(n.ByLines.Mean); stop != 3 || all != 4 {
		t.Errorf("noise of %d levels by the form that stops and of %d by lines, want 3 and 4", stop, all)
	}
}

// TestLeadOverABox: of w and w/2 the first is the greater one by w/2, which over w in [-1, 3] is
// at least -1/2 and at most 3/2. The row is the first minus the maximum of both.
func TestLeadOverABox(t *testing.T) {
	one := [2]int{1, 1}
	image := network.Image{Height: 1, Width: 2, Channels: 1}
	pool := network.MaxPool{In: image, Window: network.Window{Size: [2]int{1, 2}, Stride: one, Dilation: one}}
	last := network.DenseLayer(3, 1, network.Activation{})
	last.Sources = []int{0, 1}
	post := &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{
		{Layer: network.Layer{Map: network.Conv{In: image, Window: network.Window{Size: one, Stride: one, Dilation: one}, Filters: 1, Groups: 1}},
			Weight: posterior.NewParams([]float64{1}, []float64{1}, posterior.ScaleSD), Bias: provetest.Fixed(0)},
		{Layer: network.Layer{Map: pool}},
		{Layer: last, Weight: provetest.Fixed(1, 0, -1), Bias: provetest.Fixed(0)},
	}}
	if err := post.Validate(); err != nil {
		t.Fatal(err)
	}
	x := property.Box{Lo: []float64{1, 0.5}, Hi: []float64{1, 0.5}}
	task := property.Task{Label: -1, T: []property.Box{x}, Inner: []property.Box{x}}
	task.S = property.Safe{Rows: []property.Row{{CLo: []float64{1}, CHi: []float64{1}}}, Any: [][]int{{0}}}
	for gamma, want := range map[float64]float64{0.5: 0, 2: -0.5} {
		if lo := boxMargins(t, bound.Float64, post, &task, bound.LBP, gamma)[0]; lo > want {
			t.Errorf("half-width %v: at least %v, it may be %v", gamma, lo, want)
		} else {
			t.Logf("half-width %v: at least %v, it is %v", gamma, lo, want)
		}
	}
}
