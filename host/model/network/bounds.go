package network

import (
	"math"

	"psafe/host/arith"
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
		e := arith.ExpDown(-2 * t)
		return min(1, above(above(1-e)/below(1+e)))
	}
	e := arith.ExpUp(-2 * t)
	return -max(0, below(below(1-e)/above(1+e)))
}

// sigmoidUp bounds sign / (1 + exp(-t)).
func sigmoidUp(t, sign float64) float64 {
	switch {
	case math.IsNaN(t):
		return t
	case t >= 0 && sign > 0:
		return min(1, above(1/below(1+arith.ExpDown(-t))))
	case t >= 0:
		return -below(1 / above(1+arith.ExpUp(-t)))
	case sign > 0:
		// e/(1+e), e = exp(t), rises with e.
		e := arith.ExpUp(t)
		return above(e / below(1+e))
	}
	e := arith.ExpDown(t)
	return -max(0, below(e/above(1+e)))
}

// softplusUp bounds sign ln(1 + exp(t)) = sign (max(t, 0) - ln(1 - q)), q = sigmoid(-|t|).
func softplusUp(t, sign float64) float64 {
	if math.IsNaN(t) {
		return t
	}
	m, away := max(t, 0), -math.Abs(t)
	if sign > 0 {
		return above(m - arith.LogComplementDown(sigmoidUp(away, 1)))
	}
	return -max(m, below(m-arith.LogComplementUp(-sigmoidUp(away, -1))))
}

// eluUp bounds sign (t for t >= 0, slope (exp(t) - 1) for t < 0), 0 < slope <= 1.
func eluUp(slope, t, sign float64) float64 {
	switch {
	case !(t < 0): // NaN among them
		return sign * t
	case sign > 0:
		return min(0, above(slope*above(arith.ExpUp(t)-1)))
	}
	return min(slope, above(slope*above(1-arith.ExpDown(t))))
}

// straight is the bend of two lines that meet at 0.
func straight(Activation, float64, float64) (least, most float64) { return 0, 0 }

// logistic encloses w = 1/(1 + exp(|t|)), which is at most 1/2, for t in an interval on one side of 0.
func logistic(lo, hi float64) (least, most float64) {
	near, far := min(math.Abs(lo), math.Abs(hi)), max(math.Abs(lo), math.Abs(hi))
	return max(0, -sigmoidUp(-far, -1)), min(0.5, sigmoidUp(-near, 1))
}

// few is more than what a few roundings of numbers that are not small change a product by.
const few = 1 + 0x1p-48

// bendSoftplus: s” = w (1 - w), which rises with w.
func bendSoftplus(_ Activation, lo, hi float64) (least, most float64) {
	wLo, wHi := logistic(lo, hi)
	return max(0, below(wLo*(1-wLo)/few)), above(wHi * (1 - wHi) * few)
}

// bendSigmoid: s” = -+w (1 - w)(1 - 2w) for t >= 0 and t <= 0.
func bendSigmoid(_ Activation, lo, hi float64) (least, most float64) {
	wLo, wHi := logistic(lo, hi)
	least, most = max(0, below(wLo*(1-wLo)*(1-2*wHi)/few)), above(wHi*(1-wHi)*(1-2*wLo)*few)
	if lo >= 0 {
		return -most, -least
	}
	return least, most
}

// bendTanh: tanh t = 2 sigmoid(2t) - 1.
func bendTanh(a Activation, lo, hi float64) (least, most float64) {
	least, most = bendSigmoid(a, 2*lo, 2*hi)
	return 8 * least, 8 * most
}

// bendELU: s” = slope exp(t) for t < 0.
func bendELU(a Activation, lo, hi float64) (least, most float64) {
	if lo >= 0 {
		return 0, 0
	}
	return max(0, below(a.Slope*arith.ExpDown(lo)/few)), above(a.Slope * arith.ExpUp(hi) * few)
}
