// Package neuronsum bounds failure probabilities with one hidden layer, by the law of the margin.
// Weights are independent and normal; no box of them is needed. The margin of a row, C f(x) + d, is
// a sum of independent terms, one for each hidden neuron,
//
//	m(x) = sum_i a_i s(w_i x + b_i) + a_0,   a_i = sum_c C_c u_ci,   a_0 = C b_out + d
//
// The distribution of each term is cut into atoms, put on a lattice and convolved
// with the others, every rounding outward (docs/theory.md, section 8): what is left is the sum's lower
// tail, with no relaxation of the weights at all. It suits few inputs and large standard deviations.
//
//	Sum.CellFailUp   P(f(x) is outside of S for some x in a small box), from above
//	Sum.Cover        the same for unions of boxes, cut into cells: 1 - it bounds P_safe from below
//	Sum.SafeUp       P(f(x) is in S) at a point, from above: it bounds P_safe from above
//	Sum.PointApprox  where to look for a small SafeUp; Sum.SafeApprox about what it will say
//
// Files: sum.go adds up, factor.go has the laws of the a_i, view.go those of the
// neurons' values for a whole cell, vertex.go those for a cell's vertices, task.go the
// rows of a property, cover.go the cutting of cells, grids.go hands large boxes to package grid.
// Package law has the normal laws behind them, package interval the arithmetic.
package neuronsum

import (
	"context"
	"math"
	"sync/atomic"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/model/posterior"
	"psafe/host/prove/neuronsum/law"
	"psafe/host/prove/probability"
	"psafe/host/prove/slack"
	"psafe/host/read/property"
)

// Sum bounds failure probabilities of one network (see the package comment). The
// methods may be called at the same time.
type Sum struct {
	net *law.Net
	q   quality
	// ended reports whether the work has to stop (Until); nil for never.
	ended func() bool
}

// quality describes how finely distributions are cut; any numbers are sound.
type quality struct {
	// factors, nodes and rests are the numbers of intervals for the output
	// weights, the values of hidden neurons, and what is left of the latter when
	// the value at the centre is given.
	factors, nodes, rests int
	// narrow is by how many standard deviations of t an axis may move it and cost no
	// vertices.
	narrow float64
	// step is the lattice's step in standard deviations of the sum times sqrt(n).
	step float64
	// work bounds the sum of the squares of the numbers of lattice points.
	work int64
}

var (
	fine   = quality{factors: 512, nodes: 512, rests: 32, narrow: 0x1p-20, step: 1. / 12, work: 2e9}
	coarse = quality{factors: 128, nodes: 128, rests: 12, narrow: 0x1p-20, step: 1. / 5, work: 2e7}
)

// New prepares a posterior, which it keeps and must not be changed. The error says
// why sums of neurons cannot serve: p does not have exactly one hidden layer, dense as
// the output is, or independent normal weights, or is not valid.
func New(p *posterior.Posterior) (*Sum, error) {
	net, err := law.New(p)
	if err != nil {
		return nil, err
	}
	return &Sum{net: net, q: fine}, nil
}

// Until is n for work that has to stop when ctx ends: from then on probabilities are bounded by 1,
// and proposals are what has been found.
func (n *Sum) Until(ctx context.Context) *Sum {
	m := *n
	m.ended = func() bool { return ctx.Err() != nil }
	return &m
}

// over reports whether the work has to stop, and goes on to.
func (n *Sum) over() bool { return n.ended != nil && n.ended() }

// withQuality is n at another quality.
func (n *Sum) withQuality(q quality) *Sum {
	m := *n
	m.q = q
	return &m
}

// failUp returns an upper bound, at most 1, of
//
//	Prob( C f(x) + D <= 0 for some x in the cell that is viewed )
//
// for every C in [CLo, CHi], rounded up at every step: the sum of the bounds for the
// vertices of the view. NaN, infinities and overflow give 1, and so does work that has to stop.
func (n *Sum) failUp(view []vertex, row property.Row) float64 {
	f := n.factors(row)
	if f == nil || view == nil {
		return 1
	}
	sum := 0.0
	for _, v := range view {
		if sum = arith.Up(sum + n.vertexUp(v, f)); !(sum < 1) {
			return 1
		}
	}
	return sum
}

// vertexUp bounds Prob(sum_i X_i + a_0 <= 0) for the terms X_i of one vertex.
func (n *Sum) vertexUp(v vertex, f *factors) float64 {
	mean, variance, lost := f.mean, f.variance, 0.0
	var random []int
	for i := range v {
		h, a := &v[i], &f.neurons[i]
		if !h.constant {
			random = append(random, i)
			continue
		}
		// A constant times a normal weight is normal; what is only near to it takes
		// at most |a| within away, everywhere in the cell.
		mean = mean.Plus(a.mean.Times(h.value))
		variance = variance.Plus(a.sd.Square().Times(h.value.Square()))
		lost = arith.AddUp(lost, h.lost)
		if h.within > 0 {
			most := arith.Up(max(-a.mean.Lo, a.mean.Hi) + arith.Up(narrowReach*a.sd.Hi))
			mean = mean.Minus(arith.Exactly(arith.Up(most * h.within)))
			if a.sd.Hi > 0 {
				lost = arith.AddUp(lost, arith.Up(2*gauss.TailUp(narrowReach)))
			}
		}
	}
	rest := law.Normal(mean, variance.Sqrt())
	if !mean.Finite() || !variance.Finite() {
		return 1
	}
	if len(random) == 0 {
		return arith.AddUp(rest.BelowUp(0), lost)
	}
	terms := make([]*probability.Lattice, len(random))
	for step := n.stepApprox(v, f, random, rest); ; step *= 2 {
		var work atomic.Int64
		law.OnCores(len(random), func(k int) {
			if n.over() {
				return
			}
			terms[k] = f.neurons[random[k]].term(&v[random[k]], step)
			points := int64(terms[k].Trim())
			work.Add(points * points)
		})
		// Neurons that are rarely active have long tails; too many points take
		// too long to convolve.
		if n.over() {
			return 1
		}
		if work.Load() <= n.q.work || !(step < 0x1p500) {
			sum := probability.SumUp(terms, law.OnCores, n.over)
			if sum == nil {
				return 1
			}
			return max(arith.AddUp(sum.NotPositiveUp(len(random), rest), lost), float64(len(random))*slack.LeastLost)
		}
	}
}

// term is the distribution of X = a low for a >= 0, a high for a < 0.
func (a *factor) term(h *hidden, step float64) *probability.Lattice {
	lo, hi := 0.0, 0.0
	for _, q := range []float64{h.low.X[0], h.low.X[len(h.low.X)-1], h.high.X[0], h.high.X[len(h.high.X)-1]} {
		lo, hi = min(lo, a.least*q, a.most*q), max(hi, a.least*q, a.most*q)
	}
	l := probability.NewLattice(step, lo, hi)
	l.AddProduct(a.pos, h.low)
	l.AddProduct(a.neg, h.high)
	l.Lose(a.lost)
	l.Lose(h.lost)
	return l
}

// stepApprox chooses the lattice's step: any power of two will do.
func (n *Sum) stepApprox(v vertex, f *factors, random []int, rest gauss.Normal) float64 {
	want := n.q.step * sdApprox(v, f, random, rest) / math.Sqrt(float64(len(random)))
	_, e := math.Frexp(min(max(want, 0x1p-500), 0x1p500))
	return math.Ldexp(1, e-1)
}

// sdApprox is about the standard deviation of the sum.
func sdApprox(v vertex, f *factors, random []int, rest gauss.Normal) float64 {
	variance, size := rest.SdHi*rest.SdHi, 0.0
	for _, i := range random {
		a, h := &f.neurons[i], &v[i]
		p1, p2 := momentsApprox(a.pos.Lo, a.pos.P)
		n1, n2 := momentsApprox(a.neg.Lo, a.neg.P)
		l1, l2 := momentsApprox(h.low.X, h.low.P)
		h1, h2 := momentsApprox(h.high.X, h.high.P)
		mean := p1*l1 + n1*h1
		variance += max(0, p2*l2+n2*h2-mean*mean)
		size += math.Abs(mean)
	}
	return max(math.Sqrt(variance), 1e-4*size)
}

func momentsApprox(x, p []float64) (first, second float64) {
	for k, v := range x {
		first += p[k] * v
		second += p[k] * v * v
	}
	return first, second
}
