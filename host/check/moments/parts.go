package moments

import (
	"fmt"
	"math"

	"psafe/host/arith"
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
	last := &a.layers[len(a.layers)-1]
	var least arith.Sum
	for o := range last.Outputs() {
		least.Plus(max(0, arith.Of(row.CLo[o], row.CHi[o]).Square().Times(variance(&last.Bias, o)).Lo))
	}
	sum := 0.0
	for _, of := range by.parts(max(0, least.Lo())) {
		sum = arith.SumUp(sum, chanceUp(a.tailLogUp(row, &of)))
	}
	return min(1, sum)
}

// chanceUp is at least e^y for y <= 0 as expUp, but not above 2^-1000 where e^y is much less: certify claims such chances.
func chanceUp(y float64) float64 {
	switch {
	case y < -746: // e^-746 < 2^-1076
		return arith.Eta
	case y < -700:
		root := expUp(y / 2)
		return arith.Up(root * root)
	}
	return expUp(y)
}

// heightUp is at least g(h sqrt v) - square v for all variances v of a part. That is convex in v, so the ends do; where
// there is no end above, it falls if square is at least h^2/2.
func (of *part) heightUp() float64 {
	h := arith.Exactly(of.rate)
	at := func(v float64) float64 {
		if v == 0 {
			return 0
		}
		return arith.Up(tiltedUp(h.Times(arith.Exactly(v).Sqrt())) + arith.Up(-of.square*v))
	}
	if of.to < arith.Inf {
		return max(at(of.from), at(of.to))
	}
	if of.square < h.Square().Hi/2 {
		return arith.Inf
	}
	return at(of.from)
}

// tiltedUp is at least log Q(t) + u t for all t: between two points it is at most log Q at the left one and u t at
// the right one, and where that is much more than what is seen, they are too far apart.
func tiltedUp(u arith.Interval) float64 {
	const left, most, near, mostCells = -8, 30, 0x1p-9, 1 << 14
	if !(u.Lo >= 0 && u.Hi <= most) {
		return arith.Up(arith.Exactly(u.Hi).Square().Hi / 2) // the most of -t^2/2 + u t; NaN and +Inf remain
	}
	tail := func(t float64) float64 {
		factor, power := portion(arith.Exactly(t), 0, arith.Up(-t*t/2))
		return arith.Up(logUp(factor) + power)
	}
	right := math.Ceil(u.Hi) + 6
	seen := func(t float64) float64 { return math.Log(math.Erfc(t/math.Sqrt2)/2) + u.Hi*t } // about it: concave
	lo, hi := float64(left), right
	for hi-lo > 0x1p-10 {
		if x, y := lo+(hi-lo)/3, hi-(hi-lo)/3; seen(x) < seen(y) {
			lo = x
		} else {
			hi = y
		}
	}
	enough := seen(lo) + near
	// Beyond the ends: Q <= 1, and Q(t) <= e^(-t^2/2), which is on the right of u.
	top := max(arith.Up(left*u.Lo), arith.Up(arith.Up(u.Hi*right)-right*right/2))
	stack, cells := [][2]float64{{left, right}}, 0
	for len(stack) > 0 {
		c := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		cells++
		bound := arith.Up(tail(c[0]) + max(arith.Up(u.Lo*c[1]), arith.Up(u.Hi*c[1])))
		if mid := (c[0] + c[1]) / 2; bound > enough && cells < mostCells && c[0] < mid && mid < c[1] {
			stack = append(stack, [2]float64{c[0], mid}, [2]float64{mid, c[1]})
			continue
		}
		top = max(top, bound)
	}
	return top
}
