package audit

import (
	"fmt"
	"slices"

	"psafe/host/model/posterior"
)

// Layers and references that are in another order than was meant, and biases that are not there.

// swaps are layers of the same shape that stand in each other's place.
func swaps(p *posterior.Posterior) []change {
	var list []change
	for a := range p.Layers {
		for b := a + 1; b < len(p.Layers) && len(list) < 64; b++ {
			m, n := p.Layers[a].Map, p.Layers[b].Map
			if m.Inputs() != n.Inputs() || m.Outputs() != n.Outputs() || m.Weights() != n.Weights() || m.Biases() != n.Biases() || m.Weights() == 0 {
				continue
			}
			words := fmt.Sprintf("layers %d and %d look swapped: write them in the order of the forward pass", a, b)
			list = append(list, onLayers(swapped, words, []int{a}, func(t *trial, a int) {
				for part := range 2 {
					t.weights[2*a+part], t.weights[2*b+part] = t.weights[2*b+part], t.weights[2*a+part]
				}
			}))
		}
	}
	return list
}

// pairs looks for inputs that belong to the logits of others.
func (s *search) pairs() string {
	p, in, out := s.p, s.p.Inputs(), s.p.Outputs()
	n := min(p.References(), tries)
	if n < 3 || s.left < n*n*p.Network().Work() {
		return ""
	}
	s.left -= n * n * p.Network().Work()
	one := new(*p)
	t := asRead(p)
	fits := func(i, j int) bool {
		one.Reference = &posterior.Reference{Inputs: p.Reference.Inputs[i*in : (i+1)*in], Logits: p.Reference.Logits[j*out : (j+1)*out]}
		return t.compare(one, &Comparison{}, s.rounding, 1) <= 1
	}
	shifts := map[int]int{}
	found := 0
	for j := range n {
		if i := slices.IndexFunc(seq(n), func(i int) bool { return fits(i, j) }); i >= 0 {
			shifts[i-j]++
			found++
		}
	}
	switch {
	case shifts[1] >= n-1 && p.References() > 3:
		return "row i of reference.logits looks like that of row i+1 of reference.inputs: write row i of both for the same input"
	case shifts[-1] >= n-1 && p.References() > 3:
		return "row i of reference.logits looks like that of row i-1 of reference.inputs: write row i of both for the same input"
	case found == n && n == p.References():
		return "reference.logits fit reference.inputs in another order: write row i of both for the same input"
	}
	return ""
}

func seq(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// lacking names layers before the last that have no bias, or zeros: what a missing bias of
// the last layer does, search.constant finds.
func lacking(p *posterior.Posterior) string {
	var list []int
	for k := range len(p.Layers) - 1 {
		if p.Layers[k].Biases() > 0 && !slices.ContainsFunc(p.ReferenceNetwork()[2*k+1], func(b float64) bool { return b != 0 }) {
			list = append(list, k)
		}
	}
	switch len(list) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("no usual mistake fits exactly, but layer %d has no bias here, or zeros: if the framework has one, write it", list[0])
	}
	return fmt.Sprintf("no usual mistake fits exactly, but layers %s have no biases here, or zeros: if the framework has them, write them", commas(list))
}
