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

// FailUp is an upper bound, at most 1, of Prob(f(x) is outside of S for some x of a cell): the
// sum over the cells. Where a part of it is not enough any more, it is all there is to know. The
// error is ctx's, or says what does not fit.
func FailUp(ctx context.Context, post *posterior.Posterior, cells []property.Box, safe *property.Safe, enough func(fail float64) bool) (float64, error) {
	n, err := New(post)
	if err != nil {
		return 1, err
	}
	total := 0.0
	least := make([]float64, len(cells)) // that a cell was found to fail with
	for i := range least {
		least[i] = 1
	}
	// Which alternatives are likely to fail least is told by moments. Where a certificate cannot be
	// shown by those, its sums are taken more finely, and then all alternatives are tried.
	for _, w := range []way{{n.notPositiveUp, false}, {n.fineNotPositiveUp, false}, {n.notPositiveUp, true}, {n.fineNotPositiveUp, true}} {
		total = 0
		for i, cell := range cells {
			least[i] = min(least[i], n.cellFailUp(ctx, cell, safe, w))
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

// SafeUp is an upper bound, at most 1, of Prob(f(x) in S) for every single x of the box
// witness, hence of P_safe if one of them is in T; of no box it is 1. Where it is not enough, sums are taken more
// finely, and then all rows are tried, as in FailUp.
func SafeUp(ctx context.Context, post *posterior.Posterior, safe *property.Safe, witness property.Box, enough func(safe float64) bool) (float64, error) {
	n, err := New(post)
	if err != nil || witness.Lo == nil {
		return 1, err
	}
	least := 1.0
	for _, w := range []way{{n.notPositiveUp, false}, {n.fineNotPositiveUp, false}, {n.notPositiveUp, true}, {n.fineNotPositiveUp, true}} {
		up, err := n.safeUp(ctx, safe, witness, w)
		if err != nil {
			return 1, err
		}
		if least = min(least, up); enough(least) {
			break
		}
	}
	return least, nil
}

// safeUp is SafeUp in one way.
func (n *Network) safeUp(ctx context.Context, safe *property.Safe, witness property.Box, w way) (float64, error) {
	total, about := 0.0, n.momentsApprox(witness)
	if len(safe.Gates) > 0 {
		negated := make([]property.Row, len(safe.Rows))
		for r := range negated {
			negated[r] = safe.Rows[r].Negated()
		}
		rows, ok := Refuted(safe, about.costs(negated))
		if !ok {
			return 1, ctx.Err()
		}
		for _, r := range rows {
			total = arith.SumUp(total, n.leastUp(ctx, witness, [][]property.Row{negated[r : r+1]}, w.notPositiveUp))
		}
		return min(1, total), ctx.Err()
	}
	for _, all := range safe.Any {
		// An alternative holds only where each of its rows does, and each sum of them.
		var rows []property.Row
		var plans [][]property.Row
		for _, r := range all {
			rows = append(rows, safe.Rows[r].Negated())
		}
		for k := range rows {
			plans = append(plans, rows[k:k+1])
		}
		likely := about.plans(plans, rows)
		if w.all {
			likely = plans
		}
		total = arith.SumUp(total, n.leastUp(ctx, witness, likely, w.notPositiveUp))
	}
	return min(1, total), ctx.Err()
}

// way describes how a bound is looked for: what bounds the probability that a sum is not positive,
// and whether all plans are tried.
type way struct {
	notPositiveUp func(neurons []standIn, row property.Row) float64
	all           bool
}

// cellFailUp is an upper bound of Prob(f(x) outside of S for some x of the cell). S fails
// only where each of its alternatives fails, that is where one of an alternative's rows
// does; and, if all alternatives are single rows, only where every sum of them is negative.
// Without all, only what is likely to fail least is tried.
func (n *Network) cellFailUp(ctx context.Context, cell property.Box, s *property.Safe, w way) float64 {
	plans := n.momentsApprox(cell).Plans(s)
	var single []property.Row
	for _, rows := range plans {
		if len(rows) == 1 {
			single = append(single, rows[0])
		}
	}
	if len(single) < len(s.Any) {
		single = nil
	}
	if !w.all {
		plans = n.momentsApprox(cell).plans(plans, single)
	}
	return n.leastUp(ctx, cell, plans, w.notPositiveUp)
}

// leastUp is the least that one of the plans gives, at most 1: an upper bound of the
// probability that a row of it is not positive somewhere in the cell, the sum over its rows;
// 1 if ctx ends.
func (n *Network) leastUp(ctx context.Context, cell property.Box, plans [][]property.Row,
	notPositiveUp func(neurons []standIn, row property.Row) float64,
) float64 {
	if len(cell.Lo) != n.hidden.Inputs() || len(cell.Hi) != n.hidden.Inputs() || len(plans) == 0 {
		return 1
	}
	for j, lo := range cell.Lo {
		if !(arith.Of(lo, cell.Hi[j])).Finite() {
			return 1
		}
	}
	totals := make([]float64, len(plans))
	f := n.newFace(cell)
	for _, v := range f.vertices {
		neurons := make([]standIn, n.hidden.Outputs())
		for i := range neurons {
			neurons[i] = n.atVertex(f, v, i)
		}
		least := 1.0
		for p, rows := range plans {
			for _, row := range rows {
				if ctx.Err() != nil {
					return 1
				}
				if totals[p] < 1 {
					totals[p] = arith.SumUp(totals[p], notPositiveUp(neurons, row))
				}
			}
			least = min(least, totals[p])
		}
		if least >= 1 {
			return 1
		}
	}
	return min(1, slices.Min(totals))
}
