package claim

import (
	"math"
	"math/rand/v2"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testkit/provetest"
	"psafe/internal/testscale"
	"testing"
)

// TestNormsGraphs: the norms bound what drawn networks of all kinds of maps show.
func TestNormsGraphs(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 12))
	for range testscale.Cases(t, 300) {
		post := provetest.Graph(r, network.Activation{Kind: network.ReLU}, network.Activation{Kind: network.Tanh}, network.Activation{Kind: network.Sigmoid})
		x := make([]float64, post.Inputs())
		for j := range x {
			x[j] = r.NormFloat64()
		}
		bound := normsUp(post, []property.Box{{Lo: x, Hi: x}})
		const draws = 400
		square, fourth := make([]float64, post.Outputs()), make([]float64, post.Outputs())
		w := post.NewWeights()
		net := post.Network()
		for i := range draws {
			post.Draw(7, i, w)
			for k, y := range net.OutputsApprox(w, x) {
				square[k] += y * y / draws
				fourth[k] += y * y * y * y / draws
			}
		}
		for k, s := range square {
			if s-6*math.Sqrt(fourth[k]/draws) > bound[k]*bound[k] {
				t.Errorf("logit %d: E y^2 about %v, bound %v, of %v", k, s, bound[k]*bound[k], net)
			}
		}
	}
}

// TestNormsExactly: of one convolution at a point, a mean of two outputs and a maximum, by hand.
func TestNormsExactly(t *testing.T) {
	one := [2]int{1, 1}
	image := network.Image{Height: 1, Width: 2, Channels: 1}
	conv := posterior.Layer{Layer: network.Layer{Map: network.Conv{In: image, Window: network.Window{Size: one, Stride: one, Dilation: one}, Filters: 1, Groups: 1}},
		Weight: posterior.NewParams([]float64{1}, []float64{0.5}, posterior.ScaleSD), Bias: provetest.Fixed(0)}
	window := network.Window{Size: [2]int{1, 2}, Stride: one, Dilation: one}
	end := posterior.Layer{Layer: network.DenseLayer(1, 1, network.Activation{}), Weight: provetest.Fixed(1), Bias: provetest.Fixed(0)}
	task := []property.Box{{Lo: []float64{3, -4}, Hi: []float64{3, -4}}}
	norm := math.Sqrt(1.25) // of the weight
	for want, pool := range map[float64]network.Map{3.5 * norm: network.AvgPool{In: image, Window: window}, 5 * norm: network.MaxPool{In: image, Window: window}} {
		post := &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{conv, {Layer: network.Layer{Map: pool}}, end}}
		if err := post.Validate(); err != nil {
			t.Fatal(err)
		}
		if got := normsUp(post, task)[0]; !(got >= want) || got > want*(1+1e-12) {
			t.Errorf("%T: %v, want %v", pool, got, want)
		}
	}
}
