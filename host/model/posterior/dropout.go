package posterior

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"psafe/host/model/network"
)

// FromDropout makes a posterior of MC dropout: the layers' shapes, activations and
// means, which are the weights as trained (with inverted dropout, that is, those
// of the network without dropout), and a rate per layer. Spreads of layers are
// dropped. It keeps the slices. Any error is that of Validate.
func FromDropout(layers []Layer, rates []float64) (*Posterior, error) {
	p := &Posterior{Kind: KindDropout, Layers: means(layers), dropout: rates}
	return p, p.Validate()
}

// validateDropout checks dropout rates, one per layer.
func (p *Posterior) validateDropout() error {
	if len(p.dropout) != len(p.Layers) {
		return fmt.Errorf("%d dropout rates for %d layers: give one per layer, 0 where nothing is dropped", len(p.dropout), len(p.Layers))
	}
	for k, r := range p.dropout {
		if !(r >= 0 && r < 1) {
			return fmt.Errorf("layer %d: dropout rate %v is not in [0, 1)", k, r)
		}
		if _, _, ok := network.Dropped(p.Layers[k].Map); !ok && r > 0 {
			return fmt.Errorf("layer %d: dropout is for dense layers and batch norms, this is a %s: put a batch norm with gains of 1 in front",
				k, network.Describe(p.Layers[k].Map))
		}
	}
	return nil
}

// Masked returns where dropout begins: what feeds layer first is certain, and all layers from it on are
// fed by each other, or by the one layer that feeds first. Of a posterior of another kind, or of which
// nothing is dropped, the error is one line that says so.
func (p *Posterior) Masked() (first int, err error) {
	if p.Kind != KindDropout {
		return 0, fmt.Errorf("this posterior is %s, not dropout", p.Describe())
	}
	first = slices.IndexFunc(p.dropout, func(r float64) bool { return r > 0 })
	if first < 0 {
		return 0, fmt.Errorf("this posterior is %s: nothing is random", p.Describe())
	}
	for !p.cut(first) { // it is one at 0
		first--
	}
	return first, nil
}

// cut reports whether the layers from first on take nothing of those below but what feeds first.
func (p *Posterior) cut(first int) bool {
	net := p.Network()
	below := net.Feed(first)
	for k := first + 1; k < len(net); k++ {
		for _, s := range net.Feed(k) {
			if s < first && (len(below) > 1 || s != below[0]) {
				return false
			}
		}
	}
	return true
}

func (p *Posterior) drawDropout(r *rand.Rand, dst [][]float64) {
	for k, l := range p.Layers {
		rate := p.dropout[k]
		copy(dst[2*k], l.Weight.Mean)
		copy(dst[2*k+1], l.Bias.Mean)
		units, unit, ok := network.Dropped(l.Map)
		if _, dense := l.Map.(network.Dense); !ok || !dense && rate == 0 {
			continue
		}
		dropped := make([]bool, units)
		for u := range dropped {
			dropped[u] = r.Float64() < rate
		}
		p.Drop(k, func(j int) bool { return dropped[unit(j)] }, dst[2*k])
	}
}

// Drop writes the weights of layer k, of those whose inputs may be dropped (network.Dropped), where some
// are: 0, and those of others divided by 1-rate.
func (p *Posterior) Drop(k int, dropped func(j int) bool, weight []float64) {
	l := &p.Layers[k]
	for j := range l.Inputs() {
		for _, w := range l.Map.(network.Linear).From(j) {
			if weight[w] = l.Weight.Mean[w] / (1 - p.dropout[k]); dropped(j) {
				weight[w] = 0
			}
		}
	}
}
