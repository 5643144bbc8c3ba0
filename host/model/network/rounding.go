package network

import (
	"math"
	"slices"
)

// Rounding is a model of the arithmetic that somebody else's program evaluates a network
// in: relative errors, in units of 1. It estimates and bounds nothing.
type Rounding struct {
	// Sum is the error of a layer's sum, relative to the sum of the absolute values of its
	// terms; Term that of each product, which is taken to be random.
	Sum, Term float64
}

// RoundingApprox estimates how far the logits of the last Forward may be from those of a
// program that rounds as r says, whose input is off by dx. With the pre-activations
// zeta_i = sum_j w_ij z_j + b_i of a layer, errors add up like independent ones:
//
//	e_i^2 = Sum^2 (sum_j |w_ij z_j| + |b_i|)^2 + sum_j w_ij^2 (Term^2 z_j^2 + e_j^2)
//
// and pass an activation multiplied by its Lipschitz constant. The square of an error passes a
// map without weights as a value does, which for a mean is what equal errors would do, and a max
// pool gives the largest.
func (p *Pass) RoundingApprox(r Rounding, dx []float64) []float64 {
	squares := make([]float64, len(dx))
	for j, e := range dx {
		squares[j] = e * e
	}
	all := make([][]float64, len(p.net))
	for k, l := range p.net {
		from := slices.Clone(Join(p.net, k, squares, all))
		size := make([]float64, len(p.Z[k]))
		for j, z := range p.Z[k] {
			size[j] = math.Abs(z)
		}
		sum, square := make([]float64, l.Outputs()), make([]float64, l.Outputs())
		switch l.Map.(type) {
		case Linear:
			for j, z := range p.Z[k] {
				from[j] += r.Term * r.Term * z * z
			}
			abs, squared := p.absolute(k)
			l.forwardApprox(sum, abs, positive(p.weights[2*k+1]), size)
			l.forwardApprox(square, squared, make([]float64, l.Biases()), from)
		case Fixed:
			l.forwardApprox(sum, nil, nil, size)
			l.forwardApprox(square, nil, nil, from)
		case MaxPool:
			l.forwardApprox(square, nil, nil, from)
		}
		for i := range square {
			square[i] = (square[i] + r.Sum*r.Sum*sum[i]*sum[i]) * l.Activation.Lipschitz() * l.Activation.Lipschitz()
		}
		all[k] = square
	}
	last := all[len(all)-1]
	for i, s := range last {
		last[i] = math.Sqrt(s)
	}
	return last
}

// absolute are the absolute values of the weights of layer k and their squares, made when they
// are asked for.
func (p *Pass) absolute(k int) (abs, square []float64) {
	if p.abs == nil {
		p.abs, p.square = make([][]float64, len(p.net)), make([][]float64, len(p.net))
	}
	if p.abs[k] == nil {
		p.abs[k], p.square[k] = positive(p.weights[2*k]), make([]float64, len(p.weights[2*k]))
		for i, w := range p.weights[2*k] {
			p.square[k][i] = w * w
		}
	}
	return p.abs[k], p.square[k]
}

func positive(list []float64) []float64 {
	abs := make([]float64, len(list))
	for i, v := range list {
		abs[i] = math.Abs(v)
	}
	return abs
}
