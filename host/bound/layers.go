package bound

import (
	"fmt"
	"slices"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
)

// layer is what the propagation knows of a layer: facts of the network, of which those of
// docs/theory.md, sections 4.3 and 4.7, decide what is bounded how.
type layer struct {
	in, out int
	// facts is the activation as package network has it, activation as devices do.
	facts      network.Activation
	activation Activation
	// feed lists the layers whose outputs are this one's inputs, -1 for the network's input;
	// those of feed[i] begin at first[i], and first[len(feed)] is in. fed lists the layers that this
	// one feeds.
	feed, first, fed []int
	// A map is a max pool with units of at most window members, or it is linear: at each of
	// positions places a matrix of taps x channels. dense says that there is one place, which every
	// input meets in its order.
	pool, dense bool
	window      int
	// oneChannel says of a pool that its source is linear and the members of a window are of one
	// channel of it: that their differences can be bounded.
	oneChannel                bool
	positions, taps, channels int
	// meets says that at some position two taps have one input.
	meets           bool
	weighted, noisy bool
	// before bounds how many products a coefficient of a row over the outputs is the sum of;
	// longest is the longest list of a GatherSum on the way to the inputs, and forks how often a
	// coefficient there is added to others.
	before, longest, forks int
	// closed says that a row may stop here: the outputs are not linear in what is below.
	closed bool
	class  class
	// depth is the number of noisy layers on the longest way down, this one included.
	depth int
	// opens says that a source is not closed, so that rows may go further than one step without
	// meeting a relaxation; meetsClosed that they meet one before the input.
	opens, meetsClosed bool
	// loud are the noisy layers with whose weights the pre-activations vary beside what is closed;
	// apart says that each source brings others, and each output takes one number of each.
	loud  []int
	apart bool
	// needed says that something uses bounds of the pre-activations but for roundings.
	needed bool
	// poolsOnly says that the layer feeds max pools and nothing else; used are the outputs
	// that something uses.
	poolsOnly bool
	used      int
	// chunk is how many units' rows are taken down at a time; perRow estimates the numbers
	// that a row of this layer needs on its way.
	chunk, perRow int
	// view is how rows of the layer, or of differences of a pool, go down by windows; nil if they
	// do not.
	view *view
	lists
}

// nonNeg says that the activation's values are never negative.
func (l *layer) nonNeg() bool { return l.facts.NonNeg() }

// phases says that the outputs are max(t, 0) of linear maps.
func (l *layer) phases() bool { return !l.pool && cutsAtZero(l.facts) }

// shared says that weights are used in several places.
func (l *layer) shared() bool { return l.weighted && !l.dense }

// class says how concentration LBP bounds a layer, and what events that costs each unit.
type class int

const (
	// bounded: by intervals and by lines, one event each for the lower and the upper end, and a
	// small one for the radius.
	bounded class = iota
	// loose: linear in noise, and nothing needs bounds but the roundings: by intervals, two very
	// small events.
	loose
	// plain: of closed values only, without noise of its own: no event.
	plain
	// sure: there is no noise at all below: no event.
	sure
	// ofPool: a max pool, whose events are those of its source and of the differences.
	ofPool
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

// charge is what Relax charges rows for that pass the layer: the sum over its neurons, the
// roundings of coefficients on the way to its inputs, and those of adding what arrived from
// several layers (docs/theory.md, section 4).
func (l *layer) charge(p Precision) Charge {
	sums := SumRoundings(l.longest, false) + l.forks
	if !l.pool {
		if !l.dense { // biases add up over all positions
			sums = max(sums, SumRoundings(l.positions, false))
		}
		sums += roundings(l.channels)
	}
	return p.rowsCharge(l.out, sums, l.joins())
}

// rowsRounding is that of RelaxRows and SplitRows at the layer.
func (l *layer) rowsRounding(p Precision) RowsRounding {
	return p.rowsRounding(l.out, l.before, l.joins())
}

// joins is how often coefficients of the layer's outputs are added to what has arrived.
func (l *layer) joins() int { return max(len(l.fed)-1, 0) }

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
