package chernoff

import (
	"math"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
)

// unit is at least exp of what a neuron with the pre-activation t at the middle of a box adds to the exponent -h row
// anywhere in the box, as a function of t.
type unit struct {
	pieces []gauss.Piece
	// convex reports whether the logarithm is a convex function.
	convex bool
}

// steps is the number of steps in which shares are told: share k of a difference is k/steps, which is
// exact, as products with radii are, which are float32.
const steps = 128

// share is the part of a difference of pre-activations that goes through a neuron; what its output differs
// by beyond that is its loss.
func share(k uint8) float64 { return float64(k) / steps }

// leastBend keeps products of what bends by noise normal numbers.
const leastBend = 0x1p-600

// kink returns where the loss of a neuron with a negative coefficient bends, (2 share - 1) radius.
func kink(k uint8, radius float64) float64 { return (2*share(k) - 1) * radius }

// lastUnit is a neuron of the last hidden layer, whose coefficient in the row is a and whose noise there has the
// variance s z^2, at the rate h; its pre-activation moves by at most radius in the box ((54), docs/theory.md).
func lastUnit(h, a, s, radius float64, k uint8) unit {
	through, rest := share(k)*radius, (1-share(k))*radius
	bend := max(arith.ProductUp(arith.Up(h*h), s), leastBend)
	slope := arith.ProductUp(bend, radius)
	// bend (t+radius)^2/2 is at most more + slope t + bend t^2/2, whatever the sign of t >= -radius.
	more := arith.ProductUp(slope, radius*(0.5+0x1p-48))
	if s == 0 {
		bend, slope, more = 0, 0, 0
	}
	if a < 0 {
		c := arith.ProductUp(h, -a)
		flat, out, at := arith.ProductUp(c, through), arith.ProductUp(c, rest), kink(k, radius)
		rise := arith.SumUp(c, slope)
		return unit{[]gauss.Piece{
			{To: -radius, Power: flat},
			{To: at, Power: arith.SumUp(flat, more), Slope: slope, Bend: bend},
			{To: arith.Inf, Power: arith.SumUp(arith.SumUp(out, more), arith.ProductUp(rise, radius*0x1p-48)), Slope: rise, Bend: bend},
		}, true}
	}
	cLo, cHi := max(0, arith.ProductDown(h, a)), arith.ProductUp(h, a)
	return unit{[]gauss.Piece{
		{To: -radius, Power: arith.ProductUp(cHi, through)},
		{To: 0, Power: more, Slope: arith.SumDown(slope, -arith.ProductUp(cHi, share(k))), Bend: bend},
		{To: radius, Power: more, Slope: arith.SumUp(slope, -arith.ProductDown(cLo, share(k))), Bend: bend},
		{To: arith.Inf, Power: arith.SumUp(more, arith.ProductUp(cLo, rest)), Slope: arith.SumUp(slope, -cLo), Bend: bend},
	}, false}
}

// firstUnit is a neuron of the first hidden layer, of two: -al z + b z^2/2, and h times what it loses where its
// output differs with the coefficient a.
func firstUnit(h, a, al, b, radius float64, k uint8) unit {
	through, rest := share(k)*radius, (1-share(k))*radius
	c := arith.ProductUp(h, math.Abs(a))
	low, high := arith.ProductUp(c, through), arith.ProductUp(c, rest)
	last := gauss.Piece{To: arith.Inf, Power: high, Slope: -al, Bend: b}
	at := kink(k, radius)
	switch {
	case a >= 0:
		return unit{pieces: []gauss.Piece{
			{To: -radius, Power: low},
			{To: 0, Slope: -arith.ProductUp(c, share(k))},
			{To: radius, Slope: arith.SumUp(arith.ProductUp(c, 1-share(k)), -al), Bend: b},
			last,
		}}
	case at >= 0:
		return unit{pieces: []gauss.Piece{
			{To: 0, Power: low},
			{To: at, Power: low, Slope: arith.SumUp(-c, -al), Bend: b},
			last,
		}}
	}
	return unit{pieces: []gauss.Piece{
		{To: at, Power: low},
		{To: 0, Power: high, Slope: c},
		last,
	}}
}

// certainUp is at least the logarithm where t is somewhere between two numbers, surely.
func (u *unit) certainUp(lo, hi float64) float64 {
	most, from := math.Inf(-1), math.Inf(-1)
	for _, p := range u.pieces {
		if a, b := max(lo, from), min(hi, p.To); a <= b {
			t := arith.Of(a, b)
			most = max(most, arith.Exactly(p.Power).Plus(arith.Exactly(p.Slope).Times(t)).Plus(arith.Exactly(p.Bend).Times(t.Square()).Times(arith.Exactly(0.5))).Hi)
		}
		from = p.To
	}
	if !(most < arith.Inf) {
		return arith.Inf
	}
	return most
}

// momentUp bounds the moment of a neuron of which the mean and the variance are known up to rounding.
func (u *unit) momentUp(r rect) float64 {
	if r.varLo == 0 && r.varHi == 0 {
		return u.certainUp(r.meanLo, r.meanHi)
	}
	return r.above(u, slopes{}, arith.Inf)
}
