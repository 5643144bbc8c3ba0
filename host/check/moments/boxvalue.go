package moments

import (
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
)

// stretch is e^(power + slope t + bend t^2/2), or more, for t between two numbers.
type stretch struct{ from, to, power, slope, bend float64 }

// response is a function of a neuron's pre-activation t at the middle of a box: at least e to the power of what the
// neuron adds to -h times the row anywhere in the box.
type response struct {
	parts []stretch
	// convex reports whether its logarithm is convex, but for roundings upward.
	convex bool
}

// lost returns how a neuron's loss begins and rises between from and to: its output is off by at most start + rise t
// from what goes through, the part share of the difference. up says that the output should not be larger, as where
// its coefficient is negative. All numbers are exact.
func lost(up bool, share, radius float64, t float64) (start, rise float64) {
	if up { // max(share radius, t + (1-share) radius) - max(t, 0)
		if t < (2*share-1)*radius {
			start = share * radius
		} else {
			start, rise = (1-share)*radius, 1
		}
		if t > 0 {
			rise--
		}
		return start, rise
	}
	switch {
	case t < -radius:
		return share * radius, 0
	case t < 0:
		return 0, -share
	case t < radius:
		return 0, 1 - share
	}
	return (1 - share) * radius, 0
}

// responseOf returns what a neuron adds: -h (a times its output) or with a base, -al z + b z^2/2 in its place, h |a|
// times its loss, and where it is in the last hidden layer the noise bend (t+radius)^2/2 for t > -radius.
func responseOf(h, a, share, radius float64, base *stretch, bend arith.Interval) response {
	ends := []float64{math.Inf(-1), -radius, 0, (2*share - 1) * radius, radius, math.Inf(1)}
	slices.Sort(ends)
	up, zero, square := a < 0, arith.Exactly(0), arith.Exactly(radius).Square()
	size := arith.Exactly(h).Times(arith.Exactly(math.Abs(a)))
	f := response{convex: up && base == nil}
	for i, to := range ends[1:] {
		from := ends[i]
		if !(from < to) {
			continue
		}
		inside := from/2 + to/2 // what is infinite ends beyond its other end, however large that is
		if i == 0 {
			inside = to - 1 - math.Abs(to)
		} else if to == math.Inf(1) {
			inside = from + 1 + math.Abs(from)
		}
		start, rise := lost(up, share, radius, inside)
		s := stretch{from: from, to: to}
		power, slope := size.Times(arith.Exactly(start)), zero
		switch {
		case base != nil:
			slope = size.Times(arith.Exactly(rise))
			if inside > 0 {
				slope = slope.Plus(arith.Exactly(base.slope))
				s.bend = base.bend
			}
		case inside > 0 && up:
			slope = size.Times(arith.Exactly(rise + 1))
		case inside > 0:
			slope = size.Times(arith.Exactly(rise - 1))
		default:
			slope = size.Times(arith.Exactly(rise))
		}
		if base == nil && inside > -radius {
			power = power.Plus(bend.Times(square).Times(arith.Exactly(0.5)))
			slope = slope.Plus(bend.Times(arith.Exactly(radius)))
			s.bend = bend.Hi
		}
		s.power, s.slope = power.Hi, slope.Hi
		if inside < 0 {
			s.slope = slope.Lo
		}
		f.parts = append(f.parts, s)
	}
	return f
}

// valueUp is at least log E G(W) for W ~ N(mean, v), v > 0 ((51d) of docs/theory.md).
func (f *response) valueUp(mean, v float64) float64 {
	pieces := make([]gauss.Piece, len(f.parts))
	for i, s := range f.parts {
		pieces[i] = gauss.Piece{To: s.to, Power: s.power, Slope: s.slope, Bend: s.bend}
	}
	return gauss.PiecesMomentUp(pieces, mean, v)
}

// at is at least the exponent at t.
func (s *stretch) at(t arith.Interval) float64 {
	return arith.Exactly(s.power).Plus(arith.Exactly(s.slope).Times(t)).Plus(arith.Exactly(s.bend).Times(t.Square()).Times(arith.Exactly(0.5))).Hi
}

// ends are y0 and y1 of a stretch for means and variances within r, and the root of 1 - b v.
func (s *stretch) ends(r bounds) (y0, y1 float64, root arith.Interval) {
	room := arith.Exactly(1).Minus(arith.Exactly(s.bend).Times(r.variance))
	if !(room.Lo > 0) {
		return math.NaN(), math.NaN(), room
	}
	root = room.Sqrt()
	spread, shift := r.variance.Times(room).Sqrt(), r.mean.Plus(arith.Exactly(s.slope).Times(r.variance))
	y0, y1 = math.Inf(-1), math.Inf(1)
	if s.from > y0 {
		y0 = arith.Exactly(s.from).Times(room).Minus(shift).Over(spread).Lo
	}
	if s.to < y1 {
		y1 = arith.Exactly(s.to).Times(room).Minus(shift).Over(spread).Hi
	}
	return y0, y1, root
}

// certainUp is at least the logarithm where t is surely within an interval.
func (f *response) certainUp(t arith.Interval) float64 {
	most := math.Inf(-1)
	for i := range f.parts {
		if lo, hi := max(t.Lo, f.parts[i].from), min(t.Hi, f.parts[i].to); lo <= hi {
			most = max(most, f.parts[i].at(arith.Of(lo, hi)))
		}
	}
	return most
}
