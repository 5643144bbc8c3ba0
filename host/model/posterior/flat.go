package posterior

import "slices"

// Flat is the independent normal distribution of all parameters as one list: those of the
// first entry of Params, then those of the second, and so on. A box is as long.
type Flat struct{ Mean, SdLo, SdHi []float64 }

// Flat lists all parameters of a posterior that is Independent. The list is a copy.
func (p *Posterior) Flat() Flat {
	var f Flat
	for _, g := range p.Params() {
		f.Mean, f.SdLo, f.SdHi = append(f.Mean, g.Mean...), append(f.SdLo, g.SdLo...), append(f.SdHi, g.SdHi...)
	}
	return f
}

// Random counts the parameters that are random: those whose standard deviation is or
// may be above 0.
func (g *Params) Random() int {
	n := 0
	for _, sd := range g.SdHi {
		if sd > 0 {
			n++
		}
	}
	return n
}

// Random counts the parameters of the layer that are random.
func (l *Layer) Random() int { return l.Weight.Random() + l.Bias.Random() }

// Random counts the parameters of a posterior of KindGaussian that are random; it is 0
// for other kinds, which have no standard deviations of single parameters.
func (p *Posterior) Random() int {
	n := 0
	for k := range p.Layers {
		n += p.Layers[k].Random()
	}
	return n
}

// AtMean is the posterior of which every draw is the mean network of p: independent
// normal weights (KindGaussian) with the standard deviation 0. It shares the means.
func (p *Posterior) AtMean() *Posterior {
	c := &Posterior{Scale: ScaleSD, Source: p.Source, Layers: slices.Clone(p.Layers)}
	for _, g := range c.Params() {
		*g = NewParams(g.Mean, make([]float64, len(g.Mean)), ScaleSD)
	}
	return c
}

// LastRandom is p with the last n of its random layers alone random, all below at their means: the standard
// deviation 0. Pools, sums and layers of certain weights do not count. p is Independent. It shares the numbers that
// stay.
func (p *Posterior) LastRandom(n int) *Posterior {
	c := &Posterior{Scale: p.Scale, Source: p.Source, Layers: slices.Clone(p.Layers)}
	for k := len(c.Layers) - 1; k >= 0; k-- {
		switch {
		case c.Layers[k].Random() == 0:
		case n > 0:
			n--
		default:
			for _, g := range []*Params{&c.Layers[k].Weight, &c.Layers[k].Bias} {
				*g = NewParams(g.Mean, make([]float64, len(g.Mean)), ScaleSD)
			}
		}
	}
	return c
}

// RandomLayers counts the layers of p that have random parameters, and those that have parameters.
func (p *Posterior) RandomLayers() (random, layers int) {
	for k := range p.Layers {
		l := &p.Layers[k]
		if l.Random() > 0 {
			random++
		}
		if len(l.Weight.Mean)+len(l.Bias.Mean) > 0 {
			layers++
		}
	}
	return random, layers
}
