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
		// Elsewhere a weight meets several inputs: dropping one of them is no choice of weights.
		if _, dense := p.Layers[k].Map.(network.Dense); !dense && r > 0 {
			return fmt.Errorf("layer %d: dropout is for dense layers, this is a %s", k, network.Describe(p.Layers[k].Map))
		}
	}
	return nil
}

// Masked is the lowest layer of whose inputs a posterior of KindDropout drops some, if all from there on
// is a chain of dense layers: below it the network is certain. Of others the error is one line that says
// why not.
func (p *Posterior) Masked() (first int, err error) {
	if p.Kind != KindDropout {
		return 0, fmt.Errorf("this posterior is %s, not dropout", p.Describe())
	}
	first = slices.IndexFunc(p.dropout, func(r float64) bool { return r > 0 })
	if first < 0 {
		return 0, fmt.Errorf("this posterior is %s: nothing is random", p.Describe())
	}
	for k := first; k < len(p.Layers); k++ {
		if _, dense := p.Layers[k].Map.(network.Dense); !dense {
			return 0, fmt.Errorf("this posterior is %s; layer %d, which is not below all that is dropped, is a %s: bounds are for dropout in front of a chain of dense layers; use --method statistical",
				p.Describe(), k, network.Describe(p.Layers[k].Map))
		}
		if feed := p.Network().Feed(k); k > first && !slices.Equal(feed, []int{k - 1}) {
			return 0, fmt.Errorf("this posterior is %s; layer %d, which is not below all that is dropped, joins others: bounds are for dropout in front of a chain of dense layers; use --method statistical",
				p.Describe(), k)
		}
	}
	return first, nil
}

func (p *Posterior) drawDropout(r *rand.Rand, dst [][]float64) {
	for k, l := range p.Layers {
		rate := p.dropout[k]
		copy(dst[2*k+1], l.Bias.Mean)
		dense, is := l.Map.(network.Dense)
		if !is { // Its rate is 0, see validateDropout.
			copy(dst[2*k], l.Weight.Mean)
			continue
		}
		for j := range l.Inputs() {
			dropped := r.Float64() < rate
			for _, w := range dense.From(j) {
				if dst[2*k][w] = l.Weight.Mean[w] / (1 - rate); dropped {
					dst[2*k][w] = 0
				}
			}
		}
	}
}
