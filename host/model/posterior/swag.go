package posterior

import (
	"fmt"
	"math"
)

// SWAG holds what Stochastic Weight Averaging Params (Maddox et al., 2019) has
// beside the mean. With independent standard normal e1 (one per weight) and e2
// (one per column), its law is that of
//
//	w = mean + sqrt(1/2) D^(1/2) e1 + (1/sqrt(2(K-1))) Dhat e2
//
// where D is diagonal and Dhat has K columns. Nobody may write to it once a
// Posterior has it.
type SWAG struct {
	// Spread is D^(1/2) as stored, one list per array in the order of
	// Posterior.Draw; what it means is Posterior.Scale.
	Spread [][]float64
	// Sd is an upper bound, within 2.1e-14 relatively (see Scale.SD), of the
	// entries of D^(1/2) that Spread stands for.
	Sd [][]float64
	// Rank is K >= 2.
	Rank int
	// Deviation is Dhat, one list per array: entry k*n+e of a list is entry e of
	// the array, of length n, in column k.
	Deviation [][]float64
}

// FromSWAG makes a SWAG posterior: the layers' shapes, activations and means, and
// D^(1/2) and Dhat as in SWAG, one list per array. Spreads of layers are dropped. A bias that
// its layer has not (NoBias) must have spreads of 0, which stand for 0 under every scale.
// It keeps the slices. Any error is that of Validate. An unknown scale is a
// mistake of the caller.
func FromSWAG(layers []Layer, scale Scale, spread [][]float64, rank int, deviation [][]float64) (*Posterior, error) {
	s := &SWAG{Spread: spread, Rank: rank, Deviation: deviation}
	for a, list := range spread {
		sd, of := make([]float64, len(list)), scale
		if k := a / 2; a%2 == 1 && k < len(layers) && layers[k].NoBias {
			of = ScaleNone // whatever a 0 means under scale
		}
		for i, v := range list {
			_, sd[i] = of.SD(v)
		}
		s.Sd = append(s.Sd, sd)
	}
	p := &Posterior{Kind: KindSWAG, Layers: means(layers), Scale: scale, swag: s}
	return p, p.Validate()
}

// validate checks lengths and numbers against the shapes of p.
func (s *SWAG) validate(p *Posterior) error {
	if s.Rank < 2 {
		return fmt.Errorf("SWAG of rank %d: at least 2 columns of deviations are needed", s.Rank)
	}
	arrays := p.Params()
	if len(s.Spread) != len(arrays) || len(s.Sd) != len(arrays) || len(s.Deviation) != len(arrays) {
		return fmt.Errorf("%d spreads and %d deviations for %d layers: weights and biases of each are needed", len(s.Spread), len(s.Deviation), len(p.Layers))
	}
	for a, g := range arrays {
		n := p.size(a)
		full := Params{Mean: g.Mean, Spread: s.Spread[a], SdLo: s.Sd[a], SdHi: s.Sd[a]}
		if err := full.validate(arrayWords(a), n); err != nil {
			return err
		}
		if d := len(s.Deviation[a]); !stacked(d, n, s.Rank) {
			return fmt.Errorf("%s: %d numbers in %d columns of deviations; the shape needs %d each", arrayWords(a), d, s.Rank, n)
		}
		if bad := finite(s.Deviation[a], n); bad != "" {
			return fmt.Errorf("%s: deviation %s", arrayWords(a), bad)
		}
	}
	return nil
}

// SDApprox gives the standard deviation of every single weight, rounded in no
// direction, in the layout of Draw: for reports, for any kind. Of KindGaussian it
// is SdHi. Standard deviations say little of kinds whose weights depend on each
// other.
func (p *Posterior) SDApprox() [][]float64 {
	if p.linearised != nil {
		return p.linearised.SDApprox()
	}
	list := p.NewWeights()
	for k, c := range p.dependent() {
		if in, out := p.Layers[k].covariedShape(); c != nil {
			sd, _ := c.sdApprox(in, out, forever)
			eachEntry(in, out, sd, func(w *float64, v float64) { *w = v }, list[2*k], list[2*k+1])
		}
	}
	for a, g := range p.Params() {
		switch p.Kind {
		case KindGaussian:
			copy(list[a], g.SdHi)
		case KindFinite:
			p.finite.sdApprox(list[a], a, g.Mean)
		case KindSWAG:
			p.swag.sdApprox(list[a], a)
		case KindDropout:
			rate := p.dropout[a/2]
			for e := range list[a] {
				if a%2 == 0 {
					list[a][e] = math.Abs(g.Mean[e]) * math.Sqrt(rate/(1-rate))
				}
			}
		}
	}
	return list
}

func (s *Finite) sdApprox(sd []float64, a int, mean []float64) {
	total := float64(s.Total())
	for i, count := range s.Counts {
		for e, w := range s.Weights(i)[a] {
			sd[e] += float64(count) / total * (w - mean[e]) * (w - mean[e])
		}
	}
	for e := range sd {
		sd[e] = math.Sqrt(sd[e])
	}
}

func (s *SWAG) sdApprox(sd []float64, a int) {
	n := len(sd)
	for e := range sd {
		sum := 0.0
		for k := range s.Rank {
			d := s.Deviation[a][k*n+e]
			sum += d * d
		}
		sd[e] = math.Sqrt(s.Sd[a][e]*s.Sd[a][e]/2 + sum/float64(2*(s.Rank-1)))
	}
}

// sdUp are upper bounds of the standard deviations of array a: of sums of squares, rounded.
func (s *SWAG) sdUp(a int) []float64 {
	sd := make([]float64, len(s.Sd[a]))
	s.sdApprox(sd, a)
	for e, v := range sd {
		still := s.Sd[a][e] == 0
		for k := range s.Rank {
			still = still && s.Deviation[a][k*len(sd)+e] == 0
		}
		if !still {
			sd[e] = v*(1+float64(s.Rank+16)*0x1p-51) + marginalLeast
		}
	}
	return sd
}

// Diagonal is a posterior of independent weights with the means of p, of KindSWAG, and the part of their
// deviations that is each weight's own, rounded up: sqrt(1/2) D^(1/2). It is another law than p.
func (p *Posterior) Diagonal() *Posterior {
	m := p.AtMean()
	for a, g := range m.Params() {
		sd := make([]float64, len(g.Mean))
		for e, v := range p.swag.Sd[a] {
			if v != 0 {
				sd[e] = math.Nextafter(v*math.Nextafter(math.Sqrt2/2, 1), math.Inf(1))
			}
		}
		*g = NewParams(g.Mean, sd, ScaleSD)
	}
	return m
}
