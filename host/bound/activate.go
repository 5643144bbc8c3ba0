package bound

import "psafe/host/model/network"

// Activate maps pre-activation intervals through a monotone activation:
// Z.Lo <= sigma(Pre.Lo) and sigma(Pre.Hi) <= Z.Hi, entry by entry.
type Activate struct {
	Z, Pre     Interval // out, in [N]
	N          int
	Activation Activation
}

// Outputs implements Operation.
func (a Activate) Outputs() []Output {
	dims := []Dim{{"neuron of all items", a.N}}
	return []Output{{"z.lo", a.Z.Lo, dims}, {"z.hi", a.Z.Hi, dims}}
}

// Activation holds what the device needs of an activation: the kind, and the slope of the negative
// side as an interval of the device's numbers (0 for ReLU, 1 for identity, unused for tanh and
// sigmoid).
type Activation struct {
	Kind             network.Kind
	SlopeLo, SlopeHi float64
}
