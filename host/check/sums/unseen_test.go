package sums

import (
	"math/rand/v2"
	"testing"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testkit/sumtest"
)

// TestUnseenNeuron: a neuron whose weight in the row is 0, surely, costs nothing.
func TestUnseenNeuron(t *testing.T) {
	post := sumtest.RandomNoisy(rand.New(rand.NewPCG(7, 3)), network.Activation{Kind: network.ReLU}, 0.5, 2, 4, 1)
	at := property.Box{Lo: []float64{0.75, 1.25}, Hi: []float64{0.75, 1.25}}
	one := []float64{-1.5}
	s := property.Safe{Rows: []property.Row{{CLo: one, CHi: one, D: 0.25, DHi: 0.25}}, Any: [][]int{{0}}}
	up := func(weight float64) float64 {
		w := &post.Layers[1].Weight
		for i := range 2 {
			w.Mean[i], w.SdLo[i], w.SdHi[i] = weight, 0, 0
		}
		post.Layers[1].Weight = posterior.NewParams(w.Mean, w.SdHi, posterior.ScaleSD)
		p, err := safeUp(t, post, &s, at)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if nearly, zero := up(0x1p-60), up(0); !(nearly < 0.9) || !(zero < nearly+1e-3) {
		t.Errorf("two neurons with weights of 0: %v, with weights that are nearly 0: %v", zero, nearly)
	}
}
