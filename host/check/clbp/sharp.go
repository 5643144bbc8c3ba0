package clbp

import (
	"math"

	"psafe/host/arith"
	"psafe/host/check/law"
)

// The noise of rows over a box, sharper than (11) (docs/theory.md, section 3.5): together
// with what the row does over the box anyway (38), and through the weights of the layer below
// (34). It is for chains of dense layers whose activations do not steepen.

// twoOverPiUp is 2/pi and restUp 1 - 2/pi, rounded up.
var (
	twoOverPiUp = arith.Up(2 / math.Pi)
	restUp      = arith.Up(1 - 2/math.Pi)
)

// first is the lowest layer with noise, -1 if there is none to be sharpened.
func (n *Noisy) firstNoisy() int {
	if !n.Graph.Chain || len(n.Mean) < 2 {
		return -1
	}
	first := -1
	for k := range n.Mean {
		if n.common != nil || n.Deviations[k].covaried != nil { // all of this rests on independence
			return -1
		}
		if first < 0 && n.Levels.Noise[k] {
			first = k
		}
		if k < len(n.Mean)-1 && !(n.Mean[k].Act.Lipschitz() <= 1) {
			return -1
		}
	}
	return first
}

// sharpens reports whether bounds of hidden layers can be made better so.
func (n *Noisy) sharpens() bool { return n.firstNoisy() >= 0 && len(n.Mean) > 2 }

// Sharp is the noise of a row from the top down to the first layer with noise, given the squares
// of its coefficients over the top, what it met below and its noise by (11) and (12), by level:
// nil if nothing is known.
func (p *CellPass) Sharp(top int, squares []float64, f *fall, met *Noises) []law.Noise {
	first := p.firstNoisy()
	if first < 0 || p.point || top < max(1, first) || f.inputs.Lo == nil {
		return nil
	}
	var list []law.Noise
	moved := 0.0 // what the layer above adds to the deviation of this one
	var below []float64
	for l := top; l >= first; l-- {
		n := met.of[p.Levels.Of[l]]
		if moved > 0 {
			root := arith.SumUp(arith.SqrtUp(n.Variance), moved)
			n.Variance, moved = law.SquareUp(root), 0
		}
		switch {
		case l == 0 && below != nil:
			n.Mean = 0 // it is in that of layer 1
		case l == 0:
			return nil
		case l == 1:
			if first == 0 {
				below = p.Deviations[0].spreads(law.SquaresUp(f.A[0]))
			}
			apart, _ := p.overInputs(f, nil, below)
			mean, move := p.overInputs(f, p.spreadsAt(l, top, squares, f), below)
			if n.Mean = arith.SumUp(n.Mean, apart); arith.SumUp(mean, move) < n.Mean {
				n.Mean, moved = mean, move
			}
		default:
			if mean, move := p.through(l, p.spreadsAt(l, top, squares, f)); arith.SumUp(mean, move) < n.Mean {
				n.Mean, moved = mean, move
			}
		}
		list = append(list, n)
	}
	return list
}

func (p *CellPass) spreadsAt(l, top int, squares []float64, f *fall) []float64 {
	if l < top {
		squares = law.SquaresUp(f.A[l])
	}
	return p.Deviations[l].spreads(squares)
}

// linear is the process that is linear in the inputs of layer l-1 and varies more than the noise
// of layer l does, whose spreads are given: for input k, the variance that its coefficient has by
// the means of the weights and by their deviations, and the largest part of the latter.
func (p *CellPass) linear(l, k int, spreads []float64) (means, deviations, largest float64) {
	d, z := &p.Deviations[l-1], p.Values(l-1)
	var mean, deviation arith.Sum
	out := len(spreads)
	for j, s := range spreads {
		if s == 0 || z.Lo[j] == z.Hi[j] {
			continue // it does not vary
		}
		mean = mean.With(s, d.meanSquare[k*out+j])
		deviation = deviation.With(s, d.variance[k*out+j])
		largest = max(largest, arith.Up(s*d.variance[k*out+j]))
	}
	return max(0, mean.Hi()), max(0, deviation.Hi()), largest
}

// through is (34): the mean of the noise of layer l > 1, over the weights of layer l-1 too, and
// how much it moves with these.
func (p *CellPass) through(l int, spreads []float64) (mean, moved float64) {
	var total, moves arith.Sum
	for k, radius := range p.ReachInto(l - 1).Radius {
		if radius != 0 {
			means, deviations, largest := p.linear(l, k, spreads)
			total.Add(arith.SqrtUp(arith.SumUp(means, deviations)), radius)
			moves.Add(largest, law.SquareUp(radius))
		}
	}
	return law.TimesSqrt2OverPiUp(total.Hi()), law.TimesSqrt2OverPiUp(arith.SqrtUp(max(0, moves.Hi())))
}

// overInputs is (38): what noise adds in the mean to the range of a row over the cell: that of
// layer 0, of these spreads below, and that of layer 1, of spreads above. Either may be nil.
func (p *CellPass) overInputs(f *fall, above, below []float64) (mean, moved float64) {
	var total, moves arith.Sum
	for k, radius := range p.input.Radius {
		if radius == 0 {
			continue
		}
		var means, deviations, largest, own float64
		if above != nil {
			means, deviations, largest = p.linear(1, k, above)
		}
		if below != nil {
			own = below[k]
		}
		a := 0.0 // the least magnitude of the coefficient
		if lo, hi := f.inputs.Lo[k], f.inputs.Hi[k]; lo > 0 {
			a = lo
		} else if hi < 0 {
			a = -hi
		}
		var x arith.Sum
		x.Add(a, a)
		x.Add(twoOverPiUp, own)
		x.Add(twoOverPiUp, means)
		x.Add(twoOverPiUp, deviations)
		x.Add(restUp, min(own, means))
		total.Add(arith.SumUp(arith.SqrtUp(max(0, x.Hi())), -a), radius)
		moves.Add(largest, law.SquareUp(radius))
	}
	return max(0, total.Hi()), law.TimesSqrt2OverPiUp(arith.SqrtUp(max(0, moves.Hi())))
}
