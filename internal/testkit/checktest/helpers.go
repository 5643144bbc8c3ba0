// Package checktest has networks, tasks and claims for tests of host/check and its rooms.
package checktest

import (
	"math/big"
)

// Exactly is x as a rational number.
func Exactly(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
