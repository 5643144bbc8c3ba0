// Package convtest makes convolutional posteriors by formula, images and questions, for tests.
// Every number is a multiple of a power of two that float32 has exactly. Only tests and benchmarks
// import it.
//
// The formulas are those of an independent program, whose bounds for these networks are in
// testdata/bounds.jsonl (Cases).
package convtest

import (
	"fmt"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// words are the first n numbers of the generator splitmix64 from seed.
func words(seed uint64, n int) []uint64 {
	w := make([]uint64, n)
	for i := range w {
		seed += 0x9E3779B97F4A7C15
		z := seed
		z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
		z = (z ^ z>>27) * 0x94D049BB133111EB
		w[i] = z ^ z>>31
	}
	return w
}

// made gives n parameters: of each word of splitmix64(seed) the upper 16 bits are the mean,
// from -scale to scale, and the next four the standard deviation, from sd to 2 sd.
func made(seed uint64, n int, scale, sd float64) posterior.Params {
	mean, spread := make([]float64, n), make([]float64, n)
	for i, w := range words(seed, n) {
		mean[i] = scale * (float64(w>>48) - 32768) / 32768
		spread[i] = sd * float64(16+w>>44&15) / 16
	}
	return posterior.NewParams(mean, spread, posterior.ScaleSD)
}

// Picture is a smooth image with numbers from 0 to 255/256: a coarse one, of cells of 4 x 4
// pixels, and a fine one, 3 to 1.
func Picture(seed uint64, s network.Image) []float64 {
	cells := (s.Width + 3) / 4
	coarse, fine := words(seed, (s.Height+3)/4*cells*s.Channels), words(seed+1, s.Len())
	x := make([]float64, 0, s.Len())
	for y := range s.Height {
		for col := range s.Width {
			for c := range s.Channels {
				a, b := coarse[(y/4*cells+col/4)*s.Channels+c]>>56, fine[len(x)]>>56
				x = append(x, float64((3*a+b)/4)/256)
			}
		}
	}
	return x
}

// Around is the box of radius eps around x, cut to [0, 1].
func Around(x []float64, eps float64) property.Box {
	b := property.Box{Lo: make([]float64, len(x)), Hi: make([]float64, len(x))}
	for j, v := range x {
		b.Lo[j], b.Hi[j] = max(0, v-eps), min(1, v+eps)
	}
	return b
}

// KeepsClass is the question whether class is the largest output on all of the box around x.
func KeepsClass(post *posterior.Posterior, x []float64, eps float64, class int) property.Task {
	box := []property.Box{Around(x, eps)}
	return property.Task{Label: class, T: box, Inner: box, S: property.ArgmaxIs(class, post.Outputs())}
}

// Scaled is the posterior with every standard deviation times factor.
func Scaled(p *posterior.Posterior, factor float64) *posterior.Posterior {
	q := &posterior.Posterior{Scale: p.Scale}
	scale := func(g posterior.Params) posterior.Params {
		spread := make([]float64, len(g.Spread))
		for i, s := range g.Spread {
			spread[i] = s * factor
		}
		return posterior.NewParams(g.Mean, spread, posterior.ScaleSD)
	}
	for _, l := range p.Layers {
		l.Weight, l.Bias = scale(l.Weight), scale(l.Bias)
		q.Layers = append(q.Layers, l)
	}
	return q
}

// Net is one of the named networks.
type Net struct {
	Name  string
	Image network.Image
	make  func(*builder)
}

// Posterior makes the network, with standard deviations times factor.
func (n *Net) Posterior(factor float64) *posterior.Posterior {
	b := &builder{shape: n.Image, post: &posterior.Posterior{Scale: posterior.ScaleSD}}
	n.make(b)
	if err := b.post.Validate(); err != nil {
		panic(fmt.Sprintf("convtest: %s: %v", n.Name, err))
	}
	if factor == 1 {
		return b.post
	}
	return Scaled(b.post, factor)
}

// Named is the network of that name.
func Named(name string) *Net {
	for i := range nets {
		if nets[i].Name == name {
			return &nets[i]
		}
	}
	panic(fmt.Sprintf("convtest: there is no network %q", name))
}

// Tiny are the networks that tests can afford to draw thousands of times.
func Tiny() []*Net {
	return []*Net{Named("tinyA"), Named("tinyB"), Named("tinyC"), Named("tinyD")}
}
