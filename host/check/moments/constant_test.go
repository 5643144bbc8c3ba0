package moments

import (
	"math/rand/v2"
	"testing"

	"psafe/host/model/network"
	"psafe/host/read/property"
	"psafe/internal/testkit/sumtest"
)

// TestConstantOfRow: what a row's constant falls below 0 by counts though it is less than the roundings of its products.
func TestConstantOfRow(t *testing.T) {
	post := sumtest.RandomNoisy(rand.New(rand.NewPCG(8, 2)), network.Activation{Kind: network.ReLU}, 0, 1, 1, 2)
	clear(post.Layers[1].Weight.Mean) // of no neuron
	post.Layers[1].Bias.Mean[0], post.Layers[1].Bias.Mean[1] = 0.1, 0.3
	c := []float64{3, -1} // 3*0.1 - 0.3 = 2^-54 and more, of numbers that are no tenths
	s := property.Safe{Rows: []property.Row{{CLo: c, CHi: c}}, Any: [][]int{{0}}}
	n, err := New(post)
	if err != nil {
		t.Fatal(err)
	}
	box := property.Box{Lo: []float64{1}, Hi: []float64{1}}
	if fail, err := n.FailUp(t.Context(), box, &s, 1e-6, &Proof{Rows: []Row{{Rate: 0x1p80}}}); err != nil || !(fail < 1e-9) {
		t.Errorf("a row that is above 0, surely, fails with %v: %v", fail, err)
	}
}

// TestOfNothing: weights that meet a 0 make no noise, of whatever size.
func TestOfNothing(t *testing.T) {
	post := sumtest.RandomNoisy(rand.New(rand.NewPCG(8, 3)), network.Activation{Kind: network.Tanh}, 0.5, 1, 1, 2)
	clear(post.Layers[0].Bias.SdLo)
	clear(post.Layers[0].Bias.SdHi)
	if n := neurons(&post.Layers[0], []float64{0}); n[0].variance.Hi != 0 {
		t.Errorf("the variance is up to %v", n[0].variance.Hi)
	}
	if n := neurons(&post.Layers[0], []float64{1}); !(n[0].variance.Lo > 0) {
		t.Error("a weight makes no noise")
	}
}
