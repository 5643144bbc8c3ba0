package probability

import (
	"fmt"
	"math"
	"psafe/host/arith"
)

// Split stands in for a real random variable A by A', whose mean given A is A: with probability at
// most P[k] it is in [Lo[k], Hi[k]], and then it was one of two numbers at most sqrt(Square[k])
// apart, with A between them. Square is 0 where A' is A.
type Split struct{ Lo, Hi, P, Square []float64 }

// Add adds a number, or to the last one if it is the same.
func (s *Split) Add(lo, hi, p, square float64) {
	if k := len(s.P) - 1; k >= 0 && s.Lo[k] == lo && s.Hi[k] == hi {
		s.P[k], s.Square[k] = up(s.P[k]+p), max(s.Square[k], square)
		return
	}
	s.Lo, s.Hi, s.P, s.Square = append(s.Lo, lo), append(s.Hi, hi), append(s.P, p), append(s.Square, square)
}

// Append adds the numbers of another part of the same variable.
func (s *Split) Append(t *Split) {
	s.Lo, s.Hi, s.P, s.Square = append(s.Lo, t.Lo...), append(s.Hi, t.Hi...), append(s.P, t.P...), append(s.Square, t.Square...)
}

// largest is the largest |A'| and Square.
func (s *Split) largest() (size, square float64) {
	for k := range s.P {
		size, square = max(size, -s.Lo[k], s.Hi[k]), max(square, s.Square[k])
	}
	return size, square
}

// meansApprox are about the sums of P A', P A'^2, P A'^4 and P Square.
func (s *Split) meansApprox() (first, second, fourth, square float64) {
	for k, p := range s.P {
		x := s.Lo[k]/2 + s.Hi[k]/2
		first, second, fourth, square = first+p*x, second+p*x*x, fourth+p*x*x*x*x, square+p*s.Square[k]
	}
	return first, second, fourth, square
}

// Product is X = A Low where A >= 0 and X = A High where A < 0: A is independent of Low and of High,
// Pos and Neg are its parts of either sign. Low and High are numbers (Lo = Hi; it panics otherwise).
// Lost bounds the probability of all that they leave out. With Large, X is only of interest where
// that leaves nothing out.
type Product struct {
	Pos, Low, Neg, High Split
	Lost                float64
	Large               *Large
}

// momentsApprox are about the mean and the variance of X, the mean of X^4, and that of the squares
// of the ranges of what stands in for it.
func (p *Product) momentsApprox() (mean, variance, fourth, ranges float64) {
	second := 0.0
	for _, pair := range [][2]*Split{{&p.Pos, &p.Low}, {&p.Neg, &p.High}} {
		a, a2, a4, aw := pair[0].meansApprox()
		h, h2, h4, hw := pair[1].meansApprox()
		mean, second, fourth, ranges = mean+a*h, second+a2*h2, fourth+a4*h4, ranges+aw*h2+a2*hw
	}
	return mean, max(0, second-mean*mean), fourth, ranges
}

// lattice is the distribution of what stands in for X (circlesum.go) on a lattice of any step: of
//
//	Y = A' H' - rate/8 (wA^2 (|H'| + wH)^2 + wH^2 A'^2),   w^2 being Square
//
// moved to the two points around it with its mean kept. A product below the lattice is lost, one
// above becomes its last point, which is lower.
func (p *Product) lattice(step, rate float64) *Lattice {
	least, most := 0.0, 0.0
	for k, pair := range [][2]*Split{{&p.Pos, &p.Low}, {&p.Neg, &p.High}} {
		size, square := pair[0].largest()
		for i, x := range pair[1].Lo {
			if hi := pair[1].Hi[i]; x != hi && x == x {
				panic(fmt.Sprintf("probability: a product with an interval, %v to %v", x, hi))
			}
			if k == 1 {
				x = -x
			}
			wide := math.Abs(x) + math.Sqrt(pair[1].Square[i])
			off := rate / 8 * (square*wide*wide + pair[1].Square[i]*size*size)
			least, most = min(least, min(0, size*x)-off), max(most, size*x)
		}
	}
	l := newLattice(step, least*(1+0x1p-40), most*(1+0x1p-40))
	if !(least > -math.MaxFloat64 && most < math.MaxFloat64 && rate < 0x1p900) {
		l.Lose(1)
		return l
	}
	perSquare, reach := rate/8/step*(1+0x1p-40), (most-least)/step
	l.place(&p.Pos, &p.Low, perSquare, reach, nil)
	l.place(&p.Neg, &p.High, perSquare, reach, p.Large)
	l.Lose(p.Lost)
	l.shrink()
	return l
}

// shrink drops points without any mass at the ends.
func (l *Lattice) shrink() {
	lo, hi := 0, len(l.P)-1
	for lo < hi && l.P[lo] == 0 {
		lo++
	}
	for hi > lo && l.P[hi] == 0 {
		hi--
	}
	l.First, l.P = l.First+lo, l.P[lo:hi+1]
}

// tooLight is little beside any probability that points of grids fail with: there are a million
// terms.
const tooLight = 0x1p-50

// place adds the distribution of products of A and H, each lowered by perSquare steps for each unit
// of wA^2 (|H'| + wH)^2 + wH^2 A'^2; no product and nothing that one is lowered by is longer than
// reach steps. What large, if any, leaves out is not added. A place y is wrong by less than 2^-50
// times the sum of its parts: slack is more.
func (l *Lattice) place(a, h *Split, perSquare, reach float64, large *Large) {
	total, squares, before := 0.0, make([]float64, len(a.P)), make([]float64, len(a.P)+1)
	for i, p := range a.P {
		total = up(total + p)
		before[i+1] = total
		size := max(-a.Lo[i], a.Hi[i])
		squares[i] = size * size * (1 + 0x1p-50)
	}
	slack := 0x1p-46 * (reach + float64(len(l.P)))
	shift := -float64(l.First) - slack
	var room, most []float64
	if large != nil {
		room, most = make([]float64, len(a.P)), large.mostUp(a)
	}
	for k, p := range h.P {
		x := h.Lo[k]
		if x == 0 && h.Square[k] == 0 {
			l.P[-l.First] += total * p
			l.terms++
			continue
		}
		f := a.Lo
		if x < 0 {
			f = a.Hi
		}
		scaled := x / l.Step
		wide := (math.Abs(x) + math.Sqrt(h.Square[k])) * (1 + 0x1p-50)
		perA, perH := perSquare*wide*wide*(1+0x1p-50), perSquare*h.Square[k]*(1+0x1p-50)
		if !(math.Abs(scaled) >= 0x1p-900 || x == 0) {
			l.Lost += total * p
			l.terms++
			continue
		}
		l.terms += 2*len(f) + 2
		// Too light to be multiplied out are both ends of A.
		from, to := 0, len(f)
		for from < to && before[from+1]*p < tooLight {
			from++
		}
		for to > from && (total-before[to-1])*p < tooLight {
			to--
		}
		l.Lost += p * up(before[from]+up(total-before[to]))
		masses := a.P[from:to]
		if large != nil {
			masses = large.keptUp(room, masses, most[from:to], k)
		}
		m := arith.Multiples{Of: f[from:to], Wides: a.Square[from:to], Sizes: squares[from:to], By: scaled, Shift: shift, PerWide: perA, PerSize: perH, Mass: p}
		m.Place(l.P, &l.Lost, masses)
	}
}
