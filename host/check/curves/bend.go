package curves

import (
	"math"

	"psafe/host/arith"
	net "psafe/host/model/network"
)

// arc holds what the checker knows of an activation that is no kink, where t is on one side of 0.
type arc struct {
	// derivatives encloses s' and s'' from lo to hi, by the value w <= 1/2 of the logistic function at -|scale t|.
	derivatives func(a net.Activation, lo, hi float64, w arith.Interval) (first, second arith.Interval)
	scale       float64
	// beyond is what s is from x >= 0 on, and what it is up to x <= 0.
	right, left func(a net.Activation, x float64) Ray
}

// Ray bounds an activation beyond a point: at Slope t, and more by something that is within Off.
type Ray struct {
	Slope float64
	Off   arith.Interval
}

// arcs has them, all nowhere steeper than 1.
var arcs = map[net.Kind]arc{
	net.Sigmoid: {
		derivatives: func(_ net.Activation, lo, _ float64, w arith.Interval) (first, second arith.Interval) {
			return logistic(lo, w)
		},
		scale: 1,
		right: func(a net.Activation, x float64) Ray { return Ray{0, arith.Of(ValueDown(a, x), 1)} },
		left:  func(a net.Activation, x float64) Ray { return Ray{0, arith.Of(0, ValueUp(a, x))} },
	},
	net.Tanh: { // 2 sigmoid(2 t) - 1
		derivatives: func(_ net.Activation, lo, _ float64, w arith.Interval) (first, second arith.Interval) {
			first, second = logistic(lo, w)
			return first.Times(arith.Exactly(4)), second.Times(arith.Exactly(8))
		},
		scale: 2,
		right: func(a net.Activation, x float64) Ray { return Ray{0, arith.Of(ValueDown(a, x), 1)} },
		left:  func(a net.Activation, x float64) Ray { return Ray{0, arith.Of(-1, ValueUp(a, x))} },
	},
	net.Softplus: { // its slope is the logistic function
		derivatives: func(_ net.Activation, lo, hi float64, w arith.Interval) (first, second arith.Interval) {
			second, _ = logistic(lo, w)
			return arith.Of(SigmoidDown(lo), SigmoidUp(hi)), second
		},
		scale: 1,
		right: func(_ net.Activation, x float64) Ray {
			_, most := lnOnePlus(x)
			return Ray{1, arith.Of(0, most)}
		},
		left: func(a net.Activation, x float64) Ray { return Ray{0, arith.Of(0, ValueUp(a, x))} },
	},
	net.ELU: {
		derivatives: func(a net.Activation, lo, hi float64, _ arith.Interval) (first, second arith.Interval) {
			if lo >= 0 {
				return arith.Exactly(1), arith.Interval{}
			}
			least, _ := expm1(lo)
			_, most := expm1(hi)
			e := arith.Of(max(0, arith.Down(1+least)), min(1, arith.Up(1+most))).Times(arith.Exactly(a.Slope))
			return e, e
		},
		right: func(net.Activation, float64) Ray { return Ray{1, arith.Interval{}} },
		left:  func(a net.Activation, x float64) Ray { return Ray{0, arith.Of(-a.Slope, ValueUp(a, x))} },
	},
}

// logistic are the first and the second derivative of 1/(1+e^-t), which is w for t < 0 and 1 - w for t > 0.
func logistic(lo float64, w arith.Interval) (first, second arith.Interval) {
	one := arith.Exactly(1)
	first = w.Times(one.Minus(w))
	if second = first.Times(one.Minus(w.Plus(w))); lo >= 0 {
		second = second.Negated()
	}
	return first, second
}

// Smooth reports whether the checker knows the derivatives of an activation that is no kink.
func Smooth(a net.Activation) bool {
	_, known := arcs[a.Kind]
	return known
}

// Derivatives encloses s' and s” of a smooth activation on [lo, hi], lo >= 0 or hi <= 0.
func Derivatives(a net.Activation, lo, hi float64) (first, second arith.Interval) {
	of := arcs[a.Kind]
	near, far := min(math.Abs(lo), math.Abs(hi)), max(math.Abs(lo), math.Abs(hi))
	return of.derivatives(a, lo, hi, arith.Of(SigmoidDown(-of.scale*far), SigmoidUp(-of.scale*near)))
}

// Beyond is a smooth activation from x >= 0 on, or up to x <= 0 if it is to the left.
func Beyond(a net.Activation, x float64, left bool) Ray {
	if left {
		return arcs[a.Kind].left(a, x)
	}
	return arcs[a.Kind].right(a, x)
}
