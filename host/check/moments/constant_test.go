package moments

import (
	"math/rand/v2"
	"testing"

	"psafe/host/arith"
	"psafe/host/lab/testkit/sumtest"
	"psafe/host/model/network"
	"psafe/host/read/property"
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

// TestNoNoise: the noise of weights of inputs that are 0 is none, so that a neuron with a certain bias is certain.
func TestNoNoise(t *testing.T) {
	post := sumtest.RandomNoisy(rand.New(rand.NewPCG(8, 3)), network.Activation{Kind: network.ReLU}, 1, 1, 2, 1)
	clear(post.Layers[0].Bias.SdLo)
	clear(post.Layers[0].Bias.SdHi)
	for i, n := range neurons(&post.Layers[0], []float64{0}) {
		if n.variance != (arith.Interval{}) {
			t.Errorf("neuron %d has the variance %v", i, n.variance)
		}
	}
}
