package curves

import (
	"math"

	"psafe/host/arith"
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
	net.Sigmoid:  plain(SigmoidDown, SigmoidUp),
	net.Tanh:     plain(tanhDown, tanhUp),
	net.Softplus: plain(softplusDown, softplusUp),
	net.ELU:      {eluDown, eluUp},
}

// Supported reports whether the checker can bound the activation.
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
	return arith.ProductDown(below, t)
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
	return arith.ProductUp(below, t)
}

// Value encloses the activation's value in an interval.
func Value(a net.Activation, t arith.Interval) arith.Interval {
	return arith.Of(ValueDown(a, t.Lo), ValueUp(a, t.Hi))
}

// SigmoidDown is at most 1/(1+e^-t), SigmoidUp at least that. Below 0 it is e^t/(1+e^t), which is known relative to
// itself: what comes next may multiply it by anything.
func SigmoidDown(t float64) float64 {
	s := Sigmoid(t)
	down := max(0, arith.SumDown(s.Hi, arith.Down(s.Lo-0x1p-60)))
	if t < 0 {
		lo, _ := expOf(t)
		down = max(down, arith.ProductDown(lo, SigmoidDown(-t)))
	}
	return down
}

func SigmoidUp(t float64) float64 {
	s := Sigmoid(t)
	up := min(1, arith.SumUp(s.Hi, arith.Up(s.Lo+0x1p-60)))
	if t < 0 {
		_, hi := expOf(t)
		up = min(up, arith.ProductUp(hi, SigmoidUp(-t)))
	}
	return up
}

// expOf encloses e^t for t <= 0.
func expOf(t float64) (lo, hi float64) {
	if t < -746 { // e^-746 < 2^-1076
		return 0, arith.Eta
	}
	m, k := arith.ExpOf(arith.DDOf(t))
	e := math.Ldexp(m.Hi, k)
	return max(0, arith.Down(e*(1-0x1p-50))), arith.Up(e * (1 + 0x1p-50))
}

// tanhDown and tanhUp enclose tanh t, which for t >= 0 is between t - t^3/3 and t.
func tanhDown(t float64) float64 {
	if t < 0 {
		return -tanhUp(-t)
	}
	down := max(-1, arith.SumDown(2*SigmoidDown(2*t), -1))
	if t < 1 {
		down = max(down, 0, arith.SumDown(t, -arith.Up(arith.ProductUp(arith.ProductUp(t, t), t)/3)))
	}
	return down
}

func tanhUp(t float64) float64 {
	if t < 0 {
		return -tanhDown(-t)
	}
	return min(1, t, arith.SumUp(2*SigmoidUp(2*t), -1))
}

// lnOnePlus encloses ln(1 + e^-y) for y >= 0. With v near it, ln(1 + e^-y) = v + ln(1 + d) for
// d = (1 + e^-y) e^-v - 1, which is below 2^-50; d - d^2 <= ln(1 + d) <= d. What is computed of d
// is wrong by less than 2^-60.
func lnOnePlus(y float64) (lo, hi float64) {
	if y > 700 {
		return 0, 0x1p-1000 // e^-700 < 2^-1009
	}
	m, k := arith.ExpOf(arith.DDOf(-y))
	one := arith.DDOf(1).Plus(m.Scaled(k))
	v := math.Log1p(one.Hi - 1 + one.Lo)
	m, k = arith.ExpOf(arith.DDOf(-v))
	d := one.Times(m.Scaled(k)).Minus(arith.DDOf(1))
	if !(math.Abs(d.Hi) < 0x1p-40) {
		return 0, 1 // nothing is taken for granted of Log1p
	}
	return max(0, arith.SumDown(v, arith.Down(d.Hi-0x1p-60))), arith.SumUp(v, arith.Up(d.Hi+0x1p-60))
}

// softplusDown and softplusUp enclose ln(1 + e^t), which for t < 0 is between e^t - e^2t/2 and e^t.
func softplusDown(t float64) float64 {
	lo, _ := lnOnePlus(math.Abs(t))
	if t < 0 {
		least, most := expOf(t)
		return max(lo, arith.ProductDown(least, arith.SumDown(1, -most/2)))
	}
	return arith.SumDown(t, lo)
}

func softplusUp(t float64) float64 {
	_, hi := lnOnePlus(math.Abs(t))
	if t < 0 {
		_, most := expOf(t)
		return min(hi, most)
	}
	return arith.SumUp(max(t, 0), hi)
}

// eluDown and eluUp enclose t for t >= 0 and alpha (e^t - 1) for t < 0; alpha is in (0, 1].
func eluDown(a net.Activation, t float64) float64 {
	if !(t < 0) {
		return t
	}
	lo, _ := expm1(t)
	return max(-a.Slope, arith.Down(a.Slope*lo))
}

func eluUp(a net.Activation, t float64) float64 {
	if !(t < 0) {
		return t
	}
	_, hi := expm1(t)
	return min(0, arith.Up(a.Slope*hi))
}

// expm1 encloses e^t - 1 for t <= 0, which is between t and t + t^2/2.
func expm1(t float64) (lo, hi float64) {
	if t < -700 {
		return -1, -1 + arith.Unit // e^-700 < 2^-1009
	}
	m, k := arith.ExpOf(arith.DDOf(t))
	d := m.Scaled(k).Minus(arith.DDOf(1))
	lo, hi = max(-1, t, arith.SumDown(d.Hi, arith.Down(d.Lo-0x1p-60))), min(0, arith.SumUp(d.Hi, arith.Up(d.Lo+0x1p-60)))
	if t > -0.5 {
		hi = min(hi, arith.SumUp(t, arith.Up(arith.ProductUp(t, t)/2)))
	}
	return lo, hi
}

// Sigmoid is 1/(1+e^-t) as a dd, wrong by less than 2^-60, for every t but NaN, which
// it returns.
func Sigmoid(t float64) arith.DD {
	if t < -800 || t > 800 {
		return arith.DDOf(max(0, min(t, 1))) // the rest is below 2^-1100
	}
	v, k := arith.ExpOf(arith.DDOf(-math.Abs(t)))
	d := arith.DDOf(1).Plus(v.Scaled(k))
	// 1/d by one Newton step: q (2 - q d).
	q := 1 / d.Hi
	s := arith.DDOf(q).Times(arith.DDOf(2).Minus(d.Times(arith.DDOf(q))))
	if t < 0 {
		return arith.DDOf(1).Minus(s)
	}
	return s
}
