package check

import (
	"fmt"
	"slices"

	net "psafe/host/model/network"
)

// graph holds what feeds what in a network.
type graph struct {
	// from are the layers that feed each layer, -1 being the network's input.
	from [][]int
	// chain says that all layers are dense and fed by the one before.
	chain bool
	// used says which outputs of a layer something takes.
	used [][]bool
	// pooled says that only max pools take a layer's outputs.
	pooled []bool
	// linear says that the outputs are linear in what feeds the layer: no activation, no pool.
	linear []bool
	// depth, above 0, is through how many activations or max pools rows of hidden layers go at most:
	// what the flag --depth says.
	depth int
}

// graphOf reads it, and refuses what no pass could take.
func graphOf(layers []layer) (*graph, error) {
	g := &graph{chain: true}
	for k := range layers {
		l := &layers[k]
		from := l.sources
		if from == nil {
			from = []int{k - 1}
		} else if !slices.Equal(from, []int{k - 1}) {
			g.chain = false
		}
		inputs := 0
		for _, s := range from {
			if s < -1 || s >= k || k == 0 && len(from) > 1 {
				return nil, fmt.Errorf("layer %d is fed by layers %v", k, from)
			}
			inputs += sizeOf(layers, s)
		}
		if inputs != l.in {
			return nil, fmt.Errorf("layer %d takes %d numbers, what feeds it are %d", k, l.in, inputs)
		}
		g.chain = g.chain && l.at == nil && l.windows == nil
		g.from, g.linear = append(g.from, from), append(g.linear, isIdentity(l.act) && l.windows == nil)
		g.used, g.pooled = append(g.used, make([]bool, l.out)), append(g.pooled, k < len(layers)-1)
	}
	for k := range layers {
		if layers[k].windows != nil {
			if s := g.from[k]; len(s) != 1 || s[0] < 0 || !isIdentity(layers[s[0]].act) {
				return nil, fmt.Errorf("layer %d is a max pool of layers %v: it must be of one whose activation is the identity", k, s)
			}
		}
		g.use(layers, k)
	}
	for i := range g.used[len(layers)-1] {
		g.used[len(layers)-1][i] = true
	}
	return g, nil
}

// use marks what layer k takes.
func (g *graph) use(layers []layer, k int) {
	l, taken := &layers[k], make([]bool, layers[k].in)
	switch {
	case l.windows != nil:
		for _, members := range l.windows {
			for _, j := range members {
				taken[j] = true
			}
		}
	case l.at != nil:
		for _, j := range l.at.tap {
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
	for _, s := range g.from[k] {
		if s >= 0 {
			g.pooled[s] = g.pooled[s] && l.windows != nil
			for i := range g.used[s] {
				g.used[s][i] = g.used[s][i] || taken[first+i]
			}
		}
		first += sizeOf(layers, s)
	}
}

// sizeOf returns how many numbers a layer gives, -1 being the network's input.
func sizeOf(layers []layer, s int) int {
	if s < 0 {
		return layers[0].in
	}
	return layers[s].out
}

func isIdentity(a net.Activation) bool {
	below, kinked := a.Kinked()
	return kinked && below == 1
}
