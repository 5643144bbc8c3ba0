// Package checktest has networks, tasks and claims of certify that the tests of host/check and its rooms share.
package checktest

import (
	"math/big"
)

// Exactly is x as a rational number.
func Exactly(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
