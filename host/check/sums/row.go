package sums

import (
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/read/property"
)

// factor is the weight a_i of a neuron in a row: normal, of which neg and pos cover what is
// negative and what is positive, but for lost.
type factor struct {
	a        normalVar
	neg, pos bins
	lost     float64
}

// normalSum is a sum of independent normal variables times factors that are known up to
// intervals: normal for all of them.
type normalSum struct {
	mean, meanHi, least, most arith.Sum
	random                    bool // some standard deviation is not 0
}

func (s *normalSum) add(factor arith.Interval, mean, sdLo, sdHi float64) {
	s.addInterval(factor, normalVar{arith.Exactly(mean), arith.Of(sdLo, sdHi)})
}

func (s *normalSum) addInterval(factor arith.Interval, a normalVar) {
	s.mean.Add(arith.LeastProduct(factor.Lo, factor.Hi, a.mean.Lo, a.mean.Hi))
	s.meanHi.Add(arith.MostProduct(factor.Lo, factor.Hi, a.mean.Lo, a.mean.Hi))
	size := factor.Abs()
	lo, hi := arith.ProductDown(size.Lo, a.sd.Lo), arith.ProductUp(size.Hi, a.sd.Hi)
	s.least.Add(lo, lo)
	s.most.Add(hi, hi)
	s.random = s.random || hi > 0
}

func (s *normalSum) normalVar() normalVar {
	a := normalVar{mean: arith.Of(s.mean.Lo(), s.meanHi.Hi())}
	if s.random {
		a.sd = arith.Of(max(0, s.least.Lo()), s.most.Hi()).Sqrt()
	}
	return a
}

// weightOf is the weight of neuron i in the row.
func (n *Network) weightOf(i int, row *property.Row) normalVar {
	var s normalSum
	w, any := &n.output.Weight, false
	for c, at := range n.output.Dense().From(i) {
		if (row.CLo[c] != 0 || row.CHi[c] != 0) && (w.Mean[at] != 0 || w.SdHi[at] != 0) {
			s.add(arith.Of(row.CLo[c], row.CHi[c]), w.Mean[at], w.SdLo[at], w.SdHi[at])
			any = true
		}
	}
	if !any {
		return normalVar{} // 0, not nearly so
	}
	return s.normalVar()
}

// factorOf is the weight of neuron i in the row, cut at 0.
func (n *Network) factorOf(i int, row *property.Row) factor {
	f := factor{a: n.weightOf(i, row)}
	if !f.a.mean.Finite() || !f.a.sd.Finite() {
		f.lost = 1
		return f
	}
	z, mass, lost := standardBins(f.a.sd)
	f.lost = lost
	zero := f.a.mean.Negated().Over(f.a.sd) // where a = 0
	for k, m := range mass {
		x := f.a.bin(z[k], z[k+1])
		switch {
		case x.Lo >= 0:
			f.pos.add(x.Lo, x.Hi, m)
		case x.Hi <= 0:
			f.neg.add(x.Lo, x.Hi, m)
		case f.a.sd.Hi == 0:
			f.neg.add(x.Lo, 0, m)
			f.pos.add(0, x.Hi, m)
		default:
			f.neg.add(x.Lo, 0, min(m, betweenUp(z[k], min(z[k+1], zero.Hi))))
			f.pos.add(0, x.Hi, min(m, betweenUp(max(z[k], zero.Lo), z[k+1])))
		}
	}
	return f
}

// notPositiveUp is an upper bound of Prob(sum_i X_i + a_0 <= 0), where X_i is a_i times what
// stands in for neuron i; for every row within [CLo, CHi] and offset above D.
func (n *Network) notPositiveUp(neurons []standIn, row property.Row) float64 {
	return n.notPositiveBy(neurons, row, sumUpTo0)
}

// notPositiveBy is notPositiveUp with a choice of how the random terms are added up.
func (n *Network) notPositiveBy(neurons []standIn, row property.Row, add func([]*standIn, []factor, normalVar) float64) float64 {
	if len(row.CLo) != n.output.Outputs() || len(row.CHi) != n.output.Outputs() {
		return 1
	}
	var rest normalSum // with all neurons of constant value
	rest.mean.Plus(row.D)
	rest.meanHi.Plus(row.D)
	for c := range row.CLo {
		b := &n.output.Bias
		at := n.output.Dense().BiasOf(c)
		rest.add(arith.Of(row.CLo[c], row.CHi[c]), b.Mean[at], b.SdLo[at], b.SdHi[at])
	}
	var random []*standIn
	var factors []factor
	lost := 0.0
	if isZero(row.CLo) && isZero(row.CHi) {
		neurons = nil // the row looks at none
	}
	for i := range neurons {
		h, a := &neurons[i], n.factorOf(i, &row)
		if a.a == (normalVar{}) {
			continue // the row does not look at it
		}
		lost = arith.SumUp(lost, h.lost)
		if h.constant {
			lost = arith.SumUp(lost, rest.addConstant(h, &a.a))
			continue
		}
		if a.a.sd.Hi == 0 && len(h.low.x) == 1 && len(h.high.x) == 1 {
			rest.addInterval(arith.Of(h.low.x[0], h.high.x[0]), a.a) // the term is a constant
			continue
		}
		lost = arith.SumUp(lost, a.lost)
		random, factors = append(random, h), append(factors, a)
	}
	a0 := rest.normalVar()
	if !a0.mean.Finite() || !a0.sd.Finite() || !(lost < 1) {
		return 1
	}
	if len(random) == 0 {
		return min(1, arith.SumUp(lost, a0.notPositiveUp()))
	}
	return min(1, arith.SumUp(lost, add(sized(random, factors, a0))))
}

func isZero(x []float64) bool { return !slices.ContainsFunc(x, func(v float64) bool { return v != 0 }) }

// addConstant adds a h for a constant h, and takes off what |a| times `within` may be. It
// returns the probability that |a| is larger than it allows for.
func (s *normalSum) addConstant(h *standIn, a *normalVar) (lost float64) {
	s.addInterval(h.value, *a)
	if h.within > 0 {
		s.mean.Add(-h.within, arith.SumUp(a.mean.Size(), arith.ProductUp(narrowReach, a.sd.Hi)))
		if a.sd.Hi > 0 {
			lost = beyondReach[narrowReach]
		}
	}
	return lost
}

// notPositiveUp is an upper bound of Prob(a <= 0).
func (a normalVar) notPositiveUp() float64 {
	if a.sd.Hi == 0 {
		if a.mean.Lo > 0 {
			return 0
		}
		return 1
	}
	z := a.mean.Over(a.sd) // of a mean that may be 0 or below, the least is what counts
	if a.mean.Lo == 0 && a.sd.Lo == 0 {
		return 1
	}
	return gauss.TailOfUp(arith.DDOf(z.Lo))
}

// mostWork bounds the sum of the squares of the numbers of points: more take too long to
// convolve. Neurons that are rarely active have long tails.
const mostWork = 5e9

// fewPoints are about enough for a term as far as it reaches.
const fewPoints = 1 << 14

// sumUpTo0 is an upper bound of Prob(sum_i a_i h_i + rest <= 0). The lattice's step may be
// chosen freely: between a 17th and a 34th of a standard deviation of the sum, divided by
// the root of the number of terms, and 0.7 times a power of two, which is surely finer than
// the step of the bound that is to be shown again.
func sumUpTo0(h []*standIn, a []factor, rest normalVar) float64 {
	spread, size := rest.sd.Hi*rest.sd.Hi, 0.0
	least, most := make([]float64, len(h)), make([]float64, len(h))
	for i := range h {
		p1, p2 := productMomentsApprox(a[i].pos.lo, a[i].pos.p, &h[i].low)
		n1, n2 := productMomentsApprox(a[i].neg.lo, a[i].neg.p, &h[i].high)
		spread += max(0, p2+n2-(p1+n1)*(p1+n1))
		size += math.Abs(p1 + n1)
		if least[i], most[i] = extremes(h[i], &a[i]); !(max(-least[i], most[i]) < 0x1p390) {
			return 1
		}
	}
	deviation := math.Sqrt(spread)
	if len(h) <= 4 { // single points matter
		deviation /= float64(8 / len(h))
	}
	want := 0.97 / 12 * max(deviation, 1e-4*size) / math.Sqrt(float64(len(h)))
	step := stepFor(want)
	fail := sumByStep(h, a, rest, least, most, step)
	if reach := -slices.Min(least); reach > step*mostPoints {
		// A neuron that is next to never active has next to no deviation, and all that it does is off the
		// lattice: one that holds all of it.
		fail = min(fail, sumByStep(h, a, rest, least, most, stepFor(reach/fewPoints)))
	}
	return fail
}

// stepFor is 0.7 times a power of two, between 0.35 and 0.7 of what is wanted within [2^-400, 2^400].
func stepFor(want float64) float64 {
	_, e := math.Frexp(min(max(want, 0x1p-400), 0x1p400))
	return math.Ldexp(0.7, e-1)
}

// sumByStep is sumUpTo0 on a lattice of that step, or of a multiple that takes little enough work.
func sumByStep(h []*standIn, a []factor, rest normalVar, least, most []float64, step float64) float64 {
	var room []float64
	for ; ; step *= 2 {
		terms, work := make([]*lattice, len(h)), 0.0
		for i := range h {
			l := newLattice(step, least[i], most[i], room)
			room = l.p
			l.addProducts(a[i].pos, h[i].low)
			l.addProducts(a[i].neg, h[i].high)
			l.trim()
			l.p = append([]float64(nil), l.p...)
			terms[i] = l
			work += float64(len(l.p)) * float64(len(l.p))
		}
		if work <= mostWork {
			return convolved(terms).notPositiveUp(len(h), rest)
		}
	}
}

// extremes are the least and the greatest product of the factor and what it multiplies, and
// 0. They are infinite or large if a factor is so large that products may overflow.
func extremes(h *standIn, a *factor) (least, most float64) {
	size := func(x float64) float64 {
		if math.Abs(x) < 0x1p190 {
			return x
		}
		return math.Copysign(arith.Inf, x)
	}
	corners := func(lo, hi []float64, q []float64) {
		if len(lo) == 0 {
			return
		}
		from, to := size(lo[0]), size(hi[len(hi)-1])
		for _, x := range q {
			x = size(x)
			least, most = min(least, from*x, to*x), max(most, from*x, to*x)
		}
	}
	corners(a.pos.lo, a.pos.hi, h.low.x)
	corners(a.neg.lo, a.neg.hi, h.high.x)
	return least, most
}

// productMomentsApprox are about E(a q; a in the bins) and E(a^2 q^2; a in the bins).
func productMomentsApprox(a, p []float64, q *atoms) (first, second float64) {
	var a1, a2, q1, q2 float64
	for k, x := range a {
		a1, a2 = a1+p[k]*x, a2+p[k]*x*x
	}
	for k, x := range q.x {
		q1, q2 = q1+q.p[k]*x, q2+q.p[k]*x*x
	}
	return a1 * q1, a2 * q2
}
