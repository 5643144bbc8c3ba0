package relax

import (
	"fmt"
	"slices"
)

// Graph holds what feeds what in a network.
type Graph struct {
	// From are the layers that feed each layer, -1 being the network's input.
	From [][]int
	// Chain reports whether all layers are dense and fed by the one before.
	Chain bool
	// Used says which outputs of a layer something takes.
	Used [][]bool
	// Pooled reports whether only max pools take a layer's outputs.
	Pooled []bool
	// Linear reports whether the outputs are linear in what feeds the layer: no activation, no pool.
	Linear []bool
	// Depth, above 0, is through how many activations or max pools rows of hidden layers go at most:
	// what the flag --depth says.
	Depth int
}

// graphOf reads it, and refuses what no pass could take.
func graphOf(layers []Layer) (*Graph, error) {
	g := &Graph{Chain: true}
	for k := range layers {
		l := &layers[k]
		from := l.sources
		if from == nil {
			from = []int{k - 1}
		} else if !slices.Equal(from, []int{k - 1}) {
			g.Chain = false
		}
		inputs := 0
		for _, s := range from {
			if s < -1 || s >= k || k == 0 && len(from) > 1 {
				return nil, fmt.Errorf("layer %d is fed by layers %v", k, from)
			}
			inputs += SizeOf(layers, s)
		}
		if inputs != l.In {
			return nil, fmt.Errorf("layer %d takes %d numbers, what feeds it are %d", k, l.In, inputs)
		}
		g.Chain = g.Chain && l.At == nil && l.Windows == nil
		g.From, g.Linear = append(g.From, from), append(g.Linear, IsIdentity(l.Act) && l.Windows == nil)
		g.Used, g.Pooled = append(g.Used, make([]bool, l.Out)), append(g.Pooled, k < len(layers)-1)
	}
	for k := range layers {
		if layers[k].Windows != nil {
			if s := g.From[k]; len(s) != 1 || s[0] < 0 || !IsIdentity(layers[s[0]].Act) {
				return nil, fmt.Errorf("layer %d is a max pool of layers %v: it must be of one whose activation is the identity", k, s)
			}
		}
		g.use(layers, k)
	}
	for i := range g.Used[len(layers)-1] {
		g.Used[len(layers)-1][i] = true
	}
	return g, nil
}

// use marks what layer k takes.
func (g *Graph) use(layers []Layer, k int) {
	l, taken := &layers[k], make([]bool, layers[k].In)
	switch {
	case l.Windows != nil:
		for _, members := range l.Windows {
			for _, j := range members {
				taken[j] = true
			}
		}
	case l.At != nil:
		for _, j := range l.At.Tap {
			if j >= 0 {
				taken[j] = true
			}
		}
	default:
		for j := range taken {
			taken[j] = true
		}
	}
	first := 0
	for _, s := range g.From[k] {
		if s >= 0 {
			g.Pooled[s] = g.Pooled[s] && l.Windows != nil
			for i := range g.Used[s] {
				g.Used[s][i] = g.Used[s][i] || taken[first+i]
			}
		}
		first += SizeOf(layers, s)
	}
}

// SizeOf returns how many numbers a layer gives, -1 being the network's input.
func SizeOf(layers []Layer, s int) int {
	if s < 0 {
		return layers[0].In
	}
	return layers[s].Out
}

// DepthOf is depth of the rows of layer k: those of the last one go down to the input.
func (g *Graph) DepthOf(k int) int {
	if k == len(g.From)-1 {
		return 0
	}
	return g.Depth
}

// Needed returns which layers have to be bounded: those with an activation, max pools, the last one, and what
// feeds max pools or weights that are not all numbers (wide). What is linear and only feeds sums of such is
// bounded at their end. Of chains of dense layers all are.
func (g *Graph) Needed(layers []Layer, wide []bool) []bool {
	needed := make([]bool, len(layers))
	for k := range layers {
		needed[k] = needed[k] || g.Chain || !g.Linear[k] || k == len(layers)-1
		if layers[k].Windows != nil || wide[k] {
			for _, s := range g.From[k] {
				if s >= 0 {
					needed[s] = true
				}
			}
		}
	}
	return needed
}
