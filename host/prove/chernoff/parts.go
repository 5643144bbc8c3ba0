package chernoff

import (
	"math"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/prove/claim"
)

// part is the event that the variance of a row's own noise, that of the last layer, is between from and to. There the
// tail of the noise is at most e^(-h mean + square variance + height) (52a).
type part struct {
	square, from, to float64
	planes           [][]slopes
	// tol is how near the planes are proved, 0 for fine.
	tol float64
}

// whole is the one part that there is without parts: (52).
func whole(h float64, planes [][]slopes) *part {
	return &part{square: arith.Up(h*h) / 2, to: math.Inf(1), planes: planes}
}

// heightUp bounds g(h sqrt(v)) - square v for all variances v of the part: it is convex in v, and falls without an end
// only if square is at least h^2/2.
func (of *part) heightUp(h float64) float64 {
	at := func(v float64) float64 {
		s := arith.Exactly(v).Sqrt()
		u := max(gauss.TiltedTailUp(arith.ProductDown(h, s.Lo)), gauss.TiltedTailUp(arith.ProductUp(h, s.Hi))) // convex, too
		return arith.Up(u + arith.Up(-of.square*v))
	}
	switch {
	case of.to <= math.MaxFloat64:
		return max(at(of.from), at(of.to))
	case of.square >= arith.Up(h*h)/2:
		return at(of.from)
	}
	return arith.Inf
}

// rowOfParts returns how a row was bounded, from the moments of the outputs of hidden layer k.
func rowOfParts(h float64, parts []part, k int) claim.ChernoffRow {
	row := claim.ChernoffRow{Rate: h}
	for _, of := range parts {
		row.Slopes = append(row.Slopes, rowOf(h, of.planes, k).Slopes...)
		if len(parts) > 1 || of.from > 0 {
			row.Squares = append(row.Squares, of.square)
		}
		if of.to <= math.MaxFloat64 {
			row.Upto = append(row.Upto, of.to)
		}
	}
	return row
}
