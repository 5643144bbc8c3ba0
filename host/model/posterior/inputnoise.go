package posterior

import (
	"fmt"
	"slices"

	"psafe/host/model/network"
)

// WithInputNoise is the posterior of x -> f^w(x + xi), with xi_j ~ N(0, sd_j^2), sdLo_j <= sd_j <= sdHi_j,
// independent of each other and of w, and drawn with w: the same for all x. The noise is the shift of a
// first layer with gains of 1, which makes it a weight like others. p is of independent normal weights, or one
// network.
func (p *Posterior) WithInputNoise(sdLo, sdHi []float64) (*Posterior, error) {
	if s := p.finite; p.Kind == KindFinite && s.N() == 1 && s.DrawsOf == "" { // one network, as ONNX files have it
		c := p.AtMean()
		for a, list := range c.Params() {
			list.Mean = s.Weights(0)[a]
		}
		c.Input, p = p.Input, c
	}
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
	q.Layers, q.shifts, q.Reference = []Layer{front}, true, nil // logits of networks without noise, which were compared when it was read
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

// Shifts reports whether WithInputNoise has made layer 0: gains that are 1 for sure, shifts of mean 0 and no
// activation, so that it hands on each input with a normal number added.
func (p *Posterior) Shifts() bool { return p.shifts }
