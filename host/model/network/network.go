// Package network defines what a neural network computes: layers, each a map, most often linear,
// and an activation,
//
//	zeta^k(x) = W^k z^(k-1)(x) + b^k,   z^0 = x,   z^k = sigma_k(zeta^k),   f^w(x) = zeta^L(x)
//
// in a chain, or in any order in which no layer feeds itself. It is the only place that knows
// which parameter meets which input (Linear) and what an activation is (the table in
// facts.go). What it evaluates in ordinary float64, with Approx in its name, chooses and
// reports; none of that flows into a bound.
package network

import (
	"fmt"
	"slices"
)

// Layer is a map and the activation after it.
type Layer struct {
	Map
	Activation Activation
	// Sources are the layers whose outputs feed this one, one after the other; -1 is the
	// input of the network. Nil is the layer before, and for the first one the input.
	Sources []int
}

// Dense is the map of a layer that is dense; of another it panics: whoever can only serve
// dense layers refuses the others first.
func (l *Layer) Dense() Dense {
	d, dense := l.Map.(Dense)
	if !dense {
		panic(fmt.Sprintf("network: a %T is taken for a dense layer", l.Map))
	}
	return d
}

// Network is a list of layers in an order in which each comes after those that feed it. The
// last is dense and has activation Identity: its outputs are the logits.
type Network []Layer

// Inputs is the length of the network's input.
func (n Network) Inputs() int { return n[0].Inputs() }

// Outputs is the number of logits.
func (n Network) Outputs() int { return n[len(n)-1].Outputs() }

// Feed is Sources of layer k, said for every layer: never nil. The caller may not write to it.
func (n Network) Feed(k int) []int {
	if n[k].Sources == nil {
		return []int{k - 1}
	}
	return n[k].Sources
}

// Join puts what feeds layer k together: something for each number of the input, and for each
// output of the layers before.
func Join[E any](n Network, k int, input []E, out [][]E) []E {
	feed := n.Feed(k)
	if len(feed) == 1 {
		if feed[0] < 0 {
			return input
		}
		return out[feed[0]]
	}
	var list []E
	for _, s := range feed {
		if s < 0 {
			list = append(list, input...)
		} else {
			list = append(list, out[s]...)
		}
	}
	return list
}

// Chain reports whether every layer is dense and fed by the one before alone, the first by the
// input: what code for dense layers only asks for.
func (n Network) Chain() bool {
	for k := range n {
		if _, dense := n[k].Map.(Dense); !dense || !slices.Equal(n.Feed(k), []int{k - 1}) {
			return false
		}
	}
	return true
}

// Work is the number of terms in all sums of the network, biases among them, and in all maxima:
// about what one evaluation takes.
func (n Network) Work() int {
	work := 0
	for k := range n {
		work += n[k].Work()
	}
	return work
}

// Work returns the work of one layer.
func (l *Layer) Work() int { return l.Map.work() }

// width is the length of what source s gives.
func (n Network) width(s int) int {
	if s < 0 {
		return n.Inputs()
	}
	return n[s].Outputs()
}

// Check returns what makes n unusable: no layers, a map that is none or whose shape is not
// possible, an activation that is not in the table, shapes that do not chain, layers that are fed
// by later ones, twice by one or whose outputs nothing uses, a max pool that is not fed by exactly
// one layer without an activation, or a last layer that is not dense or has one.
func (n Network) Check() error {
	if len(n) == 0 {
		return fmt.Errorf("posterior has no layers")
	}
	for k, l := range n {
		if l.Map == nil {
			return fmt.Errorf("layer %d has no map", k)
		}
		if err := l.Map.Check(); err != nil {
			return fmt.Errorf("layer %d: %w", k, err)
		}
	}
	for k := range n {
		if err := n.checkSources(k); err != nil {
			return err
		}
	}
	for k, l := range n {
		if err := l.Activation.Check(); err != nil {
			return fmt.Errorf("layer %d has activation %v: %w", k, l.Activation, err)
		}
		if err := n.checkPool(k); err != nil {
			return err
		}
	}
	last := n[len(n)-1]
	if last.Activation.Kind != Identity {
		return fmt.Errorf("last layer has activation %v: the property speaks of logits, so it must be identity", last.Activation)
	}
	if _, dense := last.Map.(Dense); !dense {
		return fmt.Errorf("last layer is a %T: it must be dense", last.Map)
	}
	return n.checkUsed()
}

// checkSources returns what is wrong with what feeds layer k.
func (n Network) checkSources(k int) error {
	feed := n.Feed(k)
	if k == 0 && !slices.Equal(feed, []int{-1}) {
		return fmt.Errorf("layer 0 is fed by %v: it takes the input (-1)", feed)
	}
	if len(feed) == 1 && feed[0] == k-1 && k > 0 && n[k].Inputs() != n[k-1].Outputs() {
		return fmt.Errorf("layer %d takes %d inputs but layer %d gives %d: shapes do not chain", k, n[k].Inputs(), k-1, n[k-1].Outputs())
	}
	total := 0
	for i, s := range feed {
		if s < -1 || s >= k {
			return fmt.Errorf("layer %d is fed by layer %d: layers come after those that feed them", k, s)
		}
		if slices.Contains(feed[:i], s) {
			return fmt.Errorf("layer %d is fed twice by layer %d", k, s)
		}
		total += n.width(s)
	}
	if total != n[k].Inputs() {
		return fmt.Errorf("layer %d takes %d inputs but layers %v give %d: shapes do not chain", k, n[k].Inputs(), feed, total)
	}
	return nil
}

// checkPool returns what is wrong with what feeds layer k if it is a max pool.
func (n Network) checkPool(k int) error {
	if _, pool := n[k].Map.(MaxPool); !pool {
		return nil
	}
	feed := n.Feed(k)
	if len(feed) != 1 || feed[0] < 0 {
		return fmt.Errorf("layer %d, a max pool, is fed by %v: it must be one layer", k, feed)
	}
	if a := n[feed[0]].Activation; a.Kind != Identity {
		return fmt.Errorf("layer %d, a max pool, comes after the activation %v of layer %d: put the activation behind the pool", k, a, feed[0])
	}
	return nil
}

// checkUsed returns which layer but the last feeds none.
func (n Network) checkUsed() error {
	used := make([]bool, len(n))
	for k := range n {
		for _, s := range n.Feed(k) {
			if s >= 0 {
				used[s] = true
			}
		}
	}
	for k, u := range used[:len(n)-1] {
		if !u {
			return fmt.Errorf("nothing uses the outputs of layer %d", k)
		}
	}
	return nil
}
