package check

import (
	"slices"

	net "psafe/host/network"
	"psafe/host/posterior"
	"psafe/host/property"
)

// freed widens a verified box by weights that cannot matter on it and T (docs/soundness.md,
// section 7): those that only meet 0, from an input that is 0 on T or a neuron that is 0 on
// the box and T, may be anything; and into neurons that are never positive, the bias and
// weights from what is never negative may be as low as they like. A weight that is used in
// several places has to be free in all of them.
func freed(post *posterior.Posterior, task *property.Task, b *weightBox, dead [][]bool) *weightBox {
	out := &weightBox{}
	for a := range b.lo {
		out.lo, out.hi = append(out.lo, slices.Clone(b.lo[a])), append(out.hi, slices.Clone(b.hi[a]))
	}
	zero, nonNeg := make([]bool, post.Inputs()), make([]bool, post.Inputs())
	for j := range zero {
		zero[j], nonNeg[j] = true, true
		for _, t := range task.T {
			zero[j] = zero[j] && t.Lo[j] == 0 && t.Hi[j] == 0
			nonNeg[j] = nonNeg[j] && t.Lo[j] >= 0
		}
	}
	// zeros and nonNegs are those of the outputs of layer k at k+1, of the network's input at 0.
	zeros, nonNegs := [][]bool{zero}, [][]bool{nonNeg}
	feeds := post.Network()
	for k, l := range post.Layers {
		// never says which neurons of the layer are 0 since they are never positive.
		never := make([]bool, l.Outputs())
		if k < len(post.Layers)-1 && l.Activation.DeadBelow() {
			never = dead[k]
		}
		if m, linear := l.Map.(net.Linear); linear && weighted(m) {
			zero, nonNeg := joined(zeros, feeds.Feed(k)), joined(nonNegs, feeds.Feed(k))
			out.free(k, m, zero, nonNeg, never)
		}
		zeros, nonNegs = append(zeros, never), append(nonNegs, slices.Repeat([]bool{l.Activation.NonNeg()}, l.Outputs()))
	}
	return out
}

// joined is what the sources say, one after the other.
func joined(of [][]bool, sources []int) (list []bool) {
	for _, s := range sources {
		list = append(list, of[s+1]...)
	}
	return list
}

// free widens the box by the weights of layer k that cannot matter.
func (b *weightBox) free(k int, m net.Linear, zero, nonNeg, never []bool) {
	w, biases := 2*k, 2*k+1
	// What is needed for something: as it is, or from below.
	matters, low, biasLow := make([]bool, m.Weights()), make([]bool, m.Weights()), make([]bool, m.Biases())
	for i := range never {
		for j, at := range m.Into(i) {
			matters[at] = matters[at] || !zero[j]
			low[at] = low[at] || !zero[j] && !(never[i] && nonNeg[j])
		}
		biasLow[m.BiasOf(i)] = biasLow[m.BiasOf(i)] || !never[i]
	}
	for at := range matters {
		if !low[at] {
			b.lo[w][at] = -inf
		}
		if !matters[at] {
			b.hi[w][at] = inf
		}
	}
	for at, needed := range biasLow {
		if !needed {
			b.lo[biases][at] = -inf
		}
	}
}
