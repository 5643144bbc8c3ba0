package chernoff

import (
	"math"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/model/network"
)

// Activations other than ReLU (docs/theory.md, section 7.7): exp(-al z + b z^2/2), z = s(t), as a function of the
// pre-activation t, is at most e^(p + q t + c t^2/2) on pieces, whose moments are known.

// curve is the surface of such pieces. There may be many, so that corners know their sum alone.
type curve struct{ unit }

func (s *curve) corner(mean, v, down float64) corner {
	return corner{high: arith.Up(gauss.PiecesMomentUp(s.pieces, mean, v) + down), down: down}
}

// openUp is (51e), by pieces at the corners.
func (s *curve) openUp(c *cell) float64 {
	open, share, top, from := make([]float64, len(s.pieces)), make([]float64, len(s.pieces)), math.Inf(-1), math.Inf(-1)
	means, variances := [2]float64{c.meanLo, c.meanHi}, [2]float64{c.varLo, c.varHi}
	for i := range s.pieces {
		p := &s.pieces[i]
		if !(p.Bend >= 0) {
			return arith.Inf
		}
		open[i] = math.Inf(-1)
		for j, mean := range means {
			for k, v := range variances {
				open[i] = max(open[i], arith.Up(p.PieceMomentUp(mean, v)+c.at[j][k].down))
			}
		}
		if !(open[i] < arith.Inf) {
			return arith.Inf
		}
		share[i] = s.shareUp(i, from, c.rect)
		top, from = max(top, open[i]), p.To
	}
	sum := 0.0
	for i := range open {
		sum = arith.Up(sum + arith.Up(share[i]*arith.ExpUp(arith.Up(open[i]-top))))
	}
	return arith.Up(top + arith.LogUp(sum))
}

// surface is the logarithm of the moment E exp(-al z + b z^2/2) of a neuron whose pre-activation is about in r; where it
// is by pieces, they are at most about tol above that in all neurons of the layer together.
func (l *layer) surface(al arith.Interval, b float64, r rect, tol float64) surface {
	if l.relu {
		return relu{al.Lo, b}
	}
	return l.curve(al, b, r, tol)
}

func (l *layer) curve(al arith.Interval, b float64, r rect, tol float64) *curve {
	if below, kinked := l.act.Kinked(); kinked {
		return kinkedCurve(below, al, b)
	}
	return smoothCurve(l.act, al, b, r, tol/float64(l.out))
}

// firstUp bounds the moment of a neuron of the first layer, of which the mean and the variance are known up to rounding.
func (l *layer) firstUp(al arith.Interval, b float64, r rect, tol float64) float64 {
	switch {
	case l.relu:
		return r.momentUp(al.Lo, b)
	case r.varLo == 0 && r.varHi == 0:
		return l.curve(al, b, r, tol).certainUp(r.meanLo, r.meanHi)
	}
	return r.above(l.curve(al, b, r, tol), slopes{}, arith.Inf)
}

// kinkedCurve makes the curve below t for t < 0 and t above.
func kinkedCurve(below float64, al arith.Interval, b float64) *curve {
	slope := arith.ProductDown(-al.Hi, below) // times t < 0
	square := arith.ProductUp(below, below)
	if b < 0 {
		square = max(0, arith.ProductDown(below, below))
	}
	return &curve{unit{[]gauss.Piece{
		{To: 0, Slope: slope, Bend: arith.ProductUp(b, square)},
		{To: arith.Inf, Slope: -al.Lo, Bend: b},
	}, al.Hi <= 0 && b >= 0}}
}

const (
	// farEnd is beyond which a smooth activation is taken for two lines that enclose it.
	farEnd = 32
	// mostPieces is how many pieces there may be, or the tolerance is larger.
	mostPieces = 256
	// widest is how many deviations from the mean cells are cut.
	widest = 7
	// bendShare is how much of a moment's room 1 - b v the bend of a piece may take.
	bendShare = 0.5
	// leastRoom is the least room where cells are chosen.
	leastRoom = 0.05
)

// smoothCurve cuts the line where pieces are more than tol above the function.
func smoothCurve(act network.Activation, al arith.Interval, b float64, r rect, tol float64) *curve {
	f := &bent{act: act, al: al, b: b, most: bendShare / max(r.varHi, 0x1p-1000)}
	f.sd = math.Sqrt(max(r.varHi, 0x1p-1000))
	room := max(1-b*r.varHi, leastRoom) // where (52) tilts the law to is (m - al v)/room, at most
	mode := (max(math.Abs(r.meanLo), math.Abs(r.meanHi))*max(0, 1-room) + al.Size()*f.sd*f.sd) / room
	f.from, f.to = r.meanLo-mode-widest*f.sd/math.Sqrt(room), r.meanHi+mode+widest*f.sd/math.Sqrt(room)
	s := &curve{}
	left, right := -float64(farEnd), float64(farEnd)
	if least, most := act.BendWithin(0, arith.Inf); least == 0 && most == 0 {
		right = 0
	}
	for ; ; tol *= 4 {
		at := f.at(left)
		s.pieces = append(s.pieces[:0], f.outer(left, -1))
		for _, end := range []float64{-8, -4, -2, 0, 2, 4, 8, right} {
			if end > right {
				break
			}
			next := f.at(end)
			s.pieces = f.cut(s.pieces, at, next, tol)
			at = next
		}
		if s.pieces = append(s.pieces, f.outer(right, 1)); len(s.pieces) <= mostPieces || !(tol < 1) {
			return s
		}
	}
}

// bent is g(t) = -al s(t) + b s(t)^2/2, for every al of an interval.
type bent struct {
	act      network.Activation
	al       arith.Interval
	b, most  float64 // most is how much a piece may bend
	from, to float64 // where tol counts
	sd       float64
}

// place is t with s(t), and g(t) from above.
type place struct {
	t float64
	z arith.Interval
	g float64
}

func (f *bent) at(t float64) place {
	z := arith.Of(f.act.ValueDown(t), f.act.ValueUp(t))
	return place{t, z, f.of(z)}
}

// of is at least -al z + b z^2/2.
func (f *bent) of(z arith.Interval) float64 {
	return z.Square().Times(f.half()).Minus(f.al.Times(z)).Hi
}

// half encloses b/2, which may be subnormal.
func (f *bent) half() arith.Interval { return arith.Exactly(f.b).Times(arith.Exactly(0.5)) }

// cut appends pieces from x to y. Where g” >= c, g is at most its chord and -c (t-x)(y-t)/2.
func (f *bent) cut(pieces []gauss.Piece, x, y place, tol float64) []gauss.Piece {
	least, most := f.bends(x, y)
	c := min(least, f.most)
	if math.Abs(c) < leastBend { // halves are normal numbers
		c = leastBend * math.Floor(c/leastBend)
	}
	beyond := max(0, f.from-y.t, x.t-f.to) / f.sd // what is there counts little
	width := arith.SumUp(y.t, -x.t)
	if off := (most - c) * width * width / 8; off > tol+beyond+beyond*beyond/4 && len(pieces) < 8*mostPieces {
		if mid := arith.Middle(x.t, y.t); x.t < mid && mid < y.t {
			at := f.at(mid)
			return f.cut(f.cut(pieces, x, at, tol), at, y, tol)
		}
	}
	lift := 0.0
	if c < 0 && f.b >= 0 { // a line above the arc, as (51e) is for pieces that bend up
		lift, c = arith.Up(arith.Up(width*width)*-c)/8, 0
	}
	// p + q t + c t^2/2 is at or above g at both ends.
	q := (y.g-x.g)/(y.t-x.t) - c*(x.t+y.t)/2
	p := math.Inf(-1)
	for _, end := range []place{x, y} {
		t := arith.Exactly(end.t)
		p = max(p, arith.Exactly(end.g).Minus(arith.Exactly(q).Times(t)).Minus(arith.Exactly(c/2).Times(t.Square())).Hi)
	}
	return append(pieces, gauss.Piece{To: y.t, Power: arith.Up(p + lift), Slope: q, Bend: c})
}

// bends encloses g” = -al s” + b (s'^2 + s s”) from x to y. s' is somewhere the slope of the chord.
func (f *bent) bends(x, y place) (least, most float64) {
	lo, hi := f.act.BendWithin(x.t, y.t)
	second, width := arith.Of(lo, hi), arith.Difference(y.t, x.t)
	chord := y.z.Minus(x.z).Over(width)
	off := width.Times(arith.Exactly(second.Size())).Hi
	first := arith.Of(max(0, arith.SumDown(chord.Lo, -off)), min(f.act.Lipschitz(), arith.SumUp(chord.Hi, off)))
	if !(first.Lo <= first.Hi) {
		first = arith.Of(0, f.act.Lipschitz())
	}
	z := arith.Of(x.z.Lo, y.z.Hi)
	g := first.Square().Plus(z.Times(second)).Times(arith.Exactly(f.b)).Minus(f.al.Times(second))
	return g.Lo, g.Hi
}

// line is at + slope (t - x).
type line struct{ at, slope float64 }

// outer is the piece beyond x: to the right for the side 1, to the left for -1. There s is between two lines,
// and has one sign.
func (f *bent) outer(x float64, side float64) gauss.Piece {
	none := gauss.Piece{To: arith.Inf, Power: arith.Inf}
	z := f.at(x).z
	low, high, ok := f.enclosed(x, z, side)
	a, small, large := f.al.Lo, low, high // of -al z, and the lines next to 0 and far from it
	switch {
	case !ok:
		return none
	case side < 0 && z.Hi <= 0:
		a, small, large = f.al.Hi, high, low
	case side < 0 && !f.act.NonNeg() || side > 0 && z.Lo < 0:
		return none
	}
	of, by := low, large
	if a < 0 {
		of = high
	}
	if f.b < 0 {
		by = small
	}
	// -a (at + k (t-x)) + b (at' + k' (t-x))^2/2, where t has the sign of side.
	base := func(l line) arith.Interval {
		return arith.Exactly(l.at).Minus(arith.Exactly(l.slope).Times(arith.Exactly(x)))
	}
	half, k := f.half(), arith.Exactly(by.slope)
	power := half.Times(base(by).Square()).Minus(arith.Exactly(a).Times(base(of)))
	slope := arith.Exactly(f.b).Times(base(by)).Times(k).Minus(arith.Exactly(a).Times(arith.Exactly(of.slope)))
	p := gauss.Piece{To: arith.Inf, Power: power.Hi, Slope: slope.Hi, Bend: arith.Exactly(f.b).Times(k.Square()).Hi}
	if side < 0 {
		p.To, p.Slope = x, slope.Lo
	}
	return p
}

// enclosed are lines below and above s beyond x, where s is z. By the sign of s” its slope there is on one side of
// that of the chord next to x: the inner one, or where s” is 0 any.
func (f *bent) enclosed(x float64, z arith.Interval, side float64) (low, high line, ok bool) {
	steepest, flattest := f.act.Lipschitz(), 0.0
	near := x / 2
	if x == 0 {
		near = side
	}
	lo, hi := min(x, near), arith.Inf
	if side < 0 {
		lo, hi = -arith.Inf, max(x, near)
	}
	least, most := f.act.BendWithin(lo, hi)
	chord := z.Minus(f.at(near).z).Over(arith.Exactly(math.Abs(x - near)))
	if near > x {
		chord = chord.Negated()
	}
	if straight := least == 0 && most == 0; straight || least >= 0 && side > 0 || most <= 0 && side < 0 {
		flattest = min(max(0, chord.Lo), steepest)
	}
	if least >= 0 && side < 0 || most <= 0 && side > 0 {
		steepest = min(steepest, max(0, chord.Hi))
	}
	if side > 0 {
		low, high = line{z.Lo, flattest}, line{z.Hi, steepest}
	} else {
		low, high = line{z.Lo, steepest}, line{z.Hi, flattest}
	}
	if bound := f.act.SizeUp(arith.Inf); bound < arith.Inf && side > 0 {
		high = line{max(bound, z.Hi), 0}
	} else if bound < arith.Inf {
		low = line{min(-bound, z.Lo), 0}
	}
	if side < 0 && f.act.NonNeg() {
		low = line{0, 0}
	}
	return low, high, arith.Finite(low.at, high.at)
}
