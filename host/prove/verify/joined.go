package verify

import (
	"fmt"
	"math"
	"slices"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/host/read/vnnlib"
)

// joined is a question as one about one network.
type joined struct {
	query *vnnlib.Query
	net   *posterior.Posterior
	// of says what the inputs of the question's query are.
	of []source
}

// join puts the networks of a query side by side. A query about one that takes no input into comparisons
// stays as it is.
func join(q *vnnlib.Query, nets []*posterior.Posterior) (*joined, error) {
	if len(nets) != len(q.Networks) {
		panic(fmt.Sprintf("verify: %d networks for the %d of a query", len(nets), len(q.Networks)))
	}
	if plain(q) {
		j := &joined{query: q, net: nets[0]}
		for i := range q.Inputs() {
			j.of = append(j.of, source{i, -1})
		}
		return j, nil
	}
	for i := range nets {
		if err := fits(&q.Networks[i], nets[i]); err != nil {
			return nil, err
		}
	}
	free, r, err := rewrite(q)
	if err != nil {
		return nil, err
	}
	net := chained(nets, r.of, leastOf(free), r.taken)
	if net == nil {
		if net, err = beside(nets, r.of, len(r.inputs), r.taken); err != nil {
			return nil, err
		}
	}
	return &joined{free, net, r.of}, net.Validate()
}

// fits reports what keeps a declaration from being of a network.
func fits(d *vnnlib.Network, net *posterior.Posterior) error {
	if d.Input.Size != net.Inputs() || d.Output.Size != net.Outputs() {
		name := ""
		if d.Name != "" { // version 1 has no names
			name = fmt.Sprintf(" %q", d.Name)
		}
		return fmt.Errorf("network%s is declared with %d inputs and %d outputs, its file has %d and %d; they belong to each other only if these are equal",
			name, d.Input.Size, d.Output.Size, net.Inputs(), net.Outputs())
	}
	return (&property.Task{Shape: d.Input.Shape}).CheckShape(net.Input.Shape)
}

// weightsOf are the weights of the one network that a posterior is.
func weightsOf(p *posterior.Posterior) [][]float64 {
	if s := p.Finite(); s != nil {
		return s.Weights(0)
	}
	return p.Mean()
}

// mostWeights bounds the weights of a layer that is made here.
const mostWeights = 1 << 24

// leastOf is, for each input of a query, a number that it is at least in every box.
func leastOf(q *vnnlib.Query) []float64 {
	from := slices.Repeat([]float64{math.Inf(1)}, q.Inputs())
	for k := range q.Cases {
		for j := range from {
			lo, exact := q.Cases[k].Box[j].Lo.Float64()
			if !exact {
				lo = math.Nextafter(lo, math.Inf(-1))
			}
			from[j] = min(from[j], lo)
		}
	}
	return from
}

// beside is networks side by side as one: of free inputs, of which theirs are made, to the outputs of
// all of them and then those free inputs that are taken. What it computes is exact: sums of two free
// inputs, and products with 0 and 1, beside what the networks do.
func beside(nets []*posterior.Posterior, of []source, inputs int, taken []int) (*posterior.Posterior, error) {
	p := &posterior.Posterior{Scale: posterior.ScaleSD}
	last := posterior.Layer{Layer: network.Layer{Sources: []int{}}}
	in, out := 0, len(taken)
	for _, n := range nets {
		k := len(n.Layers) - 1
		in, out = in+n.Layers[k].Inputs(), out+n.Layers[k].Outputs()
	}
	if len(taken) > 0 {
		in += inputs
	}
	if in > mostWeights/out {
		return nil, fmt.Errorf("the networks have a last layer of more than 2^24 weights side by side (%d x %d); write a query about smaller ones", in, out)
	}
	weight, bias := make([]float64, in*out), make([]float64, out)
	row, column := 0, 0
	for _, n := range nets {
		size := n.Inputs()
		front, err := frontLayer(of[:size], inputs)
		if err != nil {
			return nil, err
		}
		of = of[size:]
		first := len(p.Layers)
		p.Layers = append(p.Layers, front)
		net, weights := n.Network(), weightsOf(n)
		for k := range net {
			sources := slices.Clone(net.Feed(k))
			for i := range sources {
				sources[i] += first + 1 // of the input, -1, it is the front
			}
			if k == len(net)-1 {
				last.Sources = append(last.Sources, sources...)
				for j := range net[k].Inputs() {
					copy(weight[(row+j)*out+column:], weights[2*k][j*net[k].Outputs():(j+1)*net[k].Outputs()])
				}
				copy(bias[column:], weights[2*k+1])
				row, column = row+net[k].Inputs(), column+net[k].Outputs()
				continue
			}
			l := posterior.Layer{Layer: net[k], Weight: fixed(weights[2*k]), Bias: fixed(weights[2*k+1])}
			l.Sources = sources
			p.Layers = append(p.Layers, l)
		}
	}
	if len(taken) > 0 {
		last.Sources = append(last.Sources, -1)
	}
	for o, j := range taken {
		weight[(row+j)*out+column+o] = 1
	}
	last.Map, last.Weight, last.Bias = network.Dense{In: in, Out: out}, fixed(weight), fixed(bias)
	p.Layers = append(p.Layers, last)
	return p, nil
}

// frontLayer makes the inputs of a network of free inputs.
func frontLayer(of []source, inputs int) (posterior.Layer, error) {
	l := posterior.Layer{Layer: network.Layer{Sources: []int{-1}}}
	if !slices.ContainsFunc(of, func(s source) bool { return s.step >= 0 }) {
		order := make([]int32, len(of))
		for i, s := range of {
			order[i] = int32(s.base)
		}
		l.Map, l.Weight, l.Bias = network.Reorder{In: inputs, Order: order}, fixed(nil), fixed(nil)
		return l, nil
	}
	if inputs > mostWeights/len(of) {
		return l, fmt.Errorf("differences of inputs take a layer of more than 2^24 weights (%d x %d); write a query about smaller networks", inputs, len(of))
	}
	weight := make([]float64, inputs*len(of))
	for i, s := range of {
		for _, j := range s.free() {
			weight[j*len(of)+i] = 1
		}
	}
	l.Map, l.Weight, l.Bias = network.Dense{In: inputs, Out: len(of)}, fixed(weight), fixed(make([]float64, len(of)))
	return l, nil
}

// fixed are parameters without deviations.
func fixed(mean []float64) posterior.Params {
	return posterior.NewParams(mean, make([]float64, len(mean)), posterior.ScaleSD)
}
