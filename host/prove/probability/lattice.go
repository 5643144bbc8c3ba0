package probability

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
)

// The distribution of a sum of independent terms, on a lattice of step d = 2^e.
//
// A term X is replaced by one of the two lattice points around it, at random with
// the mean kept: X' = X + D with |D| < d, E(D | X) = 0. For n independent terms the
// D are independent given all X, so Hoeffding's inequality applies to their sum:
//
//	P(sum X' <= s) >= P(sum X <= 0) (1 - exp(-2 s^2 / (n d^2))),   s > 0
//
// Each term errs by up to d, their sum only by about sqrt(n) d.
// Masses here are upper bounds, each for itself; so is every sum of their
// products.

// Bins covers part of a random variable's range: with probability at most P[k]
// it lies in [Lo[k], Hi[k]].
type Bins struct{ Lo, Hi, P []float64 }

// Atoms is a discrete random variable: X[k] with probability at most P[k].
type Atoms struct{ X, P []float64 }

// Lattice is a distribution on the points k Step, k = First ... First+len(P)-1,
// with masses P[k-First], all upper bounds. Lost is an upper bound of the mass
// that has no place: of a sum with it nothing is known.
type Lattice struct {
	Step  float64
	First int
	P     []float64
	Lost  float64
	terms int // added since the last seal
	// wide is the array that P began in, for the next lattice to use.
	wide *[]float64
}

// wideArrays are arrays of lattices that were trimmed: each begins with room for every
// value there can be, of which most hold nearly nothing, and there is one for every
// term of a sum.
var wideArrays sync.Pool

// zeros is an array of n zeros.
func zeros(n int) *[]float64 {
	if a, ok := wideArrays.Get().(*[]float64); ok && cap(*a) >= n {
		*a = (*a)[:n]
		clear(*a)
		return a
	}
	a := make([]float64, n)
	return &a
}

// maxLattice bounds |k|, so that indices and memory stay small.
const maxLattice = 1 << 20

// NewLattice is empty, with points from lo or 0 to hi or 0, whichever is
// farther, cut at 2^20 steps; NaN counts as 0. step must be a power of two (it panics otherwise).
func NewLattice(step, lo, hi float64) *Lattice {
	if m, _ := math.Frexp(step); m != 0.5 || step < 0x1p-900 || step > 0x1p900 {
		panic(fmt.Sprintf("probability: NewLattice: step %v is not a power of two of ordinary size", step))
	}
	return newLattice(step, lo, hi)
}

// newLattice is NewLattice for any positive step.
func newLattice(step, lo, hi float64) *Lattice {
	if !(lo <= 0) {
		lo = 0
	}
	if !(hi >= 0) {
		hi = 0
	}
	first := int(max(math.Floor(lo/step), -maxLattice)) - 1
	last := int(min(math.Ceil(hi/step), maxLattice)) + 1
	wide := zeros(last - first + 1)
	return &Lattice{Step: step, First: first, P: *wide, wide: wide}
}

// AddProduct adds the distribution of X = min over a in its bin of a q, for
// independent a in Bins and q in Atoms, X replaced by the lattice points around
// it as said above. A product below the lattice is lost, one above becomes
// its last point, which is lower.
func (l *Lattice) AddProduct(a Bins, q Atoms) {
	total := 0.0
	for _, p := range a.P {
		total = up(total + p)
	}
	for k, x := range q.X {
		switch {
		case x == 0:
			l.P[-l.First] += min(total, 1) * q.P[k]
			l.terms++
		case x > 0:
			l.addMultiple(x, q.P[k], a.Lo, a.P)
		default:
			l.addMultiple(x, q.P[k], a.Hi, a.P)
		}
	}
}

// addMultiple adds the products f q with masses p[i] times mass.
//
// y <= f q / Step: the quotient by a power of two is exact, or subnormal and wrong by
// eta/2, which f below 2^500 leaves less than 2^-570 (else all is lost); the product
// is wrong by u|y| + eta/2, and the reduction takes four times that. With k = floor(y) the point k gets
// the share 1-(y-k) and k+1 the share y-k; both are computed within u and raised
// by 4u.
func (l *Lattice) addMultiple(q, mass float64, f, p []float64) {
	const raise = 0x1p-51
	scaled := q / l.Step
	first, last := float64(l.First), float64(l.First+len(l.P)-1)
	l.terms += len(f)
	exact := math.Abs(scaled) >= 0x1p-1000
	for i, a := range f {
		y := a * scaled
		y -= float64(math.Abs(y)*raise) + 0x1p-500
		m := p[i] * mass
		if !(y >= first && (exact || math.Abs(a) < 0x1p500)) { // NaN as well
			l.Lost += m
			continue
		}
		if y >= last {
			l.P[len(l.P)-1] += m
			continue
		}
		k := math.Floor(y)
		r := y - k
		at := int(k) - l.First
		l.P[at] += float64(m * (1 - r + raise))
		l.P[at+1] += float64(m * (r + raise))
	}
}

// Lose adds p to the mass that is lost.
func (l *Lattice) Lose(p float64) { l.Lost = up(l.Lost + p) }

// seal makes good for the roundings since the last one: at most terms additions
// to each number, three roundings before, and underflows of eta each.
func (l *Lattice) seal() {
	grow := 1 + float64(2*l.terms+16)*(2*unit)
	arith.Grow(l.P, grow)
	l.Lost = float64(l.Lost*grow) + arith.FloorMass
	l.terms = 0
}

// trimLost and trimHigh are how much is cut off at the lower and the upper end of
// a lattice: small beside any probability of interest.
const (
	trimLost = 0x1p-38
	trimHigh = 0x1p-26
)

// Trim drops points of nearly no mass at the ends and returns how many are left.
// SumUp does so too.
func (l *Lattice) Trim() int {
	l.seal()
	l.trim()
	if l.wide != nil {
		l.P = slices.Clone(l.P)
		wideArrays.Put(l.wide)
		l.wide = nil
	}
	return len(l.P)
}

// trim shortens l: mass at the lower end is lost, mass at the upper end moves
// down.
func (l *Lattice) trim() {
	lo, sum := 0, 0.0
	for lo < len(l.P)-1 && sum+l.P[lo] <= trimLost {
		sum += l.P[lo]
		lo++
	}
	hi, high := len(l.P)-1, 0.0
	for hi > lo && high+l.P[hi] <= trimHigh {
		high += l.P[hi]
		hi--
	}
	l.P[hi] += high
	l.Lost += sum
	l.First += lo
	l.P = l.P[lo : hi+1]
	l.terms += len(l.P) + lo + 2
	l.seal()
}

// plus is the distribution of the sum of two independent ones with one Step.
// Each of its masses is a sum of at most len(l.P)+3 products. It is of no use once ended.
func (l *Lattice) plus(m *Lattice, ended func() bool) *Lattice {
	if len(l.P) > len(m.P) {
		l, m = m, l
	}
	s := &Lattice{Step: l.Step, First: l.First + m.First, P: arith.Convolved(l.P, m.P, ended)}
	s.Lost = l.Lost + m.Lost
	s.terms = len(l.P) + 8
	s.seal()
	return s
}

// SumUp returns the distribution of the sum of independent terms on lattices of
// one Step, all its masses upper bounds. It needs at least one term and uses
// them up. each runs f(0) ... f(n-1), in any order or at the same time. Once ended says so, and
// then it must go on to, the answer is nil.
func SumUp(terms []*Lattice, each func(n int, f func(i int)), ended func() bool) *Lattice {
	each(len(terms), func(i int) { terms[i].Trim() })
	for len(terms) > 1 && !ended() {
		half := make([]*Lattice, (len(terms)+1)/2)
		each(len(half), func(i int) {
			if 2*i+1 == len(terms) {
				half[i] = terms[2*i]
				return
			}
			half[i] = terms[2*i].plus(terms[2*i+1], ended)
			half[i].trim()
		})
		terms = half
	}
	if ended() { // the sums above may be in pieces
		return nil
	}
	return terms[0]
}

// BelowUp returns an upper bound of P(L + rest <= x) for L on the lattice and an
// independent rest, at most 1; 1 for NaN.
func (l *Lattice) BelowUp(rest gauss.Normal, x float64) float64 {
	sum := l.Lost
	for i, p := range l.P {
		// k Step is exact: |k| < 2^53.
		sum = up(sum + up(p*rest.BelowUp(up(x-float64(l.First+i)*l.Step))))
		if !(sum < 1) {
			return 1
		}
	}
	return sum
}

// NotPositiveUp returns an upper bound of P(sum X + rest <= 0), at most 1, for
// the sum l of n terms that were put on the lattice as said above, and an
// independent rest. It is the least over some s > 0 of
//
//	P(sum X' + rest <= s) / (1 - exp(-2 s^2 / (n Step^2)))
//
// and, since sum D < n Step, of P(sum X' + rest <= n Step).
func (l *Lattice) NotPositiveUp(n int, rest gauss.Normal) float64 {
	best := 1.0
	if n <= 16 {
		best = l.BelowUp(rest, float64(n)*l.Step)
	}
	root := math.Sqrt(float64(n))
	for c := 0.3; c < 3.2; c += 0.15 {
		steps := c * root // any positive number will do; s = steps Step is exact
		exponent := down(down(2*down(steps*steps)) / float64(n))
		miss := arith.ExpUp(-exponent)
		if p := up(l.BelowUp(rest, steps*l.Step) / down(1-miss)); p < best {
			best = p
		}
	}
	return best
}
