package certify

import (
	"math"
	"slices"

	"psafe/host/bound"
	"psafe/host/posterior"
	"psafe/host/property"
)

// freed returns the end-points of a verified box, with the weights freed that
// cannot matter on it (docs/soundness.md, section 7):
//
//   - weights out of a neuron that is 0 for all of the box and T, and out of an
//     input that is 0 on all of T;
//   - into a ReLU neuron that is never positive: the lower ends of its bias, and of
//     its weights from inputs that are never negative. Lower weights only lower
//     the pre-activation, so the neuron stays 0.
//
// Proof, layer by layer: for w in the freed set let w' be w clamped to the box.
// If all z of the layer below agree for w and w', then so do this layer's, neuron
// by neuron: a freed weight out of z_j = 0 adds nothing, and a dead neuron's
// pre-activation under w is at most that under w', which is <= 0. So f^w = f^w'
// on T, and w' is in the verified box. Of networks that are no chain of dense layers nothing is freed.
func freed(post *posterior.Posterior, p *probe) bound.Explicit {
	box := bound.Explicit{}
	for i := range p.box.Lo {
		box.Lo, box.Hi = append(box.Lo, slices.Clone(p.box.Lo[i])), append(box.Hi, slices.Clone(p.box.Hi[i]))
	}
	if !post.Network().Chain() {
		return box // a weight that is used in several places is freed in none
	}
	zero, nonNeg := inputsZero(p.task.T, post.Inputs())
	for k, l := range post.Layers {
		w, b := 2*k, 2*k+1
		free(&l, zero, box.Lo[w], box.Hi[w])
		if k == len(post.Layers)-1 {
			break
		}
		dead := make([]bool, l.Outputs())
		if l.Activation.DeadBelow() {
			dead = p.dead[k]
			lowerDead(&l, dead, nonNeg, box.Lo[w], box.Lo[b])
		}
		zero = dead
		nonNeg = make([]bool, l.Outputs())
		for i := range nonNeg {
			nonNeg[i] = l.Activation.NonNeg()
		}
	}
	return box
}

// inputsZero says of each input whether it is 0, and whether it is never
// negative, on all of T.
func inputsZero(t []property.Box, n int) (zero, nonNeg []bool) {
	zero, nonNeg = make([]bool, n), make([]bool, n)
	for j := range n {
		zero[j], nonNeg[j] = true, true
		for _, b := range t {
			zero[j] = zero[j] && b.Lo[j] == 0 && b.Hi[j] == 0
			nonNeg[j] = nonNeg[j] && b.Lo[j] >= 0
		}
	}
	return zero, nonNeg
}

// free lets weights that meet only inputs that are 0 be anything.
func free(l *posterior.Layer, zero []bool, lo, hi []float64) {
	used := make([]bool, l.Weights())
	for j, z := range zero {
		for _, w := range l.Dense().From(j) {
			used[w] = used[w] || !z
		}
	}
	for w, u := range used {
		if !u {
			lo[w], hi[w] = minusInf, math.Inf(1)
		}
	}
}

// lowerDead lets weights that only lead from inputs that are never negative into dead
// neurons be as low as they like, and so the biases of dead neurons only.
func lowerDead(l *posterior.Layer, dead, nonNeg []bool, wLo, bLo []float64) {
	weight, bias := make([]bool, l.Weights()), make([]bool, l.Biases())
	for i, d := range dead {
		bias[l.Dense().BiasOf(i)] = bias[l.Dense().BiasOf(i)] || !d
		for j, w := range l.Dense().Into(i) {
			weight[w] = weight[w] || !d || !nonNeg[j]
		}
	}
	for _, kept := range []struct {
		used []bool
		lo   []float64
	}{{weight, wLo}, {bias, bLo}} {
		for w, u := range kept.used {
			if !u {
				kept.lo[w] = minusInf
			}
		}
	}
}
