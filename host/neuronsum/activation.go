package certify

import (
	"psafe/host/measure"
	"psafe/host/posterior"
)

// valueDown and valueUp bound s(t).
func (n *NeuronSum) valueDown(t float64) float64 { return -activationUp(n.act, t, -1) }
func (n *NeuronSum) valueUp(t float64) float64   { return activationUp(n.act, t, 1) }

// activationUp is an upper bound of sign s(t), sign 1 or -1.
func activationUp(a posterior.Activation, t, sign float64) float64 {
	switch {
	case a.Kind == posterior.Tanh && t >= 0:
		// tanh t = (1-e)/(1+e), e = exp(-2t), falls with e.
		if sign > 0 {
			e := measure.ExpDown(-2 * t)
			return min(1, above(above(1-e)/below(1+e)))
		}
		e := measure.ExpUp(-2 * t)
		return -max(0, below(below(1-e)/above(1+e)))
	case a.Kind == posterior.Tanh:
		return activationUp(a, -t, -sign)
	case a.Kind == posterior.Sigmoid && t >= 0:
		if sign > 0 {
			return min(1, above(1/below(1+measure.ExpDown(-t))))
		}
		return -below(1 / above(1+measure.ExpUp(-t)))
	case a.Kind == posterior.Sigmoid:
		// e/(1+e), e = exp(t), rises with e.
		if sign > 0 {
			e := measure.ExpUp(t)
			return above(e / below(1+e))
		}
		e := measure.ExpDown(t)
		return -max(0, below(e/above(1+e)))
	case a.Kind == posterior.ReLU && t < 0:
		return 0
	case a.Kind == posterior.LeakyReLU && t < 0:
		return above(sign * a.Slope * t)
	}
	return sign * t
}
