package fallback

import (
	"fmt"

	"psafe/host/bound"
	"psafe/host/model/network"
)

// activation holds what Activate and Relax do for one kind of activation s, neuron by neuron.
// slopeLo and slopeHi enclose the slope of the negative side of a kinked one, ELU's alpha.
type activation[T bound.Real] struct {
	// activate gives zLo <= s(lo) and s(hi) <= zHi.
	activate func(d *Device[T], lo, hi, slopeLo, slopeHi T) (zLo, zHi T)
	// relax gives aLo t + bLo <= s(t) <= aHi t + bHi for all t in [l, u].
	relax func(d *Device[T], l, u, slopeLo, slopeHi T) (aLo, bLo, aHi, bHi T)
}

// activations has an entry for every kind that package network knows.
func activations[T bound.Real]() [network.Kinds]activation[T] {
	return [network.Kinds]activation[T]{
		network.Identity:  {(*Device[T]).activateIdentity, (*Device[T]).relaxLinear},
		network.ReLU:      {(*Device[T]).activateReLU, (*Device[T]).relaxLinear},
		network.LeakyReLU: {(*Device[T]).activateLeaky, (*Device[T]).relaxLinear},
		network.Tanh:      {(*Device[T]).activateTanh, (*Device[T]).relaxTanh},
		network.Sigmoid:   {(*Device[T]).activateSigmoid, (*Device[T]).relaxSigmoid},
		network.Softplus:  {(*Device[T]).activateSoftplus, (*Device[T]).relaxSoftplus},
		network.ELU:       {(*Device[T]).activateELU, (*Device[T]).relaxELU},
	}
}

// A kind without an entry must not wait for a network that has it.
func init() { checkActivations(activations[float32]()) }

func checkActivations(table [network.Kinds]activation[float32]) {
	for k, a := range table {
		if a.activate == nil || a.relax == nil {
			panic(fmt.Sprintf("fallback: activation %v lacks Activate or Relax in fallback/activation.go", network.Kind(k)))
		}
	}
}
