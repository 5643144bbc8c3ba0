package posterior

import (
	"fmt"

	"psafe/host/model/network"
)

// Of which posteriors rows are bounded.

// mostOnTop is how many inputs a last layer may have of which the covariance of a row is made.
const mostOnTop = 2048

// mostApart is how many numbers, 512 MiB, a factor of rows may have, of which a row makes as many again.
const mostApart = 1 << 26

// mostPairs is how many numbers, 1 GiB, concentration LBP may keep of the pairs of taps of one channel of
// a convolution with a covariance: taps x places x filters.
const mostPairs = 1 << 27

// OnTop is nil for a posterior whose last layer alone is random, a dense one with normal weights
// (KindGaussian or KindCorrelated). For others it is one line that says why not.
func (p *Posterior) OnTop() error {
	last := len(p.Layers) - 1
	if p.Kind != KindGaussian && p.Kind != KindCorrelated {
		return fmt.Errorf("this posterior is %s, which is not random in its last layer alone: use --method statistical", p.Describe())
	}
	if _, dense := p.Layers[last].Map.(network.Dense); !dense {
		return fmt.Errorf("layer %d, the last, is not dense", last)
	}
	for k := range p.Layers {
		random := p.Layers[k].Random() > 0
		if p.Kind == KindCorrelated {
			random = p.covariances[k] != nil
		}
		if random != (k == last) {
			return fmt.Errorf("this posterior is %s; bounds for weights that depend on each other are for those whose last layer alone is random: use --method statistical", p.Describe())
		}
	}
	if n := p.Layers[last].Inputs(); n > mostOnTop {
		return fmt.Errorf("this posterior is %s; bounds for a last layer by itself are for at most %d inputs, and it has %d: use --method statistical", p.Describe(), mostOnTop, n)
	}
	return p.requireApart(last)
}

// RequireRows is nil for a posterior of which concentration LBP bounds rows: of independent normal weights
// (KindGaussian), random in its last layer alone (OnTop), with covariances in layers (KindCorrelated), a
// chain of dense layers with deviations that all layers share (KindSWAG, KindJoint), dropout (Masked), or
// linearised (KindLinearised).
// For others it is one line that says why not.
func (p *Posterior) RequireRows() error {
	switch {
	case p.Kind == KindGaussian || p.OnTop() == nil:
		return nil
	case p.Kind == KindDropout:
		_, err := p.Masked()
		return err
	case p.Kind == KindSWAG && p.Network().Chain():
		return nil
	case p.Kind == KindJoint:
		return p.requireJointRows()
	case p.Kind == KindLinearised: // Linearised has asked
		return nil
	case p.Kind != KindCorrelated:
		return p.OnTop()
	}
	for k, c := range p.covariances {
		if c == nil {
			continue
		}
		if n, _ := p.Layers[k].covariedShape(); n > mostOnTop {
			return fmt.Errorf("this posterior is %s; bounds with a covariance are for layers of at most %d inputs, or taps of a window, and layer %d has %d: use --method statistical", p.Describe(), mostOnTop, k, n)
		}
		if n := pairs(p.Layers[k].Map); n > mostPairs {
			return fmt.Errorf("this posterior is %s; bounds with a covariance keep at most %d numbers of pairs of taps, and layer %d needs %d: use --method statistical", p.Describe(), mostPairs, k, n)
		}
		if err := p.requireApart(k); err != nil {
			return err
		}
	}
	return nil
}

// requireApart is nil where rows of layer k are made of a factor that is not too large for that.
func (p *Posterior) requireApart(k int) error {
	if p.Kind == KindCorrelated && p.covariances[k].Apart && len(p.covariances[k].Factor) > mostApart {
		return fmt.Errorf("this posterior is %s; bounds are for factors of rows of at most %d numbers, and that of layer %d has %d: use --method statistical", p.Describe(), mostApart, k, len(p.covariances[k].Factor))
	}
	return nil
}

// pairs returns how many numbers of pairs of taps concentration LBP keeps of a layer, 0 where it is dense.
func pairs(m network.Map) int {
	c, ok := m.(network.Conv)
	if !ok {
		return 0
	}
	places := c.Window.Size[0] * c.Window.Size[1]
	return places * c.In.Channels * places * c.Filters
}
