package mass

import (
	"slices"

	"psafe/host/arith"
	"psafe/host/check/relax"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// Freed widens a verified box by weights that cannot matter on it and T (docs/theory.md,
// section 2.5): those that only meet 0, from an input that is 0 on T or a neuron that is 0 on
// the box and T, may be anything; and into neurons that are never positive, the bias and
// weights from what is never negative may be as low as they like. A weight that is used in
// several places has to be free in all of them.
func Freed(post *posterior.Posterior, task *property.Task, b *relax.WeightBox, dead [][]bool) *relax.WeightBox {
	widened := &relax.WeightBox{}
	for a := range b.Lo {
		widened.Lo, widened.Hi = append(widened.Lo, slices.Clone(b.Lo[a])), append(widened.Hi, slices.Clone(b.Hi[a]))
	}
	input := make([]sign, post.Inputs())
	for j := range input {
		input[j] = sign{zero: true, nonNeg: true}
		for _, t := range task.T {
			input[j].zero = input[j].zero && t.Lo[j] == 0 && t.Hi[j] == 0
			input[j].nonNeg = input[j].nonNeg && t.Lo[j] >= 0
		}
	}
	signs, feeds := [][]sign{input}, post.Network() // of the outputs of layer k at k+1
	for k, l := range post.Layers {
		// never says which neurons of the layer are 0 since they are never positive.
		never := make([]bool, l.Outputs())
		if k < len(post.Layers)-1 && l.Activation.DeadBelow() {
			never = dead[k]
		}
		z := joined(signs, feeds.Feed(k))
		out := make([]sign, l.Outputs()) // of which nothing is known
		if m, linear := l.Map.(net.Linear); linear && relax.Weighted(m) {
			free(widened, k, m, z, never)
		} else {
			out = signsOf(l.Map, z)
		}
		_, kinked := l.Activation.Kinked() // then 0 stays 0, and what is not negative what it is
		for i, s := range out {
			out[i] = sign{zero: never[i] || kinked && s.zero, nonNeg: l.Activation.NonNeg() || kinked && s.nonNeg}
		}
		signs = append(signs, out)
	}
	return widened
}

// sign tells of a number whether it is 0, and whether it is never negative, on the box and T.
type sign struct{ zero, nonNeg bool }

// signsOf returns the signs of maxima, and of sums whose coefficients are not negative. Of maps
// that this program does not know nothing is said.
func signsOf(m net.Map, z []sign) []sign {
	out := make([]sign, m.Outputs())
	l, _, err := relax.ShapeOf(m, net.Activation{})
	if err != nil {
		return out
	}
	for i := range out {
		zero, all, any := true, true, false
		meet := func(j int, _ float64) { zero, all, any = zero && z[j].zero, all && z[j].nonNeg, any || z[j].nonNeg }
		if l.Windows == nil {
			l.Each(i, meet)
			out[i] = sign{zero: zero, nonNeg: all && !slices.ContainsFunc(l.W.Lo, func(c float64) bool { return c < 0 })}
			continue
		}
		for _, j := range l.Windows[i] {
			meet(int(j), 1)
		}
		out[i] = sign{zero: zero, nonNeg: any}
	}
	return out
}

// joined returns what the sources say, one after the other.
func joined(of [][]sign, sources []int) (list []sign) {
	for _, s := range sources {
		list = append(list, of[s+1]...)
	}
	return list
}

// free widens the box by the weights of layer k that cannot matter.
func free(b *relax.WeightBox, k int, m net.Linear, z []sign, never []bool) {
	w, biases := 2*k, 2*k+1
	// What is needed for something: as it is, or from below.
	matters, low, biasLow := make([]bool, m.Weights()), make([]bool, m.Weights()), make([]bool, m.Biases())
	for i := range never {
		for j, at := range m.Into(i) {
			matters[at] = matters[at] || !z[j].zero
			low[at] = low[at] || !z[j].zero && !(never[i] && z[j].nonNeg)
		}
		biasLow[m.BiasOf(i)] = biasLow[m.BiasOf(i)] || !never[i]
	}
	for at := range matters {
		if !low[at] {
			b.Lo[w][at] = -arith.Inf
		}
		if !matters[at] {
			b.Hi[w][at] = arith.Inf
		}
	}
	for at, needed := range biasLow {
		if !needed {
			b.Lo[biases][at] = -arith.Inf
		}
	}
}
