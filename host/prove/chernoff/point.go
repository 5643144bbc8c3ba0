package chernoff

import (
	"cmp"
	"context"
	"slices"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/prove/claim"
	"psafe/host/read/property"
)

// point holds what is known at a point of a box, of all layers: rects[k] of the neurons of hidden layer k, in the
// first one surely, up to rounding, and above it on the events that statements fails to hold with.
type point struct {
	*chain
	rects [][]rect
	// vary_j bounds how far output j of the last hidden layer is from what it is at the point, anywhere in
	// the box, but in draws that are wide, of probability wideUp; nil where the box is a point.
	vary        []float64
	wideUp      float64
	tau, budget float64
	// stated says how the rects of hidden layers above the first were shown.
	stated claim.ChernoffProof
}

// newPoint is about the middle of a box. What is known of the hidden layers above the first fails with a
// probability of at most budget. It is nil where nothing is known.
func (c *chain) newPoint(ctx context.Context, box property.Box, tau float64) (*point, error) {
	p := &point{chain: c, tau: tau}
	x, radius := middleOf(box)
	if slices.ContainsFunc(radius, notZero) {
		p.spreads(radius)
	}
	p.rects = append(p.rects, c.hidden[0].at(x))
	p.budget = p.wideUp
	for k := 1; k < len(c.hidden); k++ {
		rects, err := p.quantiles(ctx, k)
		if err != nil || rects == nil {
			return nil, err
		}
		p.rects = append(p.rects, rects)
		p.budget = arith.Up(p.budget + arith.Up(events*float64(len(rects))*tau))
	}
	return p, nil
}

// middleOf is a point of a box, and how far from there each input may be.
func middleOf(box property.Box) (x, radius []float64) {
	x, radius = slices.Clone(box.Lo), make([]float64, len(box.Lo))
	for j, lo := range box.Lo {
		if hi := box.Hi[j]; lo != hi {
			x[j] = arith.Middle(lo, hi)
			radius[j] = max(arith.SumUp(hi, -x[j]), arith.SumUp(x[j], -lo))
		}
	}
	return x, radius
}

// events are how many statements a neuron above the first layer has.
const events = 4

// spreads sets how far layers vary over a box of that radius.
func (p *point) spreads(radius []float64) {
	weights := 0
	for _, l := range p.hidden {
		next := make([]float64, l.out)
		for o := range next {
			var s arith.Sum
			for j, r := range radius {
				if r != 0 {
					s.Add(l.reach(j, o), r)
				}
			}
			next[o] = s.Hi()
		}
		radius, weights = next, weights+len(l.mean)
	}
	weights += len(p.last.mean)
	p.vary, p.wideUp = radius, arith.Up(float64(2*weights)*gauss.TailUp(wide))
}

// at encloses the mean and the variance of each neuron, given its inputs.
func (l *layer) at(x []float64) []rect {
	rects := make([]rect, l.out)
	square := make([]arith.Interval, len(x))
	for j, v := range x {
		square[j] = arith.Exactly(v).Square()
	}
	for o := range rects {
		var mean, lo, hi arith.Sum
		mean.Plus(l.bias[o])
		lo.Plus(l.biasLo[o])
		hi.Plus(l.biasHi[o])
		noisy := l.biasHi[o] > 0
		for j, v := range x {
			if v == 0 {
				continue
			}
			at := j*l.out + o
			noisy = noisy || l.squareHi[at] > 0
			mean.Add(l.mean[at], v)
			lo.Add(l.squareLo[at], square[j].Lo)
			hi.Add(l.squareHi[at], square[j].Hi)
		}
		if rects[o] = (rect{mean.Lo(), mean.Hi(), 0, 0}); noisy { // else its variance is 0, not nearly so
			rects[o].varLo, rects[o].varHi = max(0, lo.Lo()), hi.Hi()
		}
	}
	return rects
}

// momentUp bounds log E exp(sum -al_j z_j + b_j z_j^2/2) for the outputs z of hidden layer k, on the
// events of layers up to k, by the planes of layers from 1 to k (52). The planes' maxima are proved to
// about tol together in each layer.
func (p *point) momentUp(k int, al []arith.Interval, b []float64, planes [][]slopes, tol float64) float64 {
	total := 0.0
	for ; k > 0; k-- { // down to the first
		l, by := p.hidden[k], planes[k]
		var s arith.Sum
		for o, r := range p.rects[k] {
			height := r.above(l.surface(al[o], b[o], r, pieceTol(tol)), by[o], tol/float64(l.out))
			if height == arith.Inf {
				return arith.Inf
			}
			s.Plus(height)
			s.Add(by[o].mean, l.bias[o])
			s.Add(by[o].variance, pick(by[o].variance, l.biasLo[o], l.biasHi[o]))
		}
		total = arith.Up(total + s.Hi())
		al, b = l.below(by)
	}
	return arith.Up(total + p.firstUp(al, b, pieceTol(tol)))
}

// firstUp is momentUp of the first hidden layer, whose means and variances are known.
func (p *point) firstUp(al []arith.Interval, b []float64, tol float64) float64 {
	var s arith.Sum
	for o, r := range p.rects[0] {
		m := p.hidden[0].firstUp(al[o], b[o], r, tol)
		if m == arith.Inf {
			return arith.Inf
		}
		s.Plus(m)
	}
	return s.Hi()
}

// below is the exponent sum_o by_o.mean (mean of neuron o) + by_o.variance (its variance), biases apart,
// as one of the layer's inputs z: -al z + b z^2/2 is at least that, for the worse al of an interval.
func (l *layer) below(by []slopes) (al []arith.Interval, b []float64) {
	al, b = make([]arith.Interval, l.in), make([]float64, l.in)
	for j := range al {
		var linear, square arith.Sum
		for o, s := range by {
			at := j*l.out + o
			linear = linear.With(-s.mean, l.mean[at])
			square = square.With(s.variance, pick(s.variance, l.squareLo[at], l.squareHi[at]))
		}
		al[j], b[j] = arith.Of(linear.Lo(), linear.Hi()), 2*square.Hi()
	}
	return al, b
}

// pick is the end of an interval at which the product with a is largest.
func pick(a, lo, hi float64) float64 {
	if a > 0 {
		return hi
	}
	return lo
}

// tailUp bounds the logarithm of the probability that the row is <= 0 somewhere in the box and the variance of
// the last layer's noise is in that of a part, on the events, by the rate h and planes (52a).
func (p *point) tailUp(row *head, h float64, of *part) float64 {
	al, b := row.exponent(h, of.square)
	var s arith.Sum
	s.Add(-h, row.c)
	s.Add(of.square, pick(of.square, row.sbLo, row.sb))
	s.Plus(arith.ProductUp(h, p.lossUp(row)))
	s.Plus(of.heightUp(h))
	return arith.Up(s.Hi() + p.momentUp(len(p.hidden)-1, al, b, of.planes, cmp.Or(of.tol, fine)))
}

// fine is how near the planes of rows are proved, but in a short look.
const fine = 0.01

// pieceTol returns how far pieces may be above a function somewhere, in all neurons of a layer together, where
// planes are proved to tol: on average they are by a third of that, or less.
func pieceTol(tol float64) float64 { return min(3*tol, 0.15) }

// lossUp bounds how far the row falls below what it is at the point, anywhere in the box.
func (p *point) lossUp(row *head) float64 {
	var s arith.Sum
	for j, r := range p.vary {
		s.Add(row.reach[j], r)
	}
	return s.Hi()
}

// exponent is that of -h times the row's mean, given z, and square times its variance: -al_j z_j + b_j z_j^2/2.
func (r *head) exponent(h, square float64) (al []arith.Interval, b []float64) {
	al, b = make([]arith.Interval, len(r.a)), make([]float64, len(r.a))
	for j := range al {
		al[j] = arith.Of(arith.ProductDown(h, r.a[j]), arith.ProductUp(h, r.aHi[j]))
		b[j] = arith.ProductUp(2*square, pick(square, r.sLo[j], r.s[j]))
	}
	return al, b
}
