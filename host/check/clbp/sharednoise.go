package clbp

import (
	"psafe/host/arith"
	"psafe/host/check/covary"
	"psafe/host/check/law"
	"psafe/host/check/relax"
)

// Noise of weights that are used in several places: docs/theory.md, (17) and (18).

// weigh is sum_j w_ji x_j for each of the outputs.
func weigh(at *relax.Places, w, x []float64) []arith.Sum {
	list := make([]arith.Sum, at.Positions*at.Channels)
	for p := range at.Positions {
		under := at.Under(p)
		for o, kernel := range at.Kernels {
			var s arith.Sum
			for _, k := range kernel {
				if j := under[k]; j >= 0 && x[j] != 0 {
					s = s.With(w[int(k)*at.Channels+o], x[j])
				}
			}
			list[p*at.Channels+o] = s
		}
	}
	return list
}

// ofSharedRow is OfRow for a map with a matrix at several positions. The mean is (18): s_j^2 is
// the sum over the places of input j, at each of which it meets another weight. The variance is
// (17): weight k meets g_k = sum over the positions p of a_p z_j(p,k), of which the range over the
// intervals z is exact.
func (m *deviations) ofSharedRow(a []float64, in *Reach, z relax.Span) law.Noise {
	at := m.at
	var variance, mean arith.Sum
	var g relax.TapSums
	squares := relax.NewWindowSums(len(in.Radius))
	defer squares.Free()
	still := !covary.AnyAbove0(in.Radius)
	for o, met := range at.Met(a) {
		kernel := at.Kernels[o]
		if len(met) == 0 {
			continue
		}
		bLo, bHi := at.Alone(a, o, met)
		variance = variance.With(m.BiasVariance[o], law.SquareUp(relax.Abs(bLo, bHi)))
		g.Over(at, a, o, met, z)
		for _, k := range kernel {
			if v := m.variance[int(k)*at.Channels+o]; v != 0 {
				lo, hi := g.Of(k)
				variance = variance.With(v, law.SquareUp(relax.Abs(lo, hi)))
			}
		}
		if still {
			continue
		}
		for _, p := range met {
			square, under := law.SquareUp(a[p*at.Channels+o]), at.Under(p)
			for _, k := range kernel {
				if j := under[k]; j >= 0 && in.Radius[j] != 0 {
					squares.Add(j, square, m.variance[int(k)*at.Channels+o])
				}
			}
		}
	}
	for j := squares.From; j < squares.To; j++ {
		if squares.Of[j].N > 0 {
			mean = mean.With(arith.SqrtUp(max(0, squares.Of[j].Hi())), in.Radius[j])
		}
	}
	return law.Noise{Mean: law.TimesSqrt2OverPiUp(mean.Hi()), Variance: max(0, variance.Hi())}
}
