package sums

import (
	"math"

	"psafe/host/arith"
)

// Sums of independent terms on a lattice of step d (doc.go): a
// term X becomes one of the two lattice points around it, at random, so that its mean is
// kept: X' = X + D with E(D | X) = 0 and a range of D of length d. By Hoeffding's
// inequality, for n terms and s = c sqrt(n) d,
//
//	Prob(sum X <= 0) (1 - e^(-2 c^2)) <= Prob(sum X' <= s)
//
// Masses are upper bounds, each for itself, and so are all sums of their products: they
// are non-negative, and what roundings can take is given back as a factor.

// atoms is a random variable that is x[k] with probability at most p[k].
type atoms struct {
	x, p []float64
	// square is nil, or has for each x the square of how far apart the two ends of its bin are, where a
	// number was moved to either with its mean kept (fine.go), 0 where it was rounded.
	square []float64
}

func (a *atoms) add(x, p float64) {
	if n := len(a.x); n > 0 && a.x[n-1] == x {
		a.p[n-1] = arith.Up(a.p[n-1] + p)
		return
	}
	a.x, a.p = append(a.x, x), append(a.p, p)
}

func (a *atoms) addMoved(x, p, square float64) {
	if n := len(a.x); n > 0 && a.x[n-1] == x {
		a.p[n-1], a.square[n-1] = arith.Up(a.p[n-1]+p), max(a.square[n-1], square)
		return
	}
	a.x, a.p, a.square = append(a.x, x), append(a.p, p), append(a.square, square)
}

// squareOf is square[k], or 0.
func (a *atoms) squareOf(k int) float64 {
	if a.square == nil {
		return 0
	}
	return a.square[k]
}

// bins is a random variable that is in [lo[k], hi[k]] with probability at most p[k].
type bins struct{ lo, hi, p []float64 }

func (b *bins) add(lo, hi, p float64) {
	b.lo, b.hi, b.p = append(b.lo, lo), append(b.hi, hi), append(b.p, p)
}

// lattice is a random variable: (first + k) step with probability at most p[k], and unknown
// with probability at most lost.
type lattice struct {
	step  float64
	first int
	p     []float64
	lost  float64
}

const (
	// mostPoints bounds a lattice on either side of 0.
	mostPoints = 1 << 20
	// trimLow and trimHigh are how much mass may go off the ends of a lattice.
	trimLow, trimHigh = 0x1p-46, 0x1p-28
)

// newLattice has room for values from lo <= 0 to hi >= 0, in the array room if it is
// large enough.
func newLattice(step, lo, hi float64, room []float64) *lattice {
	first := int(max(math.Floor(lo/step), -mostPoints)) - 1
	n := int(min(math.Ceil(hi/step), mostPoints)) + 2 - first
	if cap(room) < n {
		room = make([]float64, n)
	}
	room = room[:n]
	clear(room)
	return &lattice{step: step, first: first, p: room}
}

// addProducts adds the variable min(a q) over a in its bin, for q independent of a. It
// needs |a| and |q| below 2^190 and a step between 2^-500 and 2^500.
func (l *lattice) addProducts(a bins, q atoms) {
	total := 0.0
	for _, p := range a.p {
		total = arith.Up(total + p)
	}
	for k, x := range q.x {
		switch {
		case x == 0:
			l.p[-l.first] += arith.Up(min(total, 1) * q.p[k])
		case x > 0:
			l.addMultiples(x, q.p[k], a.lo, a.p, arith.Multiples{}, 0)
		default:
			l.addMultiples(x, q.p[k], a.hi, a.p, arith.Multiples{}, 0)
		}
	}
	l.grow(len(q.x)*(len(a.p)+1) + 4)
}

// addMultiples puts the products x q, of mass p times that of q, on the lattice, rounded down and
// lowered by perWide times wides and perSize times sizes (nil: not at all), none of which is longer
// than reach steps: the places x q/step - first are wrong by less than 2^-50 of the sum of their
// parts, and more is taken off.
func (l *lattice) addMultiples(q, mass float64, x, p []float64, low arith.Multiples, reach float64) {
	low.Of, low.Mass, low.By = x, mass, q/l.step
	low.Shift = -float64(l.first) - 0x1p-46*(float64(len(l.p)-l.first)+reach)
	low.Place(l.p, &l.lost, p)
}

// grow gives back what roundings took from sums of n products.
func (l *lattice) grow(n int) {
	factor := 1 + float64(n+8)*0x1p-51
	arith.Grow(l.p, factor)
	l.lost = float64(l.lost*factor) + arith.FloorMass
}

// trim drops the ends of the lattice: mass at the lower end is lost, mass at the upper end
// moves down.
func (l *lattice) trim() {
	from, low := 0, 0.0
	for from < len(l.p)-1 && low+l.p[from] <= trimLow {
		low += l.p[from]
		from++
	}
	to, high := len(l.p)-1, 0.0
	for to > from && high+l.p[to] <= trimHigh {
		high += l.p[to]
		to--
	}
	dropped := len(l.p) - (to + 1 - from)
	l.first += from
	l.p = l.p[from : to+1]
	l.p[len(l.p)-1] += high
	l.lost += low
	l.grow(dropped + 2)
}

// plus is the sum of two independent variables on lattices of one step.
func (l *lattice) plus(m *lattice) *lattice {
	if len(l.p) > len(m.p) {
		l, m = m, l
	}
	s := &lattice{step: l.step, first: l.first + m.first, lost: l.lost + m.lost}
	s.p = arith.Convolved(l.p, m.p, func() bool { return false })
	s.grow(len(l.p))
	s.trim()
	return s
}

// convolved is the sum of independent terms, added in pairs.
func convolved(terms []*lattice) *lattice {
	for len(terms) > 1 {
		var half []*lattice
		for i := 0; i+1 < len(terms); i += 2 {
			half = append(half, terms[i].plus(terms[i+1]))
		}
		if len(terms)%2 == 1 {
			half = append(half, terms[len(terms)-1])
		}
		terms = half
	}
	return terms[0]
}

// normalVar is a normal variable of which mean and standard deviation are enclosed.
type normalVar struct{ mean, sd arith.Interval }

// notPositiveUp is an upper bound of Prob(sum of X + rest <= 0) for the sum l of n terms on
// the lattice: the least over some s, and s = n step, which the sum of the D stays below.
func (l *lattice) notPositiveUp(n int, rest normalVar) float64 {
	best := 1.0
	if n <= 16 {
		best = l.belowUp(float64(n)*l.step, rest)
	}
	for c := 0.3; c < 3.2; c += 0.15 {
		s := arith.Up(arith.Up(c*arith.SqrtUp(float64(n))) * l.step)
		miss := arith.ExpNegUp(arith.DDOf(arith.Down(2 * arith.Down(c*c))))
		best = min(best, arith.Up(l.belowUp(s, rest)/arith.Down(1-miss)))
	}
	return best
}

// belowUp is an upper bound, at most 1, of Prob(l + rest <= x).
func (l *lattice) belowUp(x float64, rest normalVar) float64 {
	table, sum := normalTable(), l.lost
	for k, p := range l.p {
		// rest has to be at most y, of which it is z standard deviations above its mean.
		y := arith.Up(arith.Up(x-arith.Down(float64(l.first+k)*l.step)) - rest.mean.Lo)
		z := 0.0
		if y >= 0 {
			z = arith.Up(y / rest.sd.Lo)
		} else {
			z = arith.Up(y / rest.sd.Hi)
		}
		sum += p * table.belowUp(z)
	}
	if sum = sum * (1 + float64(len(l.p)+8)*0x1p-51); sum < 1 {
		return sum
	}
	return 1 // NaN too
}
