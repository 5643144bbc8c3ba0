package posterior_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/internal/testkit/sumtest"
)

// TestDescribeDropConnect: layers of DropConnect are named as such, with their rates; what only looks like one is not.
func TestDescribeDropConnect(t *testing.T) {
	post := sumtest.RandomDropConnect(rand.New(rand.NewPCG(34, 5)), network.Activation{Kind: network.ReLU})
	rates := post.Dropout()
	of := func(rates ...float64) string {
		p, err := posterior.FromDropout(post.Layers, rates)
		if err != nil {
			t.Fatal(err)
		}
		return p.Describe()
	}
	if got, want := post.Describe(), fmt.Sprintf("DropConnect with rates %v, %v", rates[1], rates[4]); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := of(0, 0.25, 0, 0, 0, 0, 0.5); got != "MC dropout with rates 0, 0, 0.5 and DropConnect with rates 0.25, 0, 0" {
		t.Error(got)
	}
	post.Layers[2].Weight.Mean[1] = 0.5
	if got := of(0, 0.25, 0, 0, 0.5, 0, 0); got != "MC dropout with rates 0, 0.25, 0, 0 and DropConnect with rates 0, 0, 0, 0.5" {
		t.Error(got)
	}
}
