package sums

import (
	"math"

	"psafe/host/arith"
	"psafe/host/check/curves"
)

// Sums of independent terms on a lattice of step d (docs/check.md, sums of neurons): a
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
	// number was moved to either with its mean kept (sumsfine.go), 0 where it was rounded.
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
	// floorMass is added to each mass for underflows; it keeps products from becoming
	// subnormal, which is slow.
	floorMass = 0x1p-500
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
			l.addMultiples(x, q.p[k], a.lo, a.p, nil)
		default:
			l.addMultiples(x, q.p[k], a.hi, a.p, nil)
		}
	}
	l.grow(len(q.x)*(len(a.p)+1) + 4)
}

// lowering is by how many steps places are lowered besides: bySquare times squares and byMost times
// mosts, of each x; nil: not at all. No product, and nothing that one is lowered by, is longer than
// reach steps.
type lowering struct {
	squares, mosts          []float64
	bySquare, byMost, reach float64
}

// addMultiples puts the products x q, of mass p times that of q, on the lattice, rounded down and
// lowered: their places y = x q/step - first are wrong by less than 2^-50 of the sum of their
// parts, none of which is longer than the lattice or reach; more is taken off. A point k gets the share
// 1-(y-k) and the next y-k; both are computed with one rounding. What lies below the lattice is
// lost; what lies above goes to its end.
func (l *lattice) addMultiples(q, mass float64, x, p []float64, low *lowering) {
	n := len(l.p)
	scaled := q / l.step
	longest := float64(n - l.first)
	if low != nil {
		longest += low.reach
	}
	shift := -float64(l.first) - 0x1p-46*longest
	last := float64(n - 1)
	// Neighbours often have one place: what they add is kept until the place changes.
	place, here, next := 0, 0., 0.
	for i, v := range x {
		y, m := float64(v*scaled)+shift, p[i]*mass
		if low != nil {
			y -= float64(low.squares[i]*low.bySquare) + float64(low.mosts[i]*low.byMost)
		}
		if !(y < last) {
			if y >= last {
				l.p[n-1] += m
			} else { // NaN
				l.lost += m
			}
			continue
		}
		if y < 0 {
			l.lost += m
			continue
		}
		k := int(y)
		if k != place {
			two := l.p[place : place+2 : place+2]
			two[0] += here
			two[1] += next
			place, here, next = k, 0, 0
		}
		share := y - float64(k)
		here += float64(m * (1 - share))
		next += float64(m * share)
	}
	l.p[place] += here
	l.p[place+1] += next
}

// grow gives back what roundings took from sums of n products.
func (l *lattice) grow(n int) {
	factor := 1 + float64(n+8)*0x1p-51
	for i, p := range l.p {
		l.p[i] = float64(p*factor) + floorMass
	}
	l.lost = float64(l.lost*factor) + floorMass
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
	s := &lattice{step: l.step, first: l.first + m.first, p: make([]float64, len(l.p)+len(m.p)-1), lost: l.lost + m.lost}
	i := 0
	for ; i+4 <= len(l.p) && len(m.p) > 3; i += 4 { // four at once, for speed
		addFour(s.p[i:], l.p[i], l.p[i+1], l.p[i+2], l.p[i+3], m.p)
	}
	for ; i < len(l.p); i++ {
		out := s.p[i : i+len(m.p)]
		for j, b := range m.p {
			out[j] += float64(l.p[i] * b)
		}
	}
	s.grow(len(l.p))
	s.trim()
	return s
}

// addFour adds a b[j] to out[j], c b[j] to out[j+1], d b[j] to out[j+2] and e b[j] to out[j+3], of at
// least three b.
func addFour(out []float64, a, c, d, e float64, b []float64) {
	n := len(b)
	x, y, z := b[0], b[1], b[2]
	out[0] += float64(a * x)
	out[1] += float64(a*y) + float64(c*x)
	out[2] += float64(a*z) + float64(c*y) + float64(d*x)
	rest, to := b[3:], out[3:n]
	for j := range to {
		w := rest[j]
		to[j] += float64(a*w) + float64(c*z) + float64(d*y) + float64(e*x)
		x, y, z = y, z, w
	}
	out[n] += float64(c*z) + float64(d*y) + float64(e*x)
	out[n+1] += float64(d*z) + float64(e*y)
	out[n+2] += float64(e * z)
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
		miss := curves.ExpNegUp(arith.DDOf(arith.Down(2 * arith.Down(c*c))))
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
