package gauss_test

import (
	"fmt"

	"psafe/host/arith/gauss"
)

// A tail of the normal distribution, rounded up and so never below the truth.
func ExampleTailUp() {
	fmt.Printf("%.3e\n", gauss.TailUp(6))
	// Output: 9.866e-10
}
