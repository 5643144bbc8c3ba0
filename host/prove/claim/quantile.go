package claim

import "psafe/host/read/property"

// Quantile holds what is proved of the worst margin over T, which is the least over x in T of the margin of f^w(x)
// (property.Safe.Decides): with probability Prob or more, over the weights, it is Lower or more, and Prob is 1 - Level or more.
type Quantile struct {
	Level property.Exact
	// Lower is -Inf, and Prob 0, where nothing is proved.
	Lower, Prob float64
	Proof       EachProof
}
