package networktest

import "psafe/host/model/network"

// Activations are all that there are, in the order of their kinds: those that have a slope with
// each of the slopes that they may have.
func Activations(slopes ...float64) (all []network.Activation) {
	for kind := range network.Kind(network.Kinds) {
		plain := network.Activation{Kind: kind}
		if plain.Check() == nil {
			all = append(all, plain)
			continue
		}
		for _, s := range slopes {
			if a := (network.Activation{Kind: kind, Slope: s}); a.Check() == nil {
				all = append(all, a)
			}
		}
	}
	return all
}
