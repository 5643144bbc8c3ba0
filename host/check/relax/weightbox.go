package relax

import (
	"fmt"
	"math"
	"slices"

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

// BoxOf is the box of half-widths gamma, by layer, around the mean, or around the numbers that
// draw gives: docs/theory.md, DrawBox. Ends are c - h and c + h with c = centre + unit n and
// h = gamma unit, each operation rounded to nearest in the format. A weight without spread is
// its mean, enclosed; unit is its standard deviation, or a little more.
func BoxOf(post *posterior.Posterior, f *Numbers, gamma []float64, draw func(array, weight int) float32) (*WeightBox, error) {
	b := &WeightBox{}
	for a, g := range post.Params() {
		width := f.nearest(gamma[a/2])
		if !(width >= 0 && width <= math.MaxFloat64) {
			return nil, fmt.Errorf("gamma: it is %v", gamma[a/2])
		}
		lo, hi := make([]float64, len(g.Mean)), make([]float64, len(g.Mean))
		for w, mean := range g.Mean {
			if g.SdHi[w] == 0 {
				lo[w], hi[w] = f.below(mean), f.above(mean)
			} else {
				step := f.above(max(g.SdHi[w], 4*f.unit*math.Abs(mean), 4*f.eta))
				var n float32
				if draw != nil {
					n = draw(a, w)
				}
				c := f.nearest(f.nearest(mean) + f.nearest(step*float64(n)))
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

// part is the box with one end replaced: of entry w of array a, in the list that end picks.
func (b *WeightBox) part(a, w int, at float64, upper bool) *WeightBox {
	p := &WeightBox{slices.Clone(b.Lo), slices.Clone(b.Hi)}
	if upper {
		p.Lo[a] = slices.Clone(p.Lo[a])
		p.Lo[a][w] = at
	} else {
		p.Hi[a] = slices.Clone(p.Hi[a])
		p.Hi[a][w] = at
	}
	return p
}

// Pieces cuts the box as a proof says: the tree in preorder, nothing for a leaf, an array, an
// entry and where it is cut, followed by the lower and the upper part. Parts share a face,
// which has no probability, since only weights with a spread are cut.
func (b *WeightBox) Pieces(post *posterior.Posterior, tree [][]float64) ([]*WeightBox, error) {
	params := post.Params()
	copied := 0
	var done []*WeightBox
	todo := []*WeightBox{b} // those whose trees come next, the last first
	for _, cut := range tree {
		if len(todo) == 0 {
			return nil, fmt.Errorf("cuts: they go on after the last piece")
		}
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if len(cut) == 0 {
			done = append(done, p)
			continue
		}
		if len(cut) != 3 {
			return nil, fmt.Errorf("cuts: %v is no cut", cut)
		}
		a, w, at := int(cut[0]), int(cut[1]), cut[2]
		if float64(a) != cut[0] || float64(w) != cut[1] || a < 0 || a >= len(params) || w < 0 || w >= len(params[a].Mean) {
			return nil, fmt.Errorf("cuts: %v names no weight", cut)
		}
		if !(params[a].SdLo[w] > 0 && p.Lo[a][w] <= at && at <= p.Hi[a][w]) {
			return nil, fmt.Errorf("cuts: %v does not cut the interval from %v to %v of a weight with a spread", cut, p.Lo[a][w], p.Hi[a][w])
		}
		if copied += 2 * len(params[a].Mean); copied > mostCopied {
			return nil, fmt.Errorf("cuts: there are more than this program has the memory for")
		}
		todo = append(todo, p.part(a, w, at, true), p.part(a, w, at, false))
	}
	if len(todo) > 0 {
		return nil, fmt.Errorf("cuts: they end before the last piece")
	}
	return done, nil
}

const mostCopied = 1 << 27
