package check

import "psafe/host/arith"

// Noise of weights that are used in several places: docs/theory.md, (17) and (18).

// weigh is sum_j w_ji x_j for each of the outputs.
func (at *places) weigh(w, x []float64) []arith.Sum {
	list := make([]arith.Sum, at.positions*at.channels)
	for p := range at.positions {
		under := at.under(p)
		for o, kernel := range at.kernels {
			var s arith.Sum
			for _, k := range kernel {
				if j := under[k]; j >= 0 && x[j] != 0 {
					s = s.With(w[int(k)*at.channels+o], x[j])
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
	var variance, mean arith.Sum
	var g tapSums
	squares := newWindowSums(len(in.radius))
	defer squares.free()
	still := !anyAbove0(in.radius)
	for o, met := range at.met(a) {
		kernel := at.kernels[o]
		if len(met) == 0 {
			continue
		}
		bLo, bHi := at.alone(a, o, met)
		variance = variance.With(m.biasVariance[o], squareUp(abs(bLo, bHi)))
		g.over(at, a, o, met, z)
		for _, k := range kernel {
			if v := m.variance[int(k)*at.channels+o]; v != 0 {
				lo, hi := g.of(k)
				variance = variance.With(v, squareUp(abs(lo, hi)))
			}
		}
		if still {
			continue
		}
		for _, p := range met {
			square, under := squareUp(a[p*at.channels+o]), at.under(p)
			for _, k := range kernel {
				if j := under[k]; j >= 0 && in.radius[j] != 0 {
					squares.add(j, square, m.variance[int(k)*at.channels+o])
				}
			}
		}
	}
	for j := squares.from; j < squares.to; j++ {
		if squares.of[j].N > 0 {
			mean = mean.With(arith.SqrtUp(max(0, squares.of[j].Hi())), in.radius[j])
		}
	}
	return noise{timesSqrt2OverPiUp(mean.Hi()), max(0, variance.Hi())}
}
