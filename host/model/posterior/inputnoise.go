package posterior

import (
	"fmt"
	"math"
	"slices"

	"psafe/host/model/network"
)

// WithInputNoise is the posterior of x -> f^w(x + xi), with xi_j ~ N(0, sd_j^2), sdLo_j <= sd_j <= sdHi_j,
// independent of each other and of w, and drawn with w: the same for all x. The noise is the shift of a
// first layer with gains of 1, which makes it a weight like others. p is of independent normal weights.
func (p *Posterior) WithInputNoise(sdLo, sdHi []float64) (*Posterior, error) {
	if p.Kind != KindGaussian {
		return nil, fmt.Errorf("this posterior is %s: noise of the inputs is for independent normal weights, and for networks without deviations", p.Describe())
	}
	n := p.Inputs()
	if len(sdLo) != n || len(sdHi) != n {
		panic(fmt.Sprintf("posterior: WithInputNoise: %d and %d numbers for %d inputs", len(sdLo), len(sdHi), n))
	}
	front := Layer{
		Layer:  network.Layer{Map: network.Conv{In: network.Image{Height: 1, Width: 1, Channels: n}, Window: network.Window{Size: [2]int{1, 1}, Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}}, Filters: n, Groups: n}},
		Weight: NewParams(slices.Repeat([]float64{1}, n), make([]float64, n), ScaleSD),
		Bias:   Params{Mean: make([]float64, n), Spread: sdHi, Scale: ScaleSD, SdLo: sdLo, SdHi: sdHi},
	}
	q := *p
	q.Layers, q.Reference = []Layer{front}, nil // logits of networks without noise, which were compared when it was read
	for _, l := range p.Layers {
		if l.Sources != nil {
			l.Sources = slices.Clone(l.Sources)
			for i := range l.Sources {
				l.Sources[i]++
			}
		}
		q.Layers = append(q.Layers, l)
	}
	return &q, q.Validate()
}

// InputNoise returns upper bounds of the standard deviations of what WithInputNoise, or a file with such a
// first layer, adds to the inputs, and the posterior behind it; nil if there is no such layer.
func (p *Posterior) InputNoise() (sdHi []float64, behind *Posterior) {
	front := &p.Layers[0]
	c, ok := front.Map.(network.Conv)
	if p.Kind != KindGaussian || len(p.Layers) < 2 || !ok || c.In.Height != 1 || c.In.Width != 1 || c.Groups != c.In.Channels || c.Filters != c.In.Channels ||
		front.Activation.Kind != network.Identity || front.Weight.Random() > 0 || front.Bias.Random() == 0 {
		return nil, nil
	}
	for j, gain := range front.Weight.Mean {
		if gain != 1 || front.Bias.Mean[j] != 0 || math.IsInf(front.Bias.SdHi[j], 0) {
			return nil, nil
		}
	}
	q := *p
	q.Layers, q.Reference = nil, nil
	for _, l := range p.Layers[1:] {
		if l.Sources != nil {
			l.Sources = slices.Clone(l.Sources)
			for i := range l.Sources {
				if l.Sources[i]--; l.Sources[i] < -1 {
					return nil, nil // it sees the inputs without noise
				}
			}
		}
		q.Layers = append(q.Layers, l)
	}
	return front.Bias.SdHi, &q
}
