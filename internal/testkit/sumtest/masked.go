package sumtest

import (
	"math/rand/v2"
	"slices"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// RandomMasked is a posterior of dropout from layer first on, of about half of the layers above it, too.
// Rates are multiples of 1/16, so that probabilities of masks are exact in float64.
func RandomMasked(rng *rand.Rand, act network.Activation, first int, sizes ...int) *posterior.Posterior {
	post := RandomNoisy(rng, act, 0, sizes...)
	rates := make([]float64, len(post.Layers))
	for k := first; k < len(rates); k++ {
		if k == first || rng.IntN(2) == 0 {
			rates[k] = float64(1+rng.IntN(9)) / 16
		}
	}
	post, err := posterior.FromDropout(post.Layers, rates)
	if err != nil {
		panic(err)
	}
	return post
}

// EachMask calls each with all masks of a posterior of dropout: the probability and the weights of the network,
// which are overwritten by the next.
func EachMask(post *posterior.Posterior, each func(p float64, w [][]float64)) {
	var places [][2]int // layer, unit
	units := make([]func(int) int, len(post.Layers))
	for k, rate := range post.Dropout() {
		if rate > 0 {
			n, unit, _ := network.Dropped(post.Layers[k].Map)
			units[k] = unit
			for u := range n {
				places = append(places, [2]int{k, u})
			}
		}
	}
	w, means := post.NewWeights(), post.Mean()
	for mask := range 1 << len(places) {
		p := 1.0
		for a := range w {
			copy(w[a], means[a])
		}
		dropped := make([]map[int]bool, len(post.Layers))
		for e, at := range places {
			k, rate := at[0], post.Dropout()[at[0]]
			if dropped[k] == nil {
				dropped[k] = map[int]bool{}
			}
			if dropped[k][at[1]] = mask>>e&1 == 0; dropped[k][at[1]] {
				p *= rate
			} else {
				p *= 1 - rate
			}
		}
		for k, of := range dropped {
			if of != nil {
				post.Drop(k, func(j int) bool { return of[units[k](j)] }, w[2*k])
			}
		}
		each(p, w)
	}
}

// MaskedUnsafe is the probability of all masks with which the network leaves S in a point of a grid over T, and
// of those with which it does so at one point, by enumeration; a row has to be below 0 by more than by.
func MaskedUnsafe(post *posterior.Posterior, task *property.Task, at []float64, by float64) (somewhere, here float64) {
	points := gridOf(task)
	EachMask(post, func(p float64, w [][]float64) {
		pass := post.Network().NewPass(w)
		for _, x := range points {
			if Unsafe(pass.Forward(x), &task.S, by) {
				somewhere += p
				break
			}
		}
		if Unsafe(pass.Forward(at), &task.S, by) {
			here += p
		}
	})
	return somewhere, here
}

// gridOf are the points of a grid over the boxes of T.
func gridOf(task *property.Task) (points [][]float64) {
	for _, b := range task.T {
		if slices.Equal(b.Lo, b.Hi) {
			points = append(points, b.Lo)
			continue
		}
		for v := range 1 << (2 * min(len(b.Lo), 3)) {
			x := make([]float64, len(b.Lo))
			for j := range x {
				x[j] = b.Lo[j] + float64(v>>(2*(j%3))&3)/3*(b.Hi[j]-b.Lo[j])
			}
			points = append(points, x)
		}
	}
	return points
}

// Unsafe reports whether outputs are not in S, by more than by.
func Unsafe(y []float64, s *property.Safe, by float64) bool {
	lo := make([]float64, len(s.Rows))
	for r, row := range s.Rows {
		lo[r] = row.D + by
		for i, c := range row.CLo {
			lo[r] += c * y[i]
		}
	}
	return !s.Holds(lo)
}
