package check

// Noise of weights that are used in several places: docs/convolution.md, (17) and (18).

// weigh is sum_j w_ji x_j for each of the outputs.
func (at *places) weigh(w, x []float64) []sum {
	list := make([]sum, at.positions*at.channels)
	for p := range at.positions {
		under := at.under(p)
		for o, kernel := range at.kernels {
			var s sum
			for _, k := range kernel {
				if j := under[k]; j >= 0 && x[j] != 0 {
					s = s.with(w[int(k)*at.channels+o], x[j])
				}
			}
			list[p*at.channels+o] = s
		}
	}
	return list
}

// ofSharedRow is ofRow for a map with a matrix at several positions. The mean is (18): s_j^2 is
// the sum over the places of input j, at each of which it meets another weight. The variance is
// (17): weight k meets g_k = sum over the positions p of a_p z_j(p,k), of which the range over the
// intervals z is exact.
func (m *deviations) ofSharedRow(a []float64, in *reach, z span) noise {
	at := m.at
	var variance, mean sum
	var g tapSums
	squares := make([]sum, len(in.radius))
	still := !anyAbove0(in.radius)
	for o, kernel := range at.kernels {
		met := at.met(a, o)
		if len(met) == 0 {
			continue
		}
		bLo, bHi := at.alone(a, o, met)
		variance = variance.with(m.biasVariance[o], squareUp(abs(bLo, bHi)))
		g.over(at, a, o, met, z)
		for _, k := range kernel {
			if v := m.variance[int(k)*at.channels+o]; v != 0 {
				lo, hi := g.of(k)
				variance = variance.with(v, squareUp(abs(lo, hi)))
			}
		}
		if still {
			continue
		}
		for _, p := range met {
			square, under := squareUp(a[p*at.channels+o]), at.under(p)
			for _, k := range kernel {
				if j := under[k]; j >= 0 && in.radius[j] != 0 {
					squares[j] = squares[j].with(square, m.variance[int(k)*at.channels+o])
				}
			}
		}
	}
	for j := range squares {
		if squares[j].n > 0 {
			mean = mean.with(sqrtUp(atLeast0(squares[j].hi())), in.radius[j])
		}
	}
	return noise{timesSqrt2OverPiUp(mean.hi()), atLeast0(variance.hi())}
}

// levels say where the noise of a network comes from.
type levels struct {
	// noise says which layers have weights that deviate, of[k] is 1 more than the largest level of
	// such a layer that layer k depends on; most is the largest.
	noise []bool
	of    []int
	most  int
	// open says of which layers the pre-activations are linear in noise, and needed of which
	// they have to be bounded.
	open, needed []bool
	// groups number the sources of each layer so that those whose noise is of the same weights
	// have the same number: what is linear in noise with what is. -1 are those without any.
	groups [][]int
}

func levelsOf(layers []layer, g *graph, noise []bool) levels {
	n := len(layers)
	v := levels{noise: noise, of: make([]int, n), open: make([]bool, n), needed: g.needed(layers, noise)}
	above := make([]int, n) // the largest level of a layer's outputs
	weights := make([]map[int]bool, n)
	for k := range layers {
		weights[k] = map[int]bool{}
		v.open[k] = noise[k] && layers[k].windows == nil
		var sets []map[int]bool
		for _, s := range g.from[k] {
			if s < 0 || !(v.open[s] && g.linear[s]) {
				sets = append(sets, nil)
			} else {
				sets = append(sets, weights[s])
				v.open[k] = v.open[k] || layers[k].windows == nil
			}
			if s >= 0 {
				above[k] = max(above[k], above[s])
			}
		}
		v.groups = append(v.groups, grouped(sets))
		v.of[k] = above[k] + 1
		if noise[k] {
			above[k]++
			weights[k][k] = true
		} else if layers[k].windows == nil {
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
