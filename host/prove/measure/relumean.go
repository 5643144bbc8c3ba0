package measure

import (
	"math"

	"psafe/host/arith"
)

// AbsMeanDown returns a lower bound of E|W| for W ~ N(mean, sd^2), and for every larger standard
// deviation; see AbsMeanUp. It is never below |mean|, and 0 for what is no number.
func AbsMeanDown(mean, sd float64) float64 {
	a := math.Abs(mean)
	switch {
	case !(a <= math.MaxFloat64 && sd >= 0 && sd <= math.MaxFloat64):
		return 0
	case sd == 0:
		return a
	}
	zLo, zHi := max(0, down(a/sd)), up(a/sd)
	spread := down(down(arith.Sqrt2OverPiUp) * sd)
	sharp := down(down(spread*ExpDown(-up(zHi*zHi)/2)) + max(0, down(a*down(1-2*TailUp(zLo)))))
	return max(a, sharp)
}

// ReLUMeanUp returns an upper bound of E max(W, 0) = (mean + E|W|)/2 for W ~ N(mean, sd^2), and for
// every smaller mean and standard deviation, with both of which it grows; +Inf for what is no number.
func ReLUMeanUp(mean, sd float64) float64 {
	if !(math.Abs(mean) <= math.MaxFloat64) {
		return math.Inf(1)
	}
	return max(0, up(up(mean+AbsMeanUp(mean, sd))/2))
}

// ReLUMeanDown returns a lower bound of it, and for every larger mean and standard deviation; 0 for
// what is no number.
func ReLUMeanDown(mean, sd float64) float64 {
	if !(math.Abs(mean) <= math.MaxFloat64) {
		return 0
	}
	return max(0, mean, down(down(mean+AbsMeanDown(mean, sd))/2))
}
