package sums

import (
	"math"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
)

// The share of draws with t(v) = u in which some centre around the grid point v has a
// pre-activation of the other sign (doc.go).

// variation is one of the independent normal variables y by which centres differ from a grid
// point: y times before at the centres on one side, times after at those on the other. sd is its
// standard deviation, cov its covariance with t(v).
type variation struct{ mean, sd, cov, before, after arith.Interval }

// least encloses the smaller of y before and y after, for y in w.
func (v *variation) least(w arith.Interval) arith.Interval {
	a, b := w.Times(v.before), w.Times(v.after)
	return arith.Of(min(a.Lo, b.Lo), min(a.Hi, b.Hi))
}

// slopes are the least and the greatest slope of min(y before, y after).
func (v *variation) slopes() arith.Interval {
	return arith.Of(min(v.before.Lo, v.after.Lo), max(v.before.Hi, v.after.Hi))
}

// linear reports whether one centre is all there is in this direction.
func (v *variation) linear() bool { return v.before == v.after }

// share bounds from above, as a function of u >= 0,
//
//	P(u) = Prob(u + sum_k min(y_k before_k, y_k after_k) <= 0 | t(v) = u).
//
// Nodes ascend; between two of them P is at most what linear interpolation says, of `value` or of
// `crude`, the less; NaN says nothing. No nodes: P is 0 above `until` and 1 up to it.
type share struct {
	node, value, crude []float64
	until              float64
}

// up is an upper bound of P(u) for u in [from, to].
func (s *share) up(from, to float64) float64 {
	if s.node == nil {
		if from > s.until {
			return 0
		}
		return 1
	}
	if !(from >= s.node[0] && to <= s.node[len(s.node)-1]) {
		return 1
	}
	k, most := 0, 0.
	for s.node[k+1] < from {
		k++
	}
	for ; k+1 < len(s.node) && s.node[k] <= to; k++ {
		piece := min(1, s.chord(s.value, k, from, to), s.chord(s.crude, k, from, to))
		most = max(most, piece)
	}
	return most
}

// chord is the greatest value of the line between nodes k and k+1 in [from, to]; infinite if it is
// not known. It is rounded up by more than its own roundings.
func (s *share) chord(value []float64, k int, from, to float64) float64 {
	a, b := s.node[k], s.node[k+1]
	if p, q := value[k], value[k+1]; p >= 0 && q >= 0 && p < arith.Inf && q < arith.Inf {
		line := func(u float64) float64 { return p + (q-p)*((min(max(u, a), b)-a)/(b-a)) }
		return max(line(from), line(to)) + 0x1p-49*max(p, q)
	}
	return arith.Inf
}

// conditional is the distribution of the variations given t(v) = u: variation k is
//
//	mean_k + cov_k (u - mean of t)/V + sum_(l <= k) root[k][l] Z_l
//
// with independent standard normal Z_l, V being the variance of t(v).
type conditional struct {
	vars []variation
	t    arith.Interval   // the mean of t(v)
	move []arith.Interval // cov_k / V
	root [][]arith.Interval
}

// given is the distribution of variations given t(v), whose part that is independent of all of
// them has the variance rest. With V_k = rest + sum_(l > k) cov_l^2/sd_l^2, what t(v) varies by
// given the variations up to k,
//
//	E(y_k | t, y_1 .. y_(k-1)) = E y_k + cov_k/V_(k-1) (t - E t - sum_(l < k) cov_l/sd_l^2 (y_l - E y_l))
//	Var(y_k | t, y_1 .. y_(k-1)) = sd_k^2 V_k/V_(k-1)
//
// where nothing cancels but in sums of y.
func given(vars []variation, mean, rest arith.Interval) *conditional {
	n := len(vars)
	c := &conditional{vars: vars, t: mean}
	left := make([]arith.Interval, n+1) // left[k] is V_k
	left[n] = rest
	for k := n - 1; k >= 0; k-- {
		part := vars[k].cov.Abs().Over(vars[k].sd)
		left[k] = left[k+1].Plus(part.Times(part))
	}
	for k := range vars {
		v, row := &vars[k], make([]arith.Interval, k+1)
		var move arith.Interval
		row[k] = v.sd
		if left[k].Hi > 0 { // else t(v) says nothing more
			gain := v.cov.Over(left[k])
			for l := range k {
				for j := l; j < k; j++ {
					slope := vars[j].cov.Over(vars[j].sd).Over(vars[j].sd)
					row[l] = row[l].Minus(gain.Times(slope).Times(c.root[j][l]))
				}
			}
			row[k] = v.sd.Times(left[k+1].Over(left[k]).Sqrt())
			move = v.cov.Over(left[0])
		}
		c.root, c.move = append(c.root, row), append(c.move, move)
	}
	return c
}

// newShare bounds P for u in [least, most], least >= 0, of random variations with the constants
// besides added to u. mean and rest are of t(v), as in given.
func newShare(vars []variation, besides, mean, rest arith.Interval, least, most float64) *share {
	var random []variation
	for _, v := range vars {
		if v.sd.Hi > 0 {
			random = append(random, v)
		} else {
			besides = besides.Plus(v.least(v.mean))
		}
	}
	if len(random) == 0 {
		return &share{until: -besides.Lo}
	}
	c := given(lastBest(random, rest), mean, rest)
	e, centres := newTailMean(c, besides, most), c.centres(besides)
	scale := 0.
	for _, v := range random {
		scale += v.slopes().Size() * v.sd.Hi
	}
	s := &share{node: nodesApprox(least, most, max(0.3/e.uSlope(), scale/64), centres.fallApprox())}
	s.value, s.crude = make([]float64, len(s.node)), make([]float64, len(s.node))
	for k, u := range s.node {
		s.value[k], s.crude[k] = math.NaN(), centres.sumUp(u, s.gap(k))
	}
	// What is nearly 0, or nearly 1, is not looked at more closely.
	const little = 1e-7
	plain := func(k int) bool {
		return s.crude[k] <= little && s.crude[k+1] <= little ||
			centres.mostApprox(s.node[k]) > 0.999 && centres.mostApprox(s.node[k+1]) > 0.999
	}
	for k := range s.node {
		if k > 0 && !plain(k-1) || k+1 < len(s.node) && !plain(k) {
			s.value[k] = e.up(s.node[k], s.gap(k))
		}
	}
	return s
}

// nodesApprox are two or more nodes from least to most: close to each other where P is about to
// fall, further apart the further away they are.
func nodesApprox(least, most, first, falls float64) []float64 {
	if !(first > most*0x1p-200) {
		first = most
	}
	nodes := []float64{least}
	for u := least; u < most; {
		step := max(first, math.Abs(u-falls)/8)
		if u < falls {
			step = max(first, math.Abs(u-falls)/9) // so that it isn't stepped over
		}
		u = max(arith.Up(u), min(u+step, most))
		nodes = append(nodes, u)
	}
	if len(nodes) == 1 {
		nodes = append(nodes, arith.Up(least))
	}
	return nodes
}

// gap is the wider of the intervals beside node k.
func (s *share) gap(k int) float64 {
	gap := 0.
	if k > 0 {
		gap = s.node[k] - s.node[k-1]
	}
	if k+1 < len(s.node) {
		gap = max(gap, s.node[k+1]-s.node[k])
	}
	return arith.Up(gap)
}

// lastBest moves the variation to the end of which the closed form promises most: that of the
// greatest effect, given all others and t(v).
func lastBest(vars []variation, rest arith.Interval) []variation {
	best, most := 0, -1.
	for k, v := range vars {
		part := v.cov.Hi / v.sd.Hi
		effect := v.slopes().Size() * v.sd.Hi
		if !v.linear() {
			effect = (v.after.Hi - v.before.Lo) / 2 * v.sd.Hi
		}
		if effect *= math.Sqrt(rest.Hi / (rest.Hi + part*part)); effect > most {
			best, most = k, effect
		}
	}
	last := len(vars) - 1
	vars[best], vars[last] = vars[last], vars[best]
	return vars
}

// centreTail is the pre-activation of a centre given t(v) = u: its mean at u = 0, the slope of the
// mean in u, and at least its variance: what is known of t(v) does not make it larger.
type centreTail struct {
	mean, slope arith.Interval
	variance    float64
}

type centreTails []centreTail

func (c *conditional) centres(besides arith.Interval) centreTails {
	all := centreTails{{mean: besides, slope: arith.Exactly(1)}}
	for k := range c.vars {
		v := &c.vars[k]
		offsets := []arith.Interval{v.before, v.after}
		if v.linear() {
			offsets = offsets[:1]
		}
		at0 := v.mean.Minus(c.move[k].Times(c.t)) // E(y | u = 0)
		var next centreTails
		for _, old := range all {
			for _, o := range offsets {
				size := o.Times(v.sd).Size()
				next = append(next, centreTail{old.mean.Plus(o.Times(at0)), old.slope.Plus(o.Times(c.move[k])), arith.SumUp(old.variance, arith.ProductUp(size, size))})
			}
		}
		all = next
	}
	return all
}

// SumUp is an upper bound of sum_c Prob(t(c) <= 0 | t(v) = u), made to be interpolated between
// nodes that far apart: infinite where a tail is not convex, which it is for positive arguments.
func (c centreTails) sumUp(u, gap float64) float64 {
	total := 0.
	for _, t := range c {
		mean := t.mean.Plus(t.slope.Times(arith.Exactly(u)))
		if least := mean.Minus(t.slope.Abs().Times(arith.Exactly(gap))); !(least.Lo > 0) {
			return arith.Inf
		}
		total = arith.SumUp(total, gauss.TailOfUp(arith.DDOf(max(0, arith.Down(mean.Lo/arith.SqrtUp(t.variance))))))
	}
	return total
}

// fallApprox is about where the last of the centres' means becomes positive.
func (c centreTails) fallApprox() float64 {
	falls := 0.
	for _, t := range c {
		if at := -t.mean.Lo / t.slope.Lo; t.slope.Lo > 0 && at > falls {
			falls = at
		}
	}
	return falls
}

// mostApprox is about the greatest Prob(t(c) <= 0 | t(v) = u) of a centre, or less.
func (c centreTails) mostApprox(u float64) float64 {
	most := 0.
	for _, t := range c {
		most = max(most, math.Erfc((t.mean.Lo+t.slope.Lo*u)/math.Sqrt(2*t.variance))/2)
	}
	return most
}
