package gauss

import (
	"math"
	"math/big"
	"testing"
)

// oraclePieces is (51d), without a logarithm; 0 where it is beyond the oracle's digits.
func oraclePieces(pieces []Piece, mean, v float64) *big.Float {
	sum, from := newBig(), math.Inf(-1)
	over := func(x, y *big.Float) *big.Float { return newBig().Quo(x, y) }
	times := func(x ...*big.Float) *big.Float {
		p := bigOf(1)
		for _, f := range x {
			p.Mul(p, f)
		}
		return p
	}
	for _, p := range pieces {
		s, d := newBig().Sqrt(bigOf(v)), newBig().Sub(bigOf(1), times(bigOf(p.Bend), bigOf(v)))
		root := newBig().Sqrt(d)
		shift := newBig().Add(bigOf(mean), times(bigOf(p.Slope), bigOf(v)))
		e := times(bigOf(p.Bend), bigOf(mean), bigOf(mean))
		e.Add(e, times(bigOf(2), bigOf(p.Slope), bigOf(mean)))
		e.Add(e, times(bigOf(p.Slope), bigOf(p.Slope), bigOf(v)))
		e = newBig().Add(bigOf(p.Power), over(e, times(bigOf(2), d)))
		mass := bigOf(1)
		for i, end := range []float64{from, p.To} {
			if math.IsInf(end, 0) {
				continue
			}
			y := over(newBig().Sub(times(bigOf(end), d), shift), times(s, root))
			if i == 0 {
				y.Neg(y)
			}
			if y.Cmp(bigOf(30)) > 0 || y.Cmp(bigOf(-30)) < 0 {
				return newBig()
			}
			mass.Sub(mass, oracleTail(y))
		}
		if math.Abs(p.Power) > 1e4 || e.Cmp(bigOf(1e4)) > 0 || e.Cmp(bigOf(-1e4)) < 0 {
			return newBig()
		}
		sum.Add(sum, over(times(mass, oracleExp(e)), root))
		from = p.To
	}
	return sum
}

// TestPiecesMoment: at or above the moment of exact arithmetic, with no tolerance, and near it; two pieces are (51).
func TestPiecesMoment(t *testing.T) {
	r := newRand(t, 53)
	looked := 0
	for range cases(t, 1500) {
		v := math.Exp(r.NormFloat64())
		s := math.Sqrt(v)
		mean := 2 * r.NormFloat64() * s
		radius := s * math.Exp(2*r.NormFloat64()-2)
		var pieces []Piece
		for _, to := range []float64{-radius, 0, radius, math.Inf(1)}[r.IntN(4):] {
			p := Piece{To: to, Power: r.NormFloat64(), Slope: 2 * r.NormFloat64() / s}
			switch r.IntN(3) {
			case 1:
				p.Bend = 0.9 * r.Float64() / v
			case 2:
				p.Bend = -r.Float64() / v
			}
			pieces = append(pieces, p)
		}
		got, exact := PiecesMomentUp(pieces, mean, v), oraclePieces(pieces, mean, v)
		if exact.Sign() <= 0 {
			continue
		}
		looked++
		if oracleExp(bigOf(got)).Cmp(widen(exact, -1)) < 0 {
			t.Errorf("%v at %v, %v: %v is below the exact value", pieces, mean, v, got)
		}
		// Far from a piece its part is bounded by its edge, up to 1.6 times too large.
		near := newBig().Mul(exact, bigOf(1.7))
		if oracleExp(bigOf(got)).Cmp(near) > 0 {
			t.Errorf("%v at %v, %v: %v is far above the exact value", pieces, mean, v, got)
		}
	}
	if t.Logf("%d looked at", looked); looked == 0 {
		t.Error("no case was looked at")
	}
	for i := range cases(t, 500) {
		size := []float64{0.5, 2}[i%2]
		v := math.Exp(size * r.NormFloat64())
		mean, al := size*r.NormFloat64()*math.Sqrt(v), r.NormFloat64()/math.Sqrt(v)
		two := []Piece{{To: 0}, {To: math.Inf(1), Slope: -al, Bend: 0.5 / v}}
		if got, want := PiecesMomentUp(two, mean, v), ReLUMomentUp(al, 0.5/v, mean, v); math.Abs(got-want) > 1e-11*(1+math.Abs(want)) {
			t.Errorf("(51) as two pieces, %v, %v, %v: %v and %v", al, mean, v, got, want)
		}
	}
	one := []Piece{{To: math.Inf(1), Bend: 1}}
	for _, c := range [][2]float64{{0, 1}, {math.NaN(), 0.5}, {math.Inf(1), 0.5}, {0, math.Inf(1)}, {0, -1}} {
		if got := PiecesMomentUp(one, c[0], c[1]); !math.IsInf(got, 1) {
			t.Errorf("at %v: %v", c, got)
		}
	}
	certain := []Piece{{To: 1, Power: 1}, {To: math.Inf(1), Slope: 3}}
	for _, c := range [][2]float64{{0, 1}, {1, 3}, {2, 6}} {
		if got := PiecesMomentUp(certain, c[0], 0); got < c[1] || got > c[1]+1e-12 {
			t.Errorf("at %v for certain: %v", c[0], got)
		}
	}
}
