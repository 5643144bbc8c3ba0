package moments

import (
	"fmt"
	"math"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/read/property"
)

// part is what a row is bounded by where the variance of its own noise, that of the last layer, is between from and to:
// its rate, and by what the variance is multiplied in the exponent ((52a) of docs/theory.md).
type part struct {
	rate, square, from, to float64
	planes                 []Plane
}

// parts are those of a row of which the noise has at least a variance; one of all variances where it says none.
func (r *Row) parts(least float64) []part {
	if len(r.Squares) == 0 {
		return []part{{r.Rate, arith.Exactly(r.Rate).Square().Hi / 2, 0, arith.Inf, r.Planes}}
	}
	list, n := make([]part, len(r.Squares)), len(r.Planes)/len(r.Squares)
	for k, square := range r.Squares {
		list[k] = part{r.Rate, square, least, arith.Inf, r.Planes[k*n : (k+1)*n]}
		if k > 0 {
			list[k].from = r.Upto[k-1]
		}
		if k < len(r.Upto) {
			list[k].to = r.Upto[k]
		}
	}
	return list
}

// fitParts compares sizes of what a row says of parts with the planes of one.
func (r *Row) fitParts(planes int) error {
	finite := func(list []float64) bool {
		for _, x := range list {
			if !(math.Abs(x) <= math.MaxFloat64) {
				return false
			}
		}
		return true
	}
	switch n := len(r.Squares); {
	case n == 0 && len(r.Upto) == 0:
		return nil
	case len(r.Upto) != n-1:
		return fmt.Errorf("%d parts between %d variances", n, len(r.Upto))
	case len(r.Shares) > 0 || r.Budget != 0:
		return fmt.Errorf("%d parts, and shares of a difference: parts are of rows at a point", n)
	case !finite(r.Squares) || !finite(r.Upto):
		return fmt.Errorf("its parts have numbers that are none: %v and %v", r.Squares, r.Upto)
	case len(r.Planes) != n*planes:
		return fmt.Errorf("%d planes for %d parts over %d neurons", len(r.Planes), n, planes)
	}
	return nil
}

// tailUp bounds the probability that a row is <= 0 somewhere in the box, on the statements: the sum over its parts.
func (a *around) tailUp(row *property.Row, by *Row) float64 {
	head, sum := a.lastLayer(row), 0.0
	for _, of := range by.parts(head.own.Lo) {
		sum = arith.SumUp(sum, arith.ExpUp(a.tailLogUp(head, &of)))
	}
	return min(1, sum)
}

// heightUp is at least g(h sqrt v) - square v for all variances v of a part. That is convex in v, so the ends do; where
// there is no end above, it falls if square is at least h^2/2.
func (of *part) heightUp() float64 {
	h := arith.Exactly(of.rate)
	at := func(v float64) float64 {
		if v == 0 {
			return 0
		}
		u := h.Times(arith.Exactly(v).Sqrt()) // g is convex
		return arith.Up(max(gauss.TiltedTailUp(max(0, u.Lo)), gauss.TiltedTailUp(u.Hi)) + arith.Up(-of.square*v))
	}
	if of.to < arith.Inf {
		return max(at(of.from), at(of.to))
	}
	if of.square < h.Square().Hi/2 {
		return arith.Inf
	}
	return at(of.from)
}
