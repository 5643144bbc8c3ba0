package relax

import (
	"fmt"
	"math"

	"psafe/host/arith"
	"psafe/host/model/posterior"
)

// WeightBox is a box of weights: Lo[a], Hi[a] are the ends of array a of parameters, the
// weights of layer a/2 if a is even, else its biases.
type WeightBox struct{ Lo, Hi [][]float64 }

// Numbers is the format of numbers that a box was made in: float32 or float64.
type Numbers struct {
	unit, eta, most float64
	nearest         func(float64) float64
}

var Formats = map[string]Numbers{
	"float32": {0x1p-24, 0x1p-149, math.MaxFloat32, func(x float64) float64 { return float64(float32(x)) }},
	"float64": {0x1p-53, 0x1p-1074, math.MaxFloat64, func(x float64) float64 { return x }},
}

// below is the greatest number of the format at or below x, above the least at or above.
func (f *Numbers) below(x float64) float64 {
	r := f.nearest(x)
	if r > x {
		r = float64(math.Nextafter32(float32(x), float32(-arith.Inf)))
	}
	return r
}

func (f *Numbers) above(x float64) float64 { return -f.below(-x) }

// BoxOf is the box of half-width gamma around the numbers that draw gives, in standard deviations
// from the mean: docs/theory.md, DrawBox. Ends are c - h and c + h with c = centre + unit n and
// h = gamma unit, each operation rounded to nearest in the format. A weight without spread is
// its mean, enclosed; unit is its standard deviation, or a little more.
func BoxOf(post *posterior.Posterior, f *Numbers, gamma float64, draw func(array, weight int) float32) (*WeightBox, error) {
	b, width := &WeightBox{}, f.nearest(gamma)
	if !(width >= 0 && width <= math.MaxFloat64) {
		return nil, fmt.Errorf("gamma: it is %v", gamma)
	}
	for a, g := range post.Params() {
		lo, hi := make([]float64, len(g.Mean)), make([]float64, len(g.Mean))
		for w, mean := range g.Mean {
			if g.SdHi[w] == 0 {
				lo[w], hi[w] = f.below(mean), f.above(mean)
			} else {
				step := f.above(max(g.SdHi[w], 4*f.unit*math.Abs(mean), 4*f.eta))
				c := f.nearest(f.nearest(mean) + f.nearest(step*float64(draw(a, w))))
				h := f.nearest(width * step)
				lo[w], hi[w] = f.nearest(c-h), f.nearest(c+h)
			}
			if !(lo[w] > -f.most/4 && hi[w] < f.most/4) {
				return nil, fmt.Errorf("gamma: weight %d of array %d does not fit the precision", w, a)
			}
		}
		b.Lo, b.Hi = append(b.Lo, lo), append(b.Hi, hi)
	}
	return b, nil
}

// Network is the networks whose weights are in the box.
func (b *WeightBox) Network(post *posterior.Posterior) (*Network, error) {
	m, err := MoldOf(post.Network())
	if err != nil {
		return nil, fmt.Errorf("posterior: %w", err)
	}
	layers, err := m.Filled(b.Lo, b.Hi)
	if err != nil {
		return nil, fmt.Errorf("posterior: %w", err)
	}
	return &Network{Layers: layers, Graph: m.Graph}, nil
}
