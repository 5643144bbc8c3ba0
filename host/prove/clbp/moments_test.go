package clbp

import (
	"math/rand/v2"
	"testing"

	"psafe/host/model/network"
	"psafe/host/prove/engine"
	"psafe/host/prove/measure"
	"psafe/internal/testkit/provetest"
)

// TestMoments: each weight has its own, also where there are more than a core takes at a time.
func TestMoments(t *testing.T) {
	post := provetest.Noisy(rand.New(rand.NewPCG(1, 1)), 0.1, false, 90, 50, 2)
	m := NoiseMoments(post)
	for k, l := range post.Layers {
		for j, got := range m.AbsMean[k] {
			if want := measure.AbsMeanUp(l.Weight.Mean[j], l.Weight.SdHi[j]); got != want {
				t.Fatalf("layer %d, weight %d: %v, want %v", k, j, got, want)
			}
		}
	}
}

// TestMomentsLook: preparing the posterior for concentration LBP can be stopped, and is begun anew.
func TestMomentsLook(t *testing.T) {
	post := provetest.Forked(2, 0.1, network.Activation{})
	looks := 0
	if _, err := noiseMoments(post, func() error { looks++; return nil }); err != nil || looks < len(post.Layers)/2 {
		t.Errorf("%d looks, %v", looks, err)
	}
	if _, err := noiseMoments(post, func() error { return engine.ErrTimeUp }); err != engine.ErrTimeUp {
		t.Error(err)
	}
}
