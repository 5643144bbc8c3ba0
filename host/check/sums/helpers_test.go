package sums

import (
	"math/big"
	"path/filepath"

	net "psafe/host/model/network"
)

// exactly is x as a rational number.
func exactly(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

func testFile(name string) string { return filepath.Join("..", "..", "..", "testdata", name) }

var activations = []net.Activation{
	{Kind: net.Identity}, {Kind: net.ReLU}, {Kind: net.LeakyReLU, Slope: 0.1}, {Kind: net.Tanh}, {Kind: net.Sigmoid},
	{Kind: net.Softplus}, {Kind: net.ELU, Slope: 1}, {Kind: net.ELU, Slope: 0.3},
}

// anyFail is content with every probability of failure.
func anyFail(float64) bool { return true }
