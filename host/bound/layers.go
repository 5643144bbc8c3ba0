package bound

import (
	"fmt"
	"slices"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
)

// newLayers works out the facts of a network. Of a chain of dense layers every one counts as
// closed, and as noisy from the first one on whose weights deviate.
func newLayers(post *posterior.Posterior, p Precision) ([]layer, error) {
	net := post.Network()
	chain := net.Chain()
	layers := make([]layer, len(net))
	for k := range net {
		l := &layers[k]
		*l = layer{in: net[k].Inputs(), out: net[k].Outputs(), facts: net[k].Activation, activation: deviceActivation(net[k].Activation, p)}
		l.feed = net.Feed(k)
		l.first = []int{0}
		for _, s := range l.feed {
			n := net.Inputs()
			if s >= 0 {
				layers[s].fed = append(layers[s].fed, k)
				n = layers[s].out
			}
			l.first = append(l.first, l.first[len(l.first)-1]+n)
		}
		l.noisy = slices.ContainsFunc(post.Layers[k].Weight.SdHi, positive) || slices.ContainsFunc(post.Layers[k].Bias.SdHi, positive) ||
			chain && k > 0 && layers[k-1].noisy
		if err := l.shape(net[k].Map); err != nil {
			return nil, fmt.Errorf("layer %d: %w", k, err)
		}
		if l.pool {
			l.oneChannel = l.isOneChannel(&layers[l.feed[0]])
		}
		l.settles = l.phases()
		l.closed = chain || l.pool || l.facts.Kind != network.Identity
	}
	inputFed := 0
	for k := range layers {
		if slices.Contains(layers[k].feed, -1) {
			inputFed++
		}
	}
	for k := range layers {
		classify(layers, k, inputFed)
	}
	return layers, nil
}

// isOneChannel says whether the members of every window of a pool are of one channel of its
// source, y, and y is linear.
func (l *layer) isOneChannel(y *layer) bool {
	if y.pool || l.window < 2 {
		return false
	}
	for e, j := range l.hostMembers {
		if j >= 0 && int(j)%y.channels != int(l.member(e/l.window*l.window))%y.channels {
			return false
		}
	}
	return true
}

func positive(x float64) bool { return x > 0 }

// shape takes over the map's shape and lists.
func (l *layer) shape(m network.Map) error {
	switch m := m.(type) {
	case network.MaxPool:
		l.pool, l.window = true, m.Window.Size[0]*m.Window.Size[1]
		return l.poolLists(m.Members())
	case network.Linear:
		l.weighted = true
		return l.linearLists(m.Lowered())
	case network.Fixed:
		return l.linearLists(m.Lowered())
	}
	return Unfitf("a %T has no bounds", m)
}

// classify fills in what depends on the layers around layer k; inputFed is how many layers the
// network's input feeds.
func classify(layers []layer, k, inputFed int) {
	l := &layers[k]
	open := l.noisy
	for _, s := range l.feed {
		if s < 0 {
			l.forks = max(l.forks, inputFed-1)
			continue
		}
		b := &layers[s]
		l.depth = max(l.depth, b.depth)
		l.forks = max(l.forks, len(b.fed)-1)
		if !b.closed {
			l.opens = true
			open = open || b.class == bounded || b.class == loose
		}
		l.meetsClosed = l.meetsClosed || b.closed || b.meetsClosed
	}
	if l.noisy {
		l.depth++
		l.loud = []int{k}
	} else if !l.pool {
		for _, s := range l.feed {
			if s >= 0 && !layers[s].closed {
				l.loud = append(l.loud, layers[s].loud...)
			}
		}
		l.apart = l.isApart(layers)
	}
	l.needed = l.closed
	l.poolsOnly, l.used = len(l.fed) > 0, l.out
	for _, c := range l.fed {
		a := &layers[c]
		l.needed = l.needed || a.pool || a.noisy
		l.poolsOnly = l.poolsOnly && a.pool
		l.before += a.productsOf(k)
	}
	if l.poolsOnly {
		l.used = usedBy(layers, l)
	}
	switch {
	case l.pool:
		l.class = ofPool
	case l.depth == 0:
		l.class = sure
	case open && l.needed:
		l.class = bounded
	case open:
		l.class = loose
	default:
		l.class = plain
	}
}

// productsOf bounds how many products a coefficient of source s gets from this layer.
func (l *layer) productsOf(s int) int {
	if l.pool {
		return 1
	}
	if l.dense {
		return l.out
	}
	return l.channels * l.longest
}

// usedBy counts the outputs of l that are members of a pool.
func usedBy(layers []layer, l *layer) int {
	used := make([]bool, l.out)
	n := 0
	for _, c := range l.fed {
		for _, j := range layers[c].hostMembers {
			if j >= 0 && !used[j] {
				used[j] = true
				n++
			}
		}
	}
	return n
}

func deviceActivation(a network.Activation, p Precision) Activation {
	below, _ := a.Kinked()
	return Activation{Kind: a.Kind, SlopeLo: p.RoundLo(below), SlopeHi: p.RoundHi(below)}
}
