package average

import (
	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/read/inputlaw"
	"psafe/host/read/property"
)

// massDown bounds from below how likely the inputs of a law with sides are in a box. Boxes are half open: of two neighbours
// the upper one has the edge, and top, the upper end of all boxes, is of the last one.
func massDown(l *inputlaw.Law, box *property.Box, top []float64) float64 {
	mass := 1.0
	for j := range l.Sides {
		side := sideDown(&l.Sides[j], box.Lo[j], box.Hi[j], top[j])
		if !(side > 0) { // NaN as well
			return 0
		}
		mass = arith.ProductDown(mass, min(side, 1))
	}
	return mass
}

// sideDown bounds the mass of one input from below, if it is above 0.
func sideDown(s *inputlaw.Side, lo, hi, top float64) float64 {
	switch s.Kind {
	case inputlaw.Normal:
		return betweenDown(s, lo, hi)
	case inputlaw.Truncated:
		all := betweenUp(s, s.From.Lo, s.To.Hi)
		part := betweenDown(s, max(lo, s.From.Hi), min(hi, s.To.Lo))
		return arith.Exactly(part).Over(arith.Exactly(all)).Lo
	case inputlaw.Uniform:
		part := arith.Difference(min(hi, s.To.Lo), max(lo, s.From.Hi)).Lo
		all := arith.Difference(s.To.Hi, s.From.Lo).Hi
		return arith.Exactly(part).Over(arith.Exactly(all)).Lo
	case inputlaw.Atoms:
		sum := 0.0
		for _, a := range s.Atoms {
			if inside(a.At, lo, hi, top) {
				sum = arith.SumDown(sum, a.Mass)
			}
		}
		return sum
	}
	return 0
}

// inside reports whether a number is surely in a side of a box, whose upper end is of it where it is the top, or its lower
// one as well. A number that is no float64 is below the one above it.
func inside(x property.Decimal, lo, hi, top float64) bool {
	return lo <= x.Lo && (x.Hi < hi || x.Hi == hi && (x.Lo < x.Hi || hi == top || lo == hi))
}

// standard encloses (x - mean)/sd.
func standard(s *inputlaw.Side, x float64) arith.Interval {
	return arith.Exactly(x).Minus(arith.Of(s.Mean.Lo, s.Mean.Hi)).Over(arith.Of(s.SD.Lo, s.SD.Hi))
}

// Tails are moved by held of themselves, so that psafe check, whose arguments are rounded otherwise, finds no less: up to farTail bounds
// are within 2^-41 of a tail, and a rounding of z moves it by z^2 2^-52 at most.
const (
	held    = 0x1p-38
	farTail = 37
)

func tailDown(z float64) float64 { return arith.Down(gauss.TailDown(z) * (1 - held)) }
func tailUp(z float64) float64   { return arith.Up(gauss.TailUp(z) * (1 + held)) }

// betweenDown is a lower bound of the probability that the normal number of a side is from lo to hi.
func betweenDown(s *inputlaw.Side, lo, hi float64) float64 {
	a, b := standard(s, lo).Hi, standard(s, hi).Lo
	switch {
	case !(a < b) || a > farTail || b < -farTail:
		return 0
	case a >= 0:
		return arith.SumDown(tailDown(a), -tailUp(b))
	case b <= 0:
		return arith.SumDown(tailDown(-b), -tailUp(-a))
	}
	return arith.SumDown(arith.SumDown(1, -tailUp(-a)), -tailUp(b))
}

// betweenUp is an upper bound of the same.
func betweenUp(s *inputlaw.Side, lo, hi float64) float64 {
	a, b := standard(s, lo).Lo, standard(s, hi).Hi
	switch {
	case a >= 0:
		return arith.SumUp(tailUp(a), -tailDown(b))
	case b <= 0:
		return arith.SumUp(tailUp(-b), -tailDown(-a))
	}
	return arith.SumUp(arith.SumUp(1, -tailDown(-a)), -tailDown(b))
}
