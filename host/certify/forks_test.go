package certify

import (
	"testing"

	"psafe/host/bound"
	"psafe/host/network"
	"psafe/host/posterior"
	"psafe/host/property"
)

// forked is 1.5 x - forks times small x, as the sum of what so many layers make of x and x
// itself; behind it are layers of these activations, and the last layer.
func forked(forks int, small float64, behind ...network.Activation) *posterior.Posterior {
	post := &posterior.Posterior{Scale: posterior.ScaleSD}
	add := func(weight []float64, act network.Activation, sources ...int) {
		l := network.DenseLayer(len(weight), 1, act)
		l.Sources = sources
		post.Layers = append(post.Layers, posterior.Layer{Layer: l, Weight: fixed(weight...), Bias: fixed(0)})
	}
	add([]float64{1}, network.Activation{}, -1)
	from, weight := []int{0}, []float64{1.5}
	for i := range forks {
		add([]float64{-small}, network.Activation{}, 0)
		from, weight = append(from, i+1), append(weight, 1)
	}
	for _, a := range behind {
		add(weight, a, from...)
		from, weight = []int{len(post.Layers) - 1}, []float64{1}
	}
	add(weight, network.Activation{}, from...)
	return post
}

// TestManyForks: the coefficient that a row starts with is rounded when others are added to it at
// forks. Each of these is too small to change it in float32, and all of them together are not.
func TestManyForks(t *testing.T) {
	const forks, small = 300, 0.99 * 0x1p-24
	relu := network.Activation{Kind: network.ReLU}
	stops := forked(forks, small)
	stops.Layers[0].Activation = relu
	for name, post := range map[string]*posterior.Posterior{
		"of the property":                 forked(forks, small),
		"of the property, down to values": stops,
		"of a unit":                       forked(forks, small, relu),
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
	post := forked(forks, small)
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
