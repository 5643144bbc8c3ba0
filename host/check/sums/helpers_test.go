package sums

import (
	"math/big"
	"path/filepath"

	"psafe/internal/testkit/networktest"
)

// exactly is x as a rational number.
func exactly(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

func testFile(name string) string { return filepath.Join("..", "..", "..", "testdata", name) }

var activations = networktest.Activations(1, 0.1)

// anyFail is content with every probability of failure.
func anyFail(float64) bool { return true }
