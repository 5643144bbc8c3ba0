package verify

import (
	"math"
	"slices"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
)

// chained is beside as a chain of dense layers, nil unless chainable. It computes the same where free inputs
// are at least from; it is less work to bound, and bounds of chains are better.
//
// First layers take free inputs in the place of their own, with the same weights. What is taken is handed
// on as relu(u - from) = u - from; a kinked activation does so too.
func chained(nets []*posterior.Posterior, of []source, from []float64, taken []int) *posterior.Posterior {
	if !chainable(nets, of, from, taken) {
		return nil
	}
	p := &posterior.Posterior{Scale: posterior.ScaleSD}
	last := len(nets[0].Layers) - 1
	for k := range nets[0].Layers {
		in, out := len(taken), len(taken)
		for _, n := range nets {
			in, out = in+n.Layers[k].Inputs(), out+n.Layers[k].Outputs()
		}
		if k == 0 {
			in = len(from)
		}
		if in > mostWeights/out {
			return nil
		}
		weight, bias := make([]float64, in*out), make([]float64, out)
		row, column := 0, 0
		for _, n := range nets {
			l, weights := n.Layers[k], weightsOf(n)
			for j := range l.Inputs() {
				to := []int{row + j}
				if k == 0 {
					to = of[row+j].free()
				}
				for _, to := range to {
					copy(weight[to*out+column:], weights[2*k][j*l.Outputs():(j+1)*l.Outputs()])
				}
			}
			copy(bias[column:], weights[2*k+1])
			row, column = row+l.Inputs(), column+l.Outputs()
		}
		for i, j := range taken {
			switch k {
			case 0:
				weight[j*out+column+i], bias[column+i] = 1, -from[j]
			case last:
				weight[(row+i)*out+column+i], bias[column+i] = 1, from[j]
			default:
				weight[(row+i)*out+column+i] = 1
			}
		}
		p.Layers = append(p.Layers, posterior.Layer{Layer: network.DenseLayer(in, out, nets[0].Layers[k].Activation), Weight: fixed(weight), Bias: fixed(bias)})
	}
	return p
}

// chainable reports whether networks are chains of as many dense layers with the same activations, kinked if
// something is taken, none with two inputs of one free input: their weights would have to be added.
func chainable(nets []*posterior.Posterior, of []source, from []float64, taken []int) bool {
	first := nets[0].Network()
	if slices.ContainsFunc(taken, func(j int) bool { return math.IsInf(from[j], 0) }) {
		return false
	}
	for _, p := range nets {
		n := p.Network()
		if len(n) != len(first) || len(n) < 2 || !n.Chain() {
			return false
		}
		for k := range n[:len(n)-1] {
			if _, kinked := n[k].Activation.Kinked(); n[k].Activation != first[k].Activation || len(taken) > 0 && !kinked {
				return false
			}
		}
		seen := map[int]bool{}
		for _, s := range of[:n.Inputs()] {
			for _, j := range s.free() {
				if seen[j] {
					return false
				}
				seen[j] = true
			}
		}
		of = of[n.Inputs():]
	}
	return true
}
