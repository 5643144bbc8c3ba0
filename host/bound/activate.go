package bound

import "psafe/host/model/network"

// Activate maps pre-activation intervals through a monotone activation:
// Z.Lo <= sigma(Pre.Lo) and sigma(Pre.Hi) <= Z.Hi, entry by entry.
type Activate struct {
	Z, Pre     Interval // out, in [N]
	N          int
	Activation Activation
}

// Arrays implements Operation.
func (a Activate) Arrays(l *Arrays) {
	n := Dim{"neuron of all items", a.N}
	l.Outs("zLo", "zHi", a.Z, n)
	l.Ins("lo", "hi", a.Pre, n)
}

// Activation holds what the device needs of an activation: the kind, and the slope of the negative
// side as an interval of the device's numbers (0 for ReLU, 1 for identity, unused for tanh and
// sigmoid).
type Activation struct {
	Kind             network.Kind
	SlopeLo, SlopeHi float64
}
