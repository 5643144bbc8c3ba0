package check

import (
	"slices"

	"psafe/host/posterior"
	"psafe/host/property"
)

// freed widens a verified box by weights that cannot matter on it and T (docs/soundness.md,
// section 7): those that only meet 0, from an input that is 0 on T or a neuron that is 0 on
// the box and T, may be anything; and into a neuron that is never positive, the bias and
// weights from what is never negative may be as low as they like. Layers are dense.
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
	for k, l := range post.Layers {
		hidden := k < len(post.Layers)-1
		// never says which neurons of the layer are 0 since they are never positive.
		never := make([]bool, l.Outputs())
		if hidden && l.Activation.DeadBelow() {
			never = dead[k]
		}
		w, biases := 2*k, 2*k+1
		for i := range never {
			for j, at := range l.Dense().Into(i) {
				switch {
				case zero[j]:
					out.lo[w][at], out.hi[w][at] = -inf, inf
				case never[i] && nonNeg[j]:
					out.lo[w][at] = -inf
				}
			}
			if never[i] {
				out.lo[biases][l.Dense().BiasOf(i)] = -inf
			}
		}
		zero, nonNeg = never, slices.Repeat([]bool{l.Activation.NonNeg()}, l.Outputs())
	}
	return out
}
