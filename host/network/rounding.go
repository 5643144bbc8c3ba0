package network

import "math"

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
// and pass an activation multiplied by its Lipschitz constant.
func (p *Pass) RoundingApprox(r Rounding, dx []float64) []float64 {
	squares := make([]float64, len(dx))
	for j, e := range dx {
		squares[j] = e * e
	}
	for k, l := range p.net {
		size, from := make([]float64, len(p.Z[k])), make([]float64, len(p.Z[k]))
		for j, z := range p.Z[k] {
			size[j], from[j] = math.Abs(z), r.Term*r.Term*z*z+squares[j]
		}
		sum, square := make([]float64, l.Outputs()), make([]float64, l.Outputs())
		for i := range sum {
			sum[i] = math.Abs(p.weights[2*k+1][l.BiasOf(i)])
		}
		l.addApprox(sum, p.absolute(k), size)
		l.addApprox(square, p.squared(k), from)
		squares = square
		for i := range squares {
			squares[i] = (squares[i] + r.Sum*r.Sum*sum[i]*sum[i]) * l.Activation.Lipschitz() * l.Activation.Lipschitz()
		}
	}
	for i, s := range squares {
		squares[i] = math.Sqrt(s)
	}
	return squares
}

// absolute are the absolute values of the weights of layer k, made when they are asked for.
func (p *Pass) absolute(k int) []float64 { return made(&p.abs, p.weights, k, math.Abs) }

// squared are their squares.
func (p *Pass) squared(k int) []float64 {
	return made(&p.square, p.weights, k, func(w float64) float64 { return w * w })
}

func made(lists *[][]float64, weights [][]float64, k int, f func(float64) float64) []float64 {
	if *lists == nil {
		*lists = make([][]float64, len(weights)/2)
	}
	if (*lists)[k] == nil {
		(*lists)[k] = make([]float64, len(weights[2*k]))
		for i, w := range weights[2*k] {
			(*lists)[k][i] = f(w)
		}
	}
	return (*lists)[k]
}
