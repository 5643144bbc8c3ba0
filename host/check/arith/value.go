package arith

import (
	"math"

	net "psafe/host/model/network"
)

// curve encloses the value of an activation that is not kinked at 0.
type curve struct {
	down, up func(a net.Activation, t float64) float64
}

// plain is a curve without a slope.
func plain(down, up func(t float64) float64) curve {
	return curve{
		func(_ net.Activation, t float64) float64 { return down(t) },
		func(_ net.Activation, t float64) float64 { return up(t) },
	}
}

// curves has the activations that net.Activation.Kinked does not describe. A kind that is
// in neither is unknown here, and supported says so.
var curves = map[net.Kind]curve{
	net.Sigmoid: plain(sigmoidDown, SigmoidUp),
	net.Tanh: plain(
		func(t float64) float64 { return max(-1, SumDown(2*sigmoidDown(2*t), -1)) },
		func(t float64) float64 { return min(1, SumUp(2*SigmoidUp(2*t), -1)) },
	),
	net.Softplus: plain(softplusDown, softplusUp),
	net.ELU:      {eluDown, eluUp},
}

// Supported says whether the checker can bound the activation.
func Supported(a net.Activation) bool {
	if _, kinked := a.Kinked(); kinked {
		return true
	}
	_, known := curves[a.Kind]
	return known
}

// ValueDown is a lower bound of the activation's value, for every real number from t on:
// all activations are nondecreasing.
func ValueDown(a net.Activation, t float64) float64 {
	below, kinked := a.Kinked()
	switch {
	case !kinked:
		return curves[a.Kind].down(a, t)
	case t >= 0 || below == 1:
		return t
	case below == 0:
		return 0
	}
	p, e := TwoProduct(below, t)
	if e >= 0 && p < -0x1p-900 {
		return p
	}
	return Down(p)
}

// ValueUp is an upper bound of it, for every real number up to t.
func ValueUp(a net.Activation, t float64) float64 {
	below, kinked := a.Kinked()
	switch {
	case !kinked:
		return curves[a.Kind].up(a, t)
	case t >= 0 || below == 1:
		return t
	case below == 0:
		return 0
	}
	p, e := TwoProduct(below, t)
	if e <= 0 && p < -0x1p-900 {
		return p
	}
	return Up(p)
}

// sigmoidDown and SigmoidUp enclose 1/(1+e^-t).
func sigmoidDown(t float64) float64 {
	s := Sigmoid(t)
	return max(0, SumDown(s.Hi, Down(s.Lo-0x1p-60)))
}

func SigmoidUp(t float64) float64 {
	s := Sigmoid(t)
	return min(1, SumUp(s.Hi, Up(s.Lo+0x1p-60)))
}

// lnOnePlus encloses ln(1 + e^-y) for y >= 0. With v near it, ln(1 + e^-y) = v + ln(1 + d) for
// d = (1 + e^-y) e^-v - 1, which is below 2^-50; d - d^2 <= ln(1 + d) <= d. What is computed of d
// is wrong by less than 2^-60.
func lnOnePlus(y float64) (lo, hi float64) {
	if y > 700 {
		return 0, 0x1p-1000 // e^-700 < 2^-1009
	}
	m, k := ExpOf(DDOf(-y))
	one := DDOf(1).Plus(m.Scaled(k))
	v := math.Log1p(one.Hi - 1 + one.Lo)
	m, k = ExpOf(DDOf(-v))
	d := one.Times(m.Scaled(k)).Minus(DDOf(1))
	if !(math.Abs(d.Hi) < 0x1p-40) {
		return 0, 1 // nothing is taken for granted of Log1p
	}
	return max(0, SumDown(v, Down(d.Hi-0x1p-60))), SumUp(v, Up(d.Hi+0x1p-60))
}

func softplusDown(t float64) float64 {
	lo, _ := lnOnePlus(math.Abs(t))
	return SumDown(max(t, 0), lo)
}

func softplusUp(t float64) float64 {
	_, hi := lnOnePlus(math.Abs(t))
	return SumUp(max(t, 0), hi)
}

// eluDown and eluUp enclose t for t >= 0 and alpha (e^t - 1) for t < 0; alpha is in (0, 1].
func eluDown(a net.Activation, t float64) float64 {
	if !(t < 0) {
		return t
	}
	lo, _ := expm1(t)
	return max(-a.Slope, Down(a.Slope*lo))
}

func eluUp(a net.Activation, t float64) float64 {
	if !(t < 0) {
		return t
	}
	_, hi := expm1(t)
	return min(0, Up(a.Slope*hi))
}

// expm1 encloses e^t - 1 for t <= 0.
func expm1(t float64) (lo, hi float64) {
	if t < -700 {
		return -1, -1 + Unit // e^-700 < 2^-1009
	}
	m, k := ExpOf(DDOf(t))
	d := m.Scaled(k).Minus(DDOf(1))
	return max(-1, SumDown(d.Hi, Down(d.Lo-0x1p-60))), min(0, SumUp(d.Hi, Up(d.Lo+0x1p-60)))
}
