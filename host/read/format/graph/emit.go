package graph

import (
	"fmt"
	"slices"

	"psafe/host/model/network"
)

// end is the node that gives the outputs: of the last layer, if that is dense and has no activation,
// and else of a dense layer behind it that gives its inputs.
func (b *builder) end() (int, error) {
	v, err := b.flat(b.last)
	if err != nil {
		return 0, err
	}
	if len(v.nodes) != 1 || v.nodes[0] < 0 {
		return 0, fmt.Errorf("it gives the network's input: the file has no layers")
	}
	at := v.nodes[0]
	if _, dense := b.nodes[at].m.(network.Dense); dense {
		return at, nil
	}
	if v.n > mostUnit {
		return 0, fmt.Errorf("it is the last, has %d outputs, and is not dense or has an activation: of such at most %d are read", v.n, mostUnit)
	}
	v, err = b.add(node{m: network.Dense{In: v.n, Out: v.n}, in: v.nodes, of: Unit}, nil)
	if err != nil {
		return 0, err
	}
	return v.nodes[0], nil
}

// emit makes layers of the nodes on which end depends: an activation becomes that of the map
// before it, or, where something else takes that map's numbers too, of a copy.
func (b *builder) emit(end int) []Planned {
	alive, takers := make([]bool, len(b.nodes)), make([]int, len(b.nodes))
	alive[end] = true
	for at := end; at >= 0; at-- {
		if !alive[at] {
			continue
		}
		for _, from := range b.nodes[at].in {
			if from >= 0 {
				alive[from] = true
				takers[from]++
			}
		}
	}
	layer := make([]int, len(b.nodes)) // of each node
	var plan []Planned
	for at := range b.nodes[:end+1] {
		n := &b.nodes[at]
		if !alive[at] {
			continue
		}
		p := Planned{Map: n.m, Of: n.of, Normalise: n.normalise, Rows: n.rows}
		if n.m == nil {
			if from := n.in[0]; from >= 0 && takers[from] == 1 && b.nodes[from].m != nil {
				layer[at] = layer[from]
				plan[layer[at]].Activation = n.act
				continue
			}
			p.Map, p.Activation = identity(n.n), n.act
		}
		for _, from := range n.in {
			if from >= 0 {
				from = layer[from]
			}
			p.Sources = append(p.Sources, from)
		}
		if slices.Equal(p.Sources, []int{len(plan) - 1}) { // -1 for the first: the input
			p.Sources = nil
		}
		layer[at] = len(plan)
		plan = append(plan, p)
	}
	return plan
}
