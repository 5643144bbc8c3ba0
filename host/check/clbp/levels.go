package clbp

import (
	"psafe/host/check/relax"
)

// levels hold where the noise of a network comes from.
type levels struct {
	// Noise says which layers have weights that deviate, Of[k] is 1 more than the largest level of
	// such a layer that layer k depends on; most is the largest.
	Noise []bool
	Of    []int
	most  int
	// open says of which layers the pre-activations are linear in noise, and needed of which
	// they have to be bounded.
	open, needed []bool
	// groups number the sources of each layer so that those whose noise is of the same weights
	// have the same number: what is linear in noise with what is. -1 are those without any.
	groups [][]int
}

func levelsOf(layers []relax.Layer, g *relax.Graph, noise []bool) levels {
	n := len(layers)
	v := levels{Noise: noise, Of: make([]int, n), open: make([]bool, n), needed: g.Needed(layers, noise)}
	above := make([]int, n) // the largest level of a layer's outputs
	weights := make([]map[int]bool, n)
	for k := range layers {
		weights[k] = map[int]bool{}
		v.open[k] = noise[k] && layers[k].Windows == nil
		var sets []map[int]bool
		for _, s := range g.From[k] {
			if s < 0 || !(v.open[s] && g.Linear[s]) {
				sets = append(sets, nil)
			} else {
				sets = append(sets, weights[s])
				v.open[k] = v.open[k] || layers[k].Windows == nil
			}
			if s >= 0 {
				above[k] = max(above[k], above[s])
			}
		}
		v.groups = append(v.groups, grouped(sets))
		v.Of[k] = above[k] + 1
		if noise[k] {
			above[k]++
			weights[k][k] = true
		} else if layers[k].Windows == nil {
			for _, set := range sets {
				for w := range set {
					weights[k][w] = true
				}
			}
		}
		v.most = max(v.most, above[k])
	}
	return v
}

// grouped numbers sets so that two that have something in common, be it through others, have
// the same number; -1 is for those without anything.
func grouped(sets []map[int]bool) []int {
	number := make([]int, len(sets))
	for i, set := range sets {
		if number[i] = i; len(set) == 0 {
			number[i] = -1
			continue
		}
		for h := range i {
			shared := false
			for w := range sets[h] {
				shared = shared || set[w]
			}
			if from, to := number[h], number[i]; shared && from != to {
				for j := range i + 1 {
					if number[j] == from {
						number[j] = to
					}
				}
			}
		}
	}
	return number
}
