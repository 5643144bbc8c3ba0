package chernoff

import (
	"math"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
)

// How far the second of two hidden layers moves in a box, by both layers of weights together: products of two
// layers of independent weights add up as squares do, where the sums of their magnitudes are many times as
// large (docs/theory.md, section 7.6).

// joint holds what is known of the products of both layers on one event.
type joint struct {
	// sides are 0 of the first layer's neurons that are surely off in the box, 1 of those that are on, and 1/2 of
	// the others.
	sides []float64
	// second[j*inputs+k] is at least the mean square of sum_i W^2_ji sides_i W^1_ik.
	second []float64
	// size is above sum_k r_k |(sides_i W^1_ik)_i|.
	size float64
}

// decided sets the sides of the neurons of the first layer, where the other one has at most the probability tau, and
// counts what these have.
func (b *region) decided(tau float64) {
	b.sides = make([]float64, len(b.rects[0]))
	for i, r := range b.rects[0] {
		reach, sd := b.reach[0][i], arith.Up(math.Sqrt(r.varHi))
		b.sides[i] = 0.5
		for side, away := range []float64{arith.Down(-r.meanHi - reach), arith.Down(r.meanLo - reach)} {
			if !(away > 0) {
				continue
			}
			if up := gauss.TailUp(arith.Down(away / sd)); up <= tau {
				b.sides[i], b.budget = float64(side), arith.Up(b.budget+up)
			}
		}
	}
}

// together bounds how far the second layer's neurons move, each side but with what q is the quantile of for two layers,
// and the size of sides W^1, but with what q1 is that of one.
func (b *region) together(q1, q float64) []float64 {
	first, second := b.hidden[0], b.hidden[1]
	b.second = make([]float64, second.out*first.in)
	var size, sizeVar arith.Sum
	for k, r := range b.radius {
		var square arith.Sum
		most := 0.0
		for i, side := range b.sides {
			at := k*first.out + i
			m := first.mean[at]
			square = square.With(side*side, arith.SumUp(arith.Up(m*m), first.squareHi[at]))
			most = max(most, side*side*first.squareHi[at])
		}
		size.Add(r, rootUp(square.Hi()))
		sizeVar.Add(arith.Up(r*r), most)
	}
	b.size = arith.SumUp(size.Hi(), arith.ProductUp(q1, rootUp(sizeVar.Hi())))
	next := make([]float64, second.out)
	for j := range next {
		next[j] = roundUp32(b.moves(j, q))
	}
	return next
}

// moves bounds how far neuron j of the second layer moves, one way.
func (b *region) moves(j int, q float64) float64 {
	first, second := b.hidden[0], b.hidden[1]
	var mean, above, below arith.Sum
	for i, side := range b.sides {
		if side == 0 {
			continue
		}
		at, reach := i*second.out+j, b.reach[0][i]
		if side == 0.5 {
			mean.Add(math.Abs(second.mean[at]), reach/2)
		}
		above.Add(second.squareHi[at], arith.Up(reach*reach))
	}
	for k, r := range b.radius {
		if r == 0 {
			continue
		}
		var product, ofFirst, ofSecond arith.Sum
		most := 0.0
		for i, side := range b.sides {
			if side == 0 {
				continue
			}
			at, w := i*second.out+j, k*first.out+i
			m, x := side*second.mean[at], first.mean[w]
			product = product.With(m, x)
			ofFirst = ofFirst.With(arith.Up(m*m), first.squareHi[w])
			ofSecond = ofSecond.With(second.squareHi[at], arith.SumUp(arith.Up(x*x), first.squareHi[w]))
			most = max(most, second.sdHi[at]*first.sdHi[w])
		}
		size := max(math.Abs(product.Lo()), math.Abs(product.Hi()))
		sd := rootUp(ofFirst.Hi())
		mean.Add(r, arith.SumUp(gauss.AbsMeanUp(size, sd), arith.ProductUp(arith.Sqrt2OverPiUp, rootUp(ofSecond.Hi()))))
		lipschitz := arith.SumUp(sd, arith.ProductUp(arith.Sqrt2OverPiUp, arith.Up(most)))
		below.Add(arith.Up(r*r), arith.Up(lipschitz*lipschitz))
		b.second[j*len(b.radius)+k] = arith.SumUp(arith.Up(size*size), arith.SumUp(ofFirst.Hi(), ofSecond.Hi()))
	}
	return arith.SumUp(mean.Hi(), arith.ProductUp(q, rootUp(arith.SumUp(above.Hi(), below.Hi()))))
}

// rootUp is at or above the root of x, 0 if that is below 0.
func rootUp(x float64) float64 { return arith.Up(math.Sqrt(max(0, x))) }

// spread takes a row down to the input.
func (b *region) spread(h *head, shares [][]uint8) *spread {
	s := &spread{head: h, shares: shares}
	if len(b.hidden) == 1 {
		b.spreadOfOne(s)
	} else {
		b.spreadOfTwo(s)
	}
	return s
}

// through are the coefficients of the part of a difference that goes through the neurons of layer k; loss is of
// rounding them.
func (b *region) through(k int, coefficients []float64, shares []uint8, loss *arith.Sum) []float64 {
	through := make([]float64, len(coefficients))
	for j, a := range coefficients {
		through[j] = a * share(shares[j])
		loss.Add(arith.Up(math.Abs(through[j])*0x1p-52), b.reach[k][j])
	}
	return through
}

// difference adds what input k adds to the difference of a row, of radius r: of the linear part with its deviation sd,
// and of the noise of layers above.
func (s *spread) difference(loss, variance *arith.Sum, k int, r, size, sd, noise, lipschitz float64) {
	mean := arith.SumUp(gauss.AbsMeanUp(size, sd), arith.ProductUp(arith.Sqrt2OverPiUp, noise))
	if by := r * mean; by > s.most {
		s.axis, s.most = k, by
	}
	loss.Add(r, mean)
	l := arith.SumUp(sd, arith.ProductUp(arith.Sqrt2OverPiUp, lipschitz))
	variance.Add(arith.Up(r*r), arith.Up(l*l))
}

// meets returns what input k of a layer meets in a row with the coefficients t of its outputs, where noises have the variances
// s: bounds of the mean and of the variance of sum_i t_i W_ik, the mean of sum_i s_i W_ik^2, and the most of s_i times a
// variance.
func (l *layer) meets(k int, t, s []float64) (mean, square, noise arith.Sum, most float64) {
	for i, c := range t {
		at := k*l.out + i
		m := l.mean[at]
		mean = mean.With(c, m)
		square = square.With(arith.Up(c*c), l.squareHi[at])
		noise = noise.With(s[i], arith.SumUp(arith.Up(m*m), l.squareHi[at]))
		most = max(most, arith.Up(s[i]*l.squareHi[at]))
	}
	return mean, square, noise, most
}

// spreadOfOne is spread for one hidden layer.
func (b *region) spreadOfOne(s *spread) {
	var loss, variance arith.Sum
	l, through := b.hidden[0], b.through(0, s.a, s.shares[0], &loss)
	for k, r := range b.radius {
		if r == 0 {
			continue
		}
		mean, square, noise, most := l.meets(k, through, s.s)
		s.difference(&loss, &variance, k, r, max(math.Abs(mean.Lo()), math.Abs(mean.Hi())), rootUp(square.Hi()), rootUp(noise.Hi()), rootUp(most))
	}
	s.loss, s.variance = loss.Hi(), max(0, variance.Hi())
}

// spreadOfTwo is spread for two.
func (b *region) spreadOfTwo(s *spread) {
	first, second := b.hidden[0], b.hidden[1]
	var loss, variance arith.Sum
	through := b.through(1, s.a, s.shares[1], &loss)
	s.carried = make([]float64, first.out)
	noise, heavy := make([]float64, first.out), make([]float64, first.out) // variances of the second layer's noise, and what the last one's meets
	var open, kept, keptMost arith.Sum
	widest := 0.0
	for i, side := range b.sides {
		mean, square, weight, most := second.meets(i, through, s.s)
		s.carried[i] = mean.Lo()
		reach := b.reach[0][i]
		loss.Add(arith.SumUp(mean.Hi(), -mean.Lo()), reach)
		if side == 0 {
			continue
		}
		noise[i], heavy[i], widest = max(0, square.Hi()), max(0, weight.Hi()), max(widest, most)
		kept.Add(noise[i], arith.Up(reach*reach))
		if side == 0.5 {
			open.Add(rootUp(heavy[i]), reach/2)
			keptMost.Add(most, arith.Up(reach*reach)/4)
		}
	}
	loss.Add(arith.Sqrt2OverPiUp, open.Hi())
	lipschitz := arith.SumUp(arith.ProductUp(rootUp(widest), b.size), rootUp(keptMost.Hi()))
	lipschitz = arith.SumUp(rootUp(kept.Hi()), arith.ProductUp(arith.Sqrt2OverPiUp, lipschitz))
	variance.Plus(arith.Up(lipschitz * lipschitz))
	lower := b.through(0, s.carried, s.shares[0], &loss)
	for k, r := range b.radius {
		if r == 0 {
			continue
		}
		mean, square, ofSecond, most := first.meets(k, lower, noise)
		var ofLast, bend arith.Sum
		for i, side := range b.sides {
			bend = bend.With(side*side*heavy[i], first.squareHi[k*first.out+i])
		}
		for j, v := range s.s {
			ofLast = ofLast.With(v, b.joint.second[j*len(b.radius)+k])
		}
		s.difference(&loss, &variance, k, r, max(math.Abs(mean.Lo()), math.Abs(mean.Hi())), rootUp(square.Hi()),
			arith.SumUp(rootUp(ofSecond.Hi()), rootUp(ofLast.Hi())), arith.SumUp(rootUp(most), rootUp(bend.Hi())))
	}
	s.loss, s.variance = loss.Hi(), max(0, variance.Hi())
}
