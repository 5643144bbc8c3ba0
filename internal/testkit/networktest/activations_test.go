package networktest

import (
	"slices"
	"testing"

	"psafe/host/model/network"
)

// TestActivations: no kind is left out, and slopes are where there are any.
func TestActivations(t *testing.T) {
	all := Activations(1, 0.25)
	for kind := range network.Kind(network.Kinds) {
		if !slices.ContainsFunc(all, func(a network.Activation) bool { return a.Kind == kind }) {
			t.Errorf("%v is not among %v", kind, all)
		}
	}
	for a, want := range map[network.Activation]bool{
		{Kind: network.Tanh}: true, {Kind: network.ELU, Slope: 1}: true, {Kind: network.ELU, Slope: 0.25}: true,
		{Kind: network.LeakyReLU, Slope: 0.25}: true, {Kind: network.LeakyReLU, Slope: 1}: false, {Kind: network.ELU}: false,
	} {
		if slices.Contains(all, a) != want {
			t.Errorf("%v is among %v: want %v", a, all, want)
		}
	}
}
