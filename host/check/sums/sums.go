package sums

import (
	"context"
	"fmt"
	"slices"

	"psafe/host/arith"
	"psafe/host/check/curves"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// Sums of neurons (doc.go): a network with one hidden layer fails a row where
//
//	sum_i a_i s(t_i(x)) + a_0 <= 0,   a_i = sum_c C_c u_ci,   t_i(x) = w_i x + b_i,   a_0 = C b + d
//
// of which all a_i, all t_i and a_0 are independent. The probability that this is so for
// some x of a cell is bounded by the distribution of sums of independent terms, one for each
// neuron, that stand in for all of the cell.

// Network is a network with one hidden layer.
type Network struct {
	hidden, output *posterior.Layer
	act            net.Activation
}

// New returns the network of a posterior, or what sums of neurons need that it has not.
func New(p *posterior.Posterior) (*Network, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := p.RequireIndependent(); err != nil {
		return nil, err
	}
	if len(p.Layers) != 2 {
		return nil, fmt.Errorf("sums of neurons need one hidden layer, this network has %d", len(p.Layers)-1)
	}
	for k := range p.Layers {
		if _, dense := p.Layers[k].Map.(net.Dense); !dense {
			return nil, fmt.Errorf("sums of neurons need dense layers, layer %d is a %T", k, p.Layers[k].Map)
		}
	}
	if !p.Network().Chain() {
		return nil, fmt.Errorf("sums of neurons need an output layer that is fed by the hidden layer alone")
	}
	n := &Network{hidden: &p.Layers[0], output: &p.Layers[1], act: p.Layers[0].Activation}
	if !curves.Supported(n.act) {
		return nil, fmt.Errorf("sums of neurons do not know the activation %v", n.act)
	}
	return n, nil
}

// FailUp is an upper bound, at most 1, of the probability that for some cell a row of its plan is
// not positive somewhere in it: the sum over the cells. Where a part of it is not enough any more,
// it is all there is to know. The error is ctx's, or says what does not fit.
func FailUp(ctx context.Context, post *posterior.Posterior, cells []property.Box, plans [][]property.Row, enough func(fail float64) bool) (float64, error) {
	n, err := New(post)
	if err != nil {
		return 1, err
	}
	total := 0.0
	least := slices.Repeat([]float64{1}, len(cells)) // that a cell was found to fail with
	// Where a certificate cannot be shown by plain sums, they are taken more finely.
	for _, notPositiveUp := range []rowBound{n.notPositiveUp, n.fineNotPositiveUp} {
		total = 0
		for i, cell := range cells {
			least[i] = min(least[i], n.cellFailUp(ctx, cell, plans[i], notPositiveUp))
			total = arith.SumUp(total, least[i])
			if err := ctx.Err(); err != nil {
				return 1, err
			}
			if !enough(total) {
				break
			}
		}
		if enough(total) {
			break
		}
	}
	return min(1, total), nil
}

// rowBound bounds the probability that a row of stand-ins is not positive.
type rowBound func(neurons []standIn, row property.Row) float64

// cellFailUp is an upper bound, at most 1, of the probability that one of the rows is not positive
// somewhere in the cell: the sum over them; 1 of nil, and if ctx ends.
func (n *Network) cellFailUp(ctx context.Context, cell property.Box, rows []property.Row, notPositiveUp rowBound) float64 {
	if len(cell.Lo) != n.hidden.Inputs() || len(cell.Hi) != n.hidden.Inputs() || rows == nil {
		return 1
	}
	for j, lo := range cell.Lo {
		if !(arith.Of(lo, cell.Hi[j])).Finite() {
			return 1
		}
	}
	total := 0.0
	f := n.newFace(cell)
	for _, v := range f.vertices {
		neurons := make([]standIn, n.hidden.Outputs())
		for i := range neurons {
			neurons[i] = n.atVertex(f, v, i)
		}
		for _, row := range rows {
			if ctx.Err() != nil || total >= 1 {
				return 1
			}
			total = arith.SumUp(total, notPositiveUp(neurons, row))
		}
	}
	return min(1, total)
}
