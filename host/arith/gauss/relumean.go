package gauss

import (
	"math"

	"psafe/host/arith"
)

// AbsMeanUp returns an upper bound of E|W| for W ~ N(mean, sd^2), and for every
// smaller standard deviation (E|mean + s Z| is convex and even in s, so it grows):
//
//	E|W| = sd sqrt(2/pi) exp(-z^2/2) + |mean| (1 - 2 Q(z)),   z = |mean|/sd
func AbsMeanUp(mean, sd float64) float64 {
	a := math.Abs(mean)
	switch {
	case !(a <= math.MaxFloat64 && sd >= 0 && sd <= math.MaxFloat64):
		return math.Inf(1)
	case sd == 0:
		return a
	}
	spread := up(arith.Sqrt2OverPiUp * sd)
	zLo, zHi := max(0, down(a/sd)), up(a/sd)
	sharp := up(up(spread*arith.ExpUp(-max(0, down(zLo*zLo))/2)) + up(a*up(1-2*TailDown(zHi))))
	return min(sharp, up(a+spread))
}

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
	sharp := down(down(spread*arith.ExpDown(-up(zHi*zHi)/2)) + max(0, down(a*down(1-2*TailUp(zLo)))))
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

// ReLUSquareUp returns an upper bound of E max(W, 0)^2 = mean E max(W, 0) + sd^2 Prob(W > 0) (Stein) for
// W ~ N(mean, sd^2), and for every smaller mean and standard deviation; +Inf for what is no number.
func ReLUSquareUp(mean, sd float64) float64 {
	relu, above := ReLUMeanUp(mean, sd), 1.0
	if sd > 0 {
		above = TailUp(-up(mean / sd))
	}
	if mean < 0 {
		relu = ReLUMeanDown(mean, sd)
	}
	if x := up(up(mean*relu) + up(up(sd*sd)*above)); x >= 0 || x < 0 {
		return max(0, x)
	}
	return math.Inf(1)
}

// ReLUSquareDown returns a lower bound of it, and for every larger mean and standard deviation; 0 for what
// is no number.
func ReLUSquareDown(mean, sd float64) float64 {
	if !(math.Abs(mean) <= math.MaxFloat64 && sd >= 0 && sd <= math.MaxFloat64) {
		return 0
	}
	relu, above := ReLUMeanDown(mean, sd), 0.0
	if sd > 0 {
		above = TailDown(-down(mean / sd))
	}
	if mean < 0 {
		relu = ReLUMeanUp(mean, sd)
	}
	if x := down(down(mean*relu) + max(0, down(down(sd*sd)*above))); x > 0 && x <= math.MaxFloat64 {
		return x
	}
	return 0
}

// ReLUVarianceUp returns an upper bound of the variance of max(W, 0) for W ~ N(mean, sd^2), and for every
// smaller mean and standard deviation, with both of which it grows (docs/theory.md, section 9.8).
func ReLUVarianceUp(mean, sd float64) float64 {
	lo, square := ReLUMeanDown(mean, sd), ReLUSquareUp(mean, sd)
	if x := up(square - max(0, down(lo*lo))); square <= math.MaxFloat64 && !math.IsNaN(x) {
		return max(0, min(x, up(sd*sd)))
	}
	return math.Inf(1)
}

// ReLUVarianceDown returns a lower bound of it, and for every larger mean and standard deviation.
func ReLUVarianceDown(mean, sd float64) float64 {
	hi := ReLUMeanUp(mean, sd)
	if x := down(ReLUSquareDown(mean, sd) - up(hi*hi)); x > 0 && x <= math.MaxFloat64 {
		return x
	}
	return 0
}
