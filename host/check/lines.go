package check

import (
	net "psafe/host/network"
	"psafe/host/property"
)

// network is a network whose weights are known to lie in intervals.
type network struct {
	layers []layer
	// lines says that bounds are also computed by lines (LBP), not by intervals alone;
	// flip that near ties between the two lower lines of a ReLU are decided the other way.
	lines, flip bool
}

// layer has intervals of the weights, [in*out] with outputs contiguous (the weight from
// input j to output i is number j*out+i), and of the biases, [out].
type layer struct {
	in, out int
	w, b    span
	act     net.Activation
}

// rowsLo bounds rows of a property from below, for every network of n and every input x of
// the box: lo[r] <= C_r f(x) + d_r in real arithmetic, -Inf where nothing is known. dead
// tells for each hidden layer which neurons have a pre-activation <= 0 for all of them.
func (n *network) rowsLo(box property.Box, rows []property.Row) (lo []float64, dead [][]bool) {
	panic("check: rowsLo: to come")
}
