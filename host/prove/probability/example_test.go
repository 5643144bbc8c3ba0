package probability_test

import (
	"fmt"
	"math"

	"psafe/host/prove/probability"
)

// The probability that two standard normal weights both lie within two standard
// deviations is 0.9545^2; its logarithm is rounded down.
func ExampleLogMassDown() {
	one := []float64{1, 1}
	log := probability.LogMassDown([]float64{-2, -2}, []float64{2, 2}, []float64{0, 0}, one, one)
	fmt.Printf("%.6f\n", math.Exp(log))
	// Output: 0.911070
}

// 495 of 500 drawn networks were safe: with confidence 0.99 at least this share is.
func ExampleClopperPearsonDown() {
	fmt.Printf("%.4f\n", probability.ClopperPearsonDown(495, 500, 0.01))
	// Output: 0.9740
}
