package sums

import (
	"math"
	"sync"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/read/property"
)

// Sums for the points of grids (doc.go), where Prob is about 0.01 and every percent of a
// standard deviation counts: on a circle, and with weights that are not rounded down but to either
// end of their bins, at random, so that their mean is kept.

// knots cover one sign of a weight a: it becomes a number of [lo, hi] with the probability p, and
// square bounds the square of the width of the bins beside it, 0 where it was rounded down or is
// exact; most bounds its own square. edge is the number of an edge to which a moved from the bins
// beside it, -1 where a was in [lo, hi].
type knots struct {
	lo, hi, p, square, most []float64
	edge                    []int
}

func (k *knots) add(at arith.Interval, p, square float64, edge int) {
	if n := len(k.p); n > 0 && k.edge[n-1] == edge && edge >= 0 {
		k.p[n-1], k.square[n-1] = arith.Up(k.p[n-1]+p), max(k.square[n-1], square)
		return
	}
	k.lo, k.hi, k.p, k.square = append(k.lo, at.Lo), append(k.hi, at.Hi), append(k.p, p), append(k.square, square)
	k.edge = append(k.edge, edge)
	end := max(math.Abs(at.Lo), math.Abs(at.Hi))
	k.most = append(k.most, arith.ProductUp(end, end))
}

// knotted is the weight of a neuron in a row.
type knotted struct {
	neg, pos knots
	lost     float64
	left     *shares // of neg; nil where all of it is left
}

// weightBins are the edges of bins of a standard normal Z, and for each bin upper bounds of what of
// its mass goes to either end if the mean is kept. The mean of what goes to an edge is that edge, and
// besides the shares below and above of the ways to the edges beside it.
type weightBins struct {
	z, toLower, toUpper []float64
	below, above        []arith.Interval
}

// mean encloses that of what goes to an edge.
func (b *weightBins) mean(edge int) arith.Interval {
	z := arith.Exactly(b.z[edge])
	if edge > 0 {
		z = z.Plus(b.below[edge].Times(arith.Exactly(b.z[edge-1] - b.z[edge])))
	}
	if edge+1 < len(b.z) {
		z = z.Plus(b.above[edge].Times(arith.Exactly(b.z[edge+1] - b.z[edge])))
	}
	return z
}

// setWays sets below and above. Of what goes to an edge from one bin of the width w, E(way)/w is
// E(l (1-l))/E(l), where l falls from 1 at the edge to 0. With a density that is even that is 1/3. With
// a density whose logarithm has slopes of at most c in l it is the mean of 1-l where the density is
// l times that; the farthest is that of l e^(cl), and d/dc is a variance, at most e^c E (l-2/3)^2 where
// the density is 2l. So it is within c e^c/18 of 1/3. Masses are within 2^-30 of what they bound
// (towardsUp): they are about w/2 times the density.
func (b *weightBins) setWays() {
	way := func(bin int) arith.Interval {
		c := (b.z[bin+1] - b.z[bin]) * max(math.Abs(b.z[bin]), math.Abs(b.z[bin+1]))
		off := c * math.Exp(c) / 18 * (1 + 0x1p-20)
		return arith.Of(1./3-off-0x1p-26, 1./3+off+0x1p-26)
	}
	n := len(b.toLower)
	b.below, b.above = make([]arith.Interval, n+1), make([]arith.Interval, n+1)
	for e := range n + 1 {
		fromLeft, fromRight := 0., 0.
		if e > 0 {
			fromLeft = b.toUpper[e-1]
		}
		if e < n {
			fromRight = b.toLower[e]
		}
		of := func(p float64) arith.Interval {
			p /= fromLeft + fromRight
			return arith.Of(p*(1-0x1p-28), p*(1+0x1p-28))
		}
		if e > 0 {
			b.below[e] = way(e - 1).Times(of(fromLeft))
		}
		if e < n {
			b.above[e] = way(e).Times(of(fromRight))
		}
	}
}

// theWeightBins are for weights, theValueBins for what neurons look at: these are as fine far from
// 0, where neurons begin to be active that rarely are.
var (
	theWeightBins = sync.OnceValue(func() *weightBins {
		return newWeightBins(func(z float64) float64 { return math.Floor(min(max(1, math.Exp(z*z/4)), 4)) })
	})
	theValueBins = sync.OnceValue(func() *weightBins {
		return newWeightBins(func(z float64) float64 {
			if z >= 3.5 {
				return 4
			}
			return 1
		})
	})
)

// newWeightBins makes bins whose widths are those multiples of 1/128.
func newWeightBins(width func(z float64) float64) *weightBins {
	const step = 1. / 128
	b := &weightBins{}
	var lower, upper []float64
	edges := []float64{0}
	for z := 0.; z < binReach; {
		next := min(binReach, z+step*width(z))
		l, u := towardsUp(z, next)
		edges, lower, upper = append(edges, next), append(lower, l), append(upper, u)
		z = next
	}
	for k := len(lower) - 1; k >= 0; k-- {
		b.z = append(b.z, -edges[k+1])
		b.toLower, b.toUpper = append(b.toLower, upper[k]), append(b.toUpper, lower[k])
	}
	b.z = append(b.z, edges...)
	b.toLower, b.toUpper = append(b.toLower, lower...), append(b.toUpper, upper...)
	b.setWays()
	return b
}

func knotsOf(f *factor) knotted {
	k := knotted{lost: f.lost}
	if f.a.sd.Hi == 0 {
		for i := range f.neg.p {
			k.neg.add(arith.Of(f.neg.lo[i], f.neg.hi[i]), f.neg.p[i], 0, -1)
		}
		for i := range f.pos.p {
			k.pos.add(arith.Of(f.pos.lo[i], f.pos.hi[i]), f.pos.p[i], 0, -1)
		}
		return k
	}
	b := theWeightBins()
	for i := range b.toLower {
		from, to := f.a.bin(b.z[i], b.z[i]), f.a.bin(b.z[i+1], b.z[i+1])
		width := arith.ProductUp(b.z[i+1]-b.z[i], f.a.sd.Hi)
		square := arith.ProductUp(width, width)
		switch {
		case from.Lo >= 0:
			k.pos.add(from, b.toLower[i], square, i)
			k.pos.add(to, b.toUpper[i], square, i+1)
		case to.Hi <= 0:
			k.neg.add(from, b.toLower[i], square, i)
			k.neg.add(to, b.toUpper[i], square, i+1)
		default: // rounded to that end where a h is less
			p := betweenUp(b.z[i], b.z[i+1])
			zero := f.a.mean.Negated().Over(f.a.sd)
			k.neg.add(arith.Of(from.Lo, 0), min(p, betweenUp(b.z[i], min(b.z[i+1], zero.Hi))), 0, -1)
			k.pos.add(arith.Of(0, to.Hi), min(p, betweenUp(max(b.z[i], zero.Lo), b.z[i+1])), 0, -1)
		}
	}
	return k
}

// fineSum bounds probabilities of sums S = sum_i a_i h_i. Replacing a_i by an end a' of its bin,
// and then h_i by an end h' of its own, adds D_i, and the lattice adds E_i, all of mean 0 whatever
// came before; the parts of D_i range over w |h_i| and v |a'| for bins of the widths w and v, and
// E_i over a step d. By Hoeffding's lemma E e^(rate D) <= e^(rate^2 range^2/8), so that for
//
//	Y_i = a' h' - rate/8 (w^2 (|h'| + v)^2 + v^2 a'^2) + E_i - rate d^2/8
//
// and every s > 0
//
//	Prob(S + rest <= 0) (1 - e^(-rate s)) <= Prob(sum Y_i + rest <= s)
//	Prob(S + rest <= 0) <= Prob(sum Y_i + rest <= 0) (1 + phi(r)/(r Phi(r))),  r = rate sd(rest)
//
// which have the squares of widths as they are, not at their largest (the second: doc.go).
type fineSum struct {
	h          []*standIn
	a          []knotted
	step, rate float64
	room       []float64
}

// term is Y_i + rate d^2/8.
func (f *fineSum) term(i int) *lattice {
	h, a := f.h[i], &f.a[i]
	least, most := 0., 0.
	perSquare := f.rate / 8 / f.step * (1 + 0x1p-40) // of the lattice's step
	cover := func(k *knots, q *atoms) {
		x, square := 0., 0.
		for j := range k.p {
			x, square = max(x, math.Abs(k.lo[j]), math.Abs(k.hi[j])), max(square, k.square[j])
		}
		for j, v := range q.x {
			if len(k.p) > 0 {
				end := math.Copysign(x, v*(k.hi[len(k.hi)-1]+k.lo[0])) * math.Abs(v) * (1 + 0x1p-40)
				wide := math.Abs(v) + math.Sqrt(q.squareOf(j))
				lower := (square*wide*wide + q.squareOf(j)*x*x) * perSquare * f.step * (1 + 0x1p-30)
				least, most = min(least, min(0, end)-lower), max(most, end)
			}
		}
	}
	cover(&a.pos, &h.low)
	cover(&a.neg, &h.high)
	if !(max(-least, most) < 0x1p390) {
		return &lattice{step: f.step, p: []float64{0}, lost: 1}
	}
	l := newLattice(f.step, least-f.step, most, f.room)
	f.room = l.p
	reach := (most - least) / f.step
	l.addKnots(&a.pos, &h.low, nil, perSquare, reach)
	l.addKnots(&a.neg, &h.high, a.left, perSquare, reach)
	l.trim()
	return l
}

// nothing is little beside what points fail with, a million times.
const nothing = 0x1p-50

// addKnots adds what is left of a q, each place lowered by perSquare steps times w^2 (|q| + v)^2 + v^2
// a^2; no place is farther than reach.
func (l *lattice) addKnots(a *knots, q *atoms, left *shares, perSquare, reach float64) {
	total, before := 0.0, make([]float64, len(a.p)+1)
	for k, p := range a.p {
		total = arith.Up(total + p)
		before[k+1] = total
	}
	for k, x := range q.x {
		// What both ends of a have together with q is lost where it is next to nothing.
		from, to := 0, len(a.p)
		for from < to && before[from+1]*q.p[k] < nothing {
			from++
		}
		for to > from && (total-before[to-1])*q.p[k] < nothing {
			to--
		}
		square := q.squareOf(k)
		if x == 0 && square == 0 {
			l.p[-l.first] += arith.Up(total * q.p[k])
			continue
		}
		ends := a.lo
		if x < 0 {
			ends = a.hi
		}
		wide := (math.Abs(x) + math.Sqrt(square)) * (1 + 0x1p-50)
		add := func(from, to int, p []float64) {
			l.addMultiples(x, q.p[k], ends[from:to], p, arith.Multiples{Wides: a.square[from:to], Sizes: a.most[from:to],
				PerWide: perSquare * wide * wide * (1 + 0x1p-40), PerSize: perSquare * square * (1 + 0x1p-40)}, reach)
		}
		some := left.until(k, from, to)
		if some > from {
			add(from, some, left.times(k, from, some, a.p))
		}
		add(some, to, a.p[some:to])
		l.lost = arith.Up(l.lost + arith.Up(q.p[k]*arith.Up(before[from]+arith.Up(total-before[to]))))
	}
	l.grow(len(q.x)*(2*len(a.p)+1) + 4)
}

// fineUpTo0 is an upper bound of Prob(sum_i a_i h_i + rest <= 0), for which e^(-rate s) may be
// about miss.
func fineUpTo0(h []*standIn, a []factor, rest normalVar, miss float64) float64 {
	f := &fineSum{h: h}
	mean, spread, widths := 0., rest.sd.Hi*rest.sd.Hi, 0.
	for i := range h {
		k := knotsOf(&a[i])
		p1, p2 := productMomentsApprox(k.pos.lo, k.pos.p, &h[i].low)
		n1, n2 := productMomentsApprox(k.neg.lo, k.neg.p, &h[i].high)
		mean += p1 + n1
		spread += max(0, p2+n2-(p1+n1)*(p1+n1))
		widths += squaresApprox(&k.pos, &h[i].low) + squaresApprox(&k.neg, &h[i].high)
		if h[i].split != nil {
			k.left = newShares(h[i].split, a[i].a, &k.neg, h[i])
		}
		f.a = append(f.a, k)
	}
	best, c, m := 1., circleFor(len(h)), float64(len(h))
	if !(spread < 0x1p400 && spread > 0x1p-400 && math.Abs(mean) < 0x1p400) {
		return 1
	}
	deviation, exponent := math.Sqrt(spread), -math.Log(miss)
	// A few neurons with heavy tails need a wider circle, and a slower rate for what is below it.
	for span := 18.; span < 700; span *= 2 {
		f.step = span * deviation / float64(c.N)
		if !(math.Abs(mean)/f.step < mostPoints/2) {
			continue
		}
		squares := m*f.step*f.step + widths
		f.rate = math.Sqrt(8 * exponent / squares)
		// The sum is lowered by rate/8 squares, and by s or not: the less is better.
		if smooth := 3 / rest.sd.Lo; smooth*squares/8 < f.rate*squares/8+exponent/f.rate {
			f.rate = smooth
		}
		var rates []float64
		for _, r := range []float64{0.2, 0.6, 1.2, 2, 4} {
			rates = append(rates, r*f.step/deviation)
		}
		first := int(mean/f.step) - c.N/2
		sum := onCircle(c, len(h), f.term, first, rates)
		besides := arith.Up(m * arith.Up(f.rate*f.step) * f.step / 8 * (1 + 0x1p-40))
		best = min(best, arith.Up(sum.belowUp(besides, rest)*smoothedUp(f.rate, rest.sd.Lo)))
		for k := 0.3; k < 2; k *= 1.15 {
			s := k * exponent / f.rate
			missed := arith.ExpNegUp(arith.DDOf(arith.Down(f.rate * s)))
			best = min(best, arith.Up(sum.belowUp(arith.Up(s+besides), rest)/arith.Down(1-missed)))
		}
		if sum.lost < max(1e-7, best/64) {
			break
		}
	}
	return best
}

// smoothedUp is an upper bound of 1 + phi(r)/(r Phi(r)) for r = rate sd, infinite below r = 1.
func smoothedUp(rate, sd float64) float64 {
	r := arith.Down(rate * sd)
	if !(r >= 1 && r < 30) {
		return arith.Inf
	}
	return arith.Up(1 + arith.Up(gauss.DensityOfUp(r)/arith.Down(r*gauss.TailOfDown(arith.DDOf(-r)))))
}

// squaresApprox is about E (w q)^2 + E (v a)^2.
func squaresApprox(a *knots, q *atoms) float64 {
	s, a2, v, q2 := 0., 0., 0., 0.
	for k, p := range a.p {
		s, a2 = s+p*a.square[k], a2+p*a.most[k]
	}
	for k, x := range q.x {
		v, q2 = v+q.p[k]*q.squareOf(k), q2+q.p[k]*x*x
	}
	return s*q2 + a2*v
}

// fineNotPositiveUp is notPositiveUp, more finely.
func (n *Network) fineNotPositiveUp(neurons []standIn, row property.Row) float64 {
	return n.notPositiveBy(neurons, row, func(h []*standIn, a []factor, rest normalVar) float64 {
		least := 1.
		if len(h) <= 4 { // single points matter
			rounded := make([]*standIn, len(h))
			for i := range h {
				rounded[i] = &standIn{low: h[i].low.back(-1), high: h[i].high.back(1), lost: h[i].lost}
			}
			least = sumUpTo0(rounded, a, rest)
		}
		return min(least, fineUpTo0(h, a, rest, 0.01))
	})
}

// back takes back that numbers were moved to an end of their bin: to where none of that bin is
// lower (sign -1) or higher (1), as sums must have it that know nothing of squares.
func (a *atoms) back(sign float64) (b atoms) {
	for k, x := range a.x {
		if w := arith.SqrtUp(a.squareOf(k)); w > 0 {
			x += sign * w
			x = sign * arith.Up(sign*x)
		}
		b.add(x, a.p[k])
	}
	return b
}
