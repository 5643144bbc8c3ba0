package neuronsum

import (
	"fmt"
	"math"

	"psafe/host/measure"
	"psafe/host/posterior"
)

// activation is everything that this package knows of an activation function s. Each
// is monotone: the proofs need that.
type activation struct {
	// down and up bound s(t) for a real t that is a float64; of NaN they make NaN.
	down, up func(t float64) float64
	// approx is s(t) in ordinary float64.
	approx func(t float64) float64
	// convex says that s(t) is the larger of t and slope t, 0 <= slope <= 1.
	convex bool
	slope  float64
}

// newActivation refuses what it does not know.
func newActivation(a posterior.Activation) (activation, error) {
	var up func(t, sign float64) float64
	s := activation{approx: a.Approx}
	switch a.Kind {
	case posterior.Identity:
		s.convex, s.slope = true, 1
	case posterior.ReLU:
		s.convex = true
	case posterior.LeakyReLU:
		s.convex, s.slope = true, a.Slope
	case posterior.Tanh:
		up = tanhUp
	case posterior.Sigmoid:
		up = sigmoidUp
	default:
		return activation{}, fmt.Errorf("sums of neurons do not know the activation %v; add it to host/neuronsum/activation.go", a)
	}
	if s.convex {
		up = func(t, sign float64) float64 { return convexUp(s.slope, t, sign) }
	}
	s.up = func(t float64) float64 { return up(t, 1) }
	s.down = func(t float64) float64 { return -up(t, -1) }
	return s, nil
}

// convexUp, tanhUp and sigmoidUp are upper bounds of sign s(t), sign 1 or -1.
func convexUp(slope, t, sign float64) float64 {
	switch {
	case !(t < 0) || slope == 1:
		return sign * t // NaN as well
	case slope == 0:
		return 0
	}
	return above(sign * slope * t)
}

func tanhUp(t, sign float64) float64 {
	switch {
	case t == 0 || math.IsNaN(t):
		return t
	case t < 0:
		t, sign = -t, -sign
	}
	// tanh t = (1-e)/(1+e), e = exp(-2t), falls with e.
	if sign > 0 {
		e := measure.ExpDown(-2 * t)
		return min(1, above(above(1-e)/below(1+e)))
	}
	e := measure.ExpUp(-2 * t)
	return -max(0, below(below(1-e)/above(1+e)))
}

func sigmoidUp(t, sign float64) float64 {
	switch {
	case math.IsNaN(t):
		return t
	case t >= 0 && sign > 0:
		return min(1, above(1/below(1+measure.ExpDown(-t))))
	case t >= 0:
		return -below(1 / above(1+measure.ExpUp(-t)))
	case sign > 0:
		// e/(1+e), e = exp(t), rises with e.
		e := measure.ExpUp(t)
		return above(e / below(1+e))
	}
	e := measure.ExpDown(t)
	return -max(0, below(e/above(1+e)))
}
