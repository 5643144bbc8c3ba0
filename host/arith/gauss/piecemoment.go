package gauss

import (
	"math"

	"psafe/host/arith"
)

// Piece is exp(Power + Slope t + Bend t^2/2), for t from the end of the piece before, or -Inf, up to To.
type Piece struct{ To, Power, Slope, Bend float64 }

// PiecesMomentUp returns an upper bound of log E G(W), W ~ N(mean, v), where G is made of pieces, whose ends ascend,
// the last being +Inf. With D = 1 - b v > 0, the piece e^(p + q t + b t^2/2) from x0 to x1 has
//
//	e^(p+E) (Phi(y1) - Phi(y0))/sqrt D,   E = (b mean^2 + 2 q mean + q^2 v)/(2 D),
//	y = (x D - mean - q v)/(s sqrt D),    s = sqrt v                                            (51d)
//
// (docs/theory.md, section 7). It is +Inf where a D is not surely positive, and for what is no number. Far from the
// mode, where E and y^2/2 may both be large, the factors are those of the density at the nearer end.
func PiecesMomentUp(pieces []Piece, mean, v float64) float64 {
	if !(math.Abs(mean) <= math.MaxFloat64 && v >= 0 && v <= math.MaxFloat64) {
		return math.Inf(1)
	}
	var few [2][fewPieces]float64
	factors, powers := few[0][:], few[1][:]
	if len(pieces) > fewPieces {
		factors, powers = make([]float64, len(pieces)), make([]float64, len(pieces))
	}
	most, from := math.Inf(-1), math.Inf(-1)
	for i, p := range pieces {
		switch {
		case !(math.Abs(p.Power) <= math.MaxFloat64 && math.Abs(p.Slope) <= math.MaxFloat64 && math.Abs(p.Bend) <= math.MaxFloat64 && from <= p.To):
			return math.Inf(1)
		case from == p.To || v == 0 && !(from <= mean && mean <= p.To):
			powers[i] = math.Inf(-1)
		case v == 0:
			factors[i], powers[i] = 1, p.at(mean)
		default:
			factors[i], powers[i] = p.momentUp(from, mean, v)
		}
		if !(powers[i] < math.Inf(1)) || !(factors[i] <= math.MaxFloat64) {
			return math.Inf(1)
		}
		most, from = max(most, powers[i]), p.To
	}
	if v == 0 {
		return numberOrInf(most)
	}
	sum := 0.0
	for i := range pieces {
		if powers[i] > math.Inf(-1) {
			sum = up(sum + up(factors[i]*arith.ExpUp(up(powers[i]-most))))
		}
	}
	if !(sum > 0 && sum <= math.MaxFloat64) {
		return math.Inf(1)
	}
	return numberOrInf(up(most + arith.LogUp(sum)))
}

// fewPieces are as many as need no memory.
const fewPieces = 4

// at is at least the exponent at t.
func (p *Piece) at(t float64) float64 {
	square := max(0, down(t*t))
	if p.Bend > 0 {
		square = up(t * t)
	}
	return up(up(p.Power+up(p.Slope*t)) + up(p.Bend*square)/2)
}

// PieceMomentUp is at least p + E - log(D)/2, the logarithm of the moment if the piece were everywhere.
func (p *Piece) PieceMomentUp(mean, v float64) float64 {
	return numberOrInf(up(p.Power + MomentUp(-p.Slope, p.Bend, mean, v)))
}

// momentUp is at least the piece's part of the moment from x0 on, as a factor and a power of e.
func (p *Piece) momentUp(x0, mean, v float64) (factor, power float64) {
	dLo, dHi := down(1-up(p.Bend*v)), up(1-down(p.Bend*v))
	if !(dLo > 0) {
		return 1, math.Inf(1)
	}
	sLo, sHi := down(math.Sqrt(v)), up(math.Sqrt(v))
	rLo, rHi := down(math.Sqrt(dLo)), up(math.Sqrt(dHi))
	below, above := down(sLo*rLo), up(sHi*rHi)
	if !(below > 0) {
		return 1, math.Inf(1)
	}
	shift := p.Slope * v
	y0, y1 := math.Inf(-1), math.Inf(1) // y0 from below, y1 from above
	if x0 > y0 {
		y0 = down(quotient(down(min(down(x0*dLo), down(x0*dHi))-up(mean+up(shift))), above, below))
	}
	if p.To < y1 {
		y1 = up(quotient(up(max(up(p.To*dLo), up(p.To*dHi))-down(mean+down(shift))), below, above))
	}
	switch {
	case math.IsNaN(y0) || math.IsNaN(y1):
		return 1, math.Inf(1)
	case y0 >= seriesEnd:
		return p.beyond(x0, y0, up(p.To-x0), mean, v, sLo, rLo)
	case y1 <= -seriesEnd:
		return p.beyond(p.To, -y1, up(p.To-x0), mean, v, sLo, rLo)
	}
	e := exponentUp(-p.Slope, p.Bend, mean, v, max(0, down(mean*mean)), up(mean*mean), dLo, dHi)
	return up(betweenTailsUp(y0, y1) / rLo), up(p.Power + e)
}

// beyond bounds where the density of the moment falls from the piece's end x on, as far as width: it has Mills'
// ratio at y times the density there, and at most that density times the width.
func (p *Piece) beyond(x, y, width, mean, v, sLo, rLo float64) (factor, power float64) {
	off := max(0, down(math.Abs(x-mean)))
	factor = min(up(millsUp(y)/rLo), up(width/sLo))
	return up(factor * (invSqrt2Pi * (1 + 4*unit))), up(p.at(x) - max(0, down(max(0, down(off*off))/v))/2)
}

// betweenTailsUp is at least Phi(b) - Phi(a).
func betweenTailsUp(a, b float64) float64 {
	switch {
	case a >= 0:
		return max(tiny, up(TailUp(a)-TailDown(b)))
	case b <= 0:
		return max(tiny, up(TailUp(-b)-TailDown(-a)))
	}
	return max(tiny, up(up(1-TailDown(-a))-TailDown(b)))
}
