package network

import (
	"math"

	"psafe/host/prove/measure"
)

// ValueDown and ValueUp enclose the real number s(t): ValueDown(t) <= s(t) <= ValueUp(t),
// rounded outward, for every finite t; of NaN they make NaN.
func (a Activation) ValueDown(t float64) float64 { return -a.facts().up(a, t, -1) }

// ValueUp is the upper one of these bounds.
func (a Activation) ValueUp(t float64) float64 { return a.facts().up(a, t, 1) }

func above(x float64) float64 { return math.Nextafter(x, inf) }
func below(x float64) float64 { return math.Nextafter(x, -inf) }

// kinkedUp bounds sign max(t, slope t) for 0 <= slope <= 1; of NaN it makes NaN, as the
// others do.
func kinkedUp(slope, t, sign float64) float64 {
	switch {
	case !(t < 0) || slope == 1:
		return sign * t
	case slope == 0:
		return 0
	}
	return above(sign * slope * t)
}

// tanhUp bounds sign tanh(t).
func tanhUp(t, sign float64) float64 {
	switch {
	case t == 0 || math.IsNaN(t):
		return t
	case t < 0:
		return tanhUp(-t, -sign)
	case sign > 0:
		// tanh t = (1-e)/(1+e), e = exp(-2t), falls with e.
		e := measure.ExpDown(-2 * t)
		return min(1, above(above(1-e)/below(1+e)))
	}
	e := measure.ExpUp(-2 * t)
	return -max(0, below(below(1-e)/above(1+e)))
}

// sigmoidUp bounds sign / (1 + exp(-t)).
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

// softplusUp bounds sign ln(1 + exp(t)) = sign (max(t, 0) - ln(1 - q)), q = sigmoid(-|t|).
func softplusUp(t, sign float64) float64 {
	if math.IsNaN(t) {
		return t
	}
	m, away := max(t, 0), -math.Abs(t)
	if sign > 0 {
		return above(m - measure.LogComplementDown(sigmoidUp(away, 1)))
	}
	return -max(m, below(m-measure.LogComplementUp(-sigmoidUp(away, -1))))
}

// eluUp bounds sign (t for t >= 0, slope (exp(t) - 1) for t < 0), 0 < slope <= 1.
func eluUp(slope, t, sign float64) float64 {
	switch {
	case !(t < 0): // NaN among them
		return sign * t
	case sign > 0:
		return min(0, above(slope*above(measure.ExpUp(t)-1)))
	}
	return min(slope, above(slope*above(1-measure.ExpDown(t))))
}
