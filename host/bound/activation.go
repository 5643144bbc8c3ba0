package bound

import "psafe/host/posterior"

// The activation functions, under the names that devices use.
const (
	Identity  = posterior.Identity
	ReLU      = posterior.ReLU
	LeakyReLU = posterior.LeakyReLU
	Tanh      = posterior.Tanh
	Sigmoid   = posterior.Sigmoid
)
