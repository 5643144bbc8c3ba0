package bound

import (
	"math"
	"slices"
)

// isApart reports whether what layer l takes at one place comes from different sources, and the
// sources vary with the weights of different layers.
func (l *layer) isApart(layers []layer) bool {
	var met []int
	for _, s := range l.feed {
		if s < 0 || layers[s].closed {
			continue
		}
		for _, k := range layers[s].loud {
			if slices.Contains(met, k) {
				return false
			}
		}
		met = append(met, layers[s].loud...)
	}
	if l.dense {
		return false
	}
	for q := range l.positions {
		var sources []int
		for t := range l.taps {
			j := l.inputUnder(q, t)
			if j < 0 {
				continue
			}
			i, _ := slices.BinarySearch(l.first, j+1) // the first beginning above j
			if slices.Contains(sources, i) {
				return false
			}
			sources = append(sources, i)
		}
	}
	return true
}

// moveSq returns the factor by which variances of how far inputs vary give that of the outputs, for
// the magnitudes move of a matrix without noise. The inputs vary by Lipschitz functions of the drawn
// weights, which may be the same ones: roots of variances add, and
//
//	(sum |w| s)^2 <= (sum |w|) (sum |w| s^2)
//
// Where they are of different layers, variances add. The factors outweigh the roundings.
func (l *layer) moveSq(move []float64) func(e int) float64 {
	if l.apart {
		return func(e int) float64 { return atLeast(move[e]*move[e]*(1+0x1p-50), move[e]) }
	}
	most := make([]float64, l.channels) // the greatest sum at any position
	for q := range l.positions {
		for o := range l.channels {
			sum := 0.0
			for t := range l.taps {
				if l.inputUnder(q, t) >= 0 {
					sum += move[t*l.channels+o]
				}
			}
			most[o] = max(most[o], sum*(1+float64(l.taps+1)*0x1p-52))
		}
	}
	return func(e int) float64 { return atLeast(move[e]*most[e%l.channels]*(1+0x1p-50), move[e]) }
}

// atLeast keeps a square of something that is not 0 from vanishing by underflow.
func atLeast(square, of float64) float64 {
	if of != 0 {
		return max(square, math.SmallestNonzeroFloat64)
	}
	return square
}
