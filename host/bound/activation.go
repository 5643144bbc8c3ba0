package bound

import "psafe/host/network"

// The activation functions, under the names that devices use.
const (
	Identity  = network.Identity
	ReLU      = network.ReLU
	LeakyReLU = network.LeakyReLU
	Tanh      = network.Tanh
	Sigmoid   = network.Sigmoid
)
