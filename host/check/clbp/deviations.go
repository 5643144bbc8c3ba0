package clbp

import (
	"psafe/host/arith"
	"psafe/host/check/covary"
	"psafe/host/check/law"
	"psafe/host/check/relax"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// deviations are upper bounds of the standard deviations of a layer's weights, of their squares
// and of E|W|, laid out as in layer, and of the variances of the biases.
type deviations struct {
	Sd, variance, absMean, BiasVariance []float64
	// covaried, if it is not nil, says how the weights vary together: sd are then their marginals.
	covaried *covary.Covaried
	// meanSquare are squares of the means, of chains.
	meanSquare []float64
	at         *relax.Places
}

// swagSds are the standard deviations that weights and biases of a layer have by themselves, rounded up.
func swagSds(post *posterior.Posterior, k int) (weight, bias []float64) {
	half := func(list []float64) []float64 {
		sd := make([]float64, len(list))
		for e, v := range list {
			if v > 0 {
				sd[e] = arith.SqrtUp(arith.Up(arith.ProductUp(v, v) / 2))
			}
		}
		return sd
	}
	s := post.SWAG()
	return half(s.Sd[2*k]), half(s.Sd[2*k+1])
}

// Reach says of numbers that depend on x in the cell how far they are at most from what they
// are at one point of the cell, and from 0, with the squares.
type Reach struct{ Radius, RadiusSq, MostSq []float64 }

func NewReach(n int) Reach {
	return Reach{make([]float64, n), make([]float64, n), make([]float64, n)}
}

func (r *Reach) Set(j int, radius, most float64) {
	r.Radius[j], r.RadiusSq[j], r.MostSq[j] = radius, law.SquareUp(radius), law.SquareUp(most)
}

// ReachOf returns the reach of the points of a box.
func ReachOf(cell property.Box) Reach {
	r := NewReach(len(cell.Lo))
	for j, radius := range relax.RadiusOf(cell) {
		r.Set(j, radius, relax.Abs(cell.Lo[j], cell.Hi[j]))
	}
	return r
}

// Own is the noise of each neuron's own weights, (11) and (12) for the row e_i, z being what feeds it.
func (m *deviations) Own(in *Reach, z relax.Span) []law.Noise {
	mean, variance := m.weigh(m.Sd, in.Radius), m.weigh(m.variance, in.MostSq)
	n := make([]law.Noise, len(mean))
	for i := range n {
		variance[i].Plus(m.BiasVariance[i%len(m.BiasVariance)])
		n[i] = law.Noise{Mean: law.TimesSqrt2OverPiUp(mean[i].Hi()), Variance: max(0, variance[i].Hi())}
	}
	if m.covaried != nil {
		for i, v := range m.covaried.OfUnits(z) {
			n[i].Variance = v
		}
	}
	return n
}

// ofProperty is the noise of the layer in a row of a property, z being what feeds it.
func (m *deviations) ofProperty(row *property.Row, in *Reach, z relax.Span) law.Noise {
	if m.covaried != nil {
		return m.covaried.OfRow(row.CLo, row.CHi, in.Radius, z)
	}
	return m.OfRow(SizesOf(row), in, z)
}

// OfRow is the noise of the layer in a row a over its pre-activations, z being what feeds it.
func (m *deviations) OfRow(a []float64, in *Reach, z relax.Span) law.Noise {
	if m.covaried != nil {
		return m.covaried.OfRow(a, a, in.Radius, z)
	}
	if m.at != nil {
		return m.ofSharedRow(a, in, z)
	}
	square, at := make([]float64, len(a)), []int(nil)
	var mean, variance arith.Sum
	for i, v := range a {
		if v != 0 {
			square[i], at = law.SquareUp(v), append(at, i)
			variance = variance.With(square[i], m.BiasVariance[i])
		}
	}
	out := len(a)
	for j, radius := range in.Radius {
		if in.MostSq[j] == 0 {
			continue // z_j is 0, and so is its radius
		}
		// up to s_j^2 of (11)
		s := relax.Dot(arith.Sum{}, square, m.variance[j*out:(j+1)*out], at)
		sq := max(0, s.Hi())
		variance = variance.With(sq, in.MostSq[j])
		if radius != 0 {
			mean = mean.With(arith.SqrtUp(sq), radius)
		}
	}
	return law.Noise{Mean: law.TimesSqrt2OverPiUp(mean.Hi()), Variance: max(0, variance.Hi())}
}

// SizesOf are the largest magnitudes of a row's coefficients.
func SizesOf(row *property.Row) []float64 {
	most := make([]float64, len(row.CLo))
	for i := range most {
		most[i] = relax.Abs(row.CLo[i], row.CHi[i])
	}
	return most
}

// Variation bounds mean and variance of sum_j |W_ij| radius_j, by which the pre-activations
// vary over the cell at most (docs/theory.md, section 3.3).
func (m *deviations) Variation(in *Reach) []law.Noise {
	mean, variance := m.weigh(m.absMean, in.Radius), m.weigh(m.variance, in.RadiusSq)
	n := make([]law.Noise, len(mean))
	for i := range n {
		n[i] = law.Noise{Mean: max(0, mean[i].Hi()), Variance: max(0, variance[i].Hi())}
	}
	if m.covaried != nil {
		for i, v := range m.covaried.OfVariation(in.Radius) {
			n[i].Variance = v
		}
	}
	return n
}

// weigh is sum_j w_ji x_j for each of the outputs.
func (m *deviations) weigh(w, x []float64) []arith.Sum {
	if m.at != nil {
		return weighShared(m.at, w, x)
	}
	out := len(m.BiasVariance)
	s := make([]arith.Sum, out)
	for j, v := range x {
		if v == 0 {
			continue
		}
		for i, c := range w[j*out : (j+1)*out] {
			s[i] = s[i].With(c, v)
		}
	}
	return s
}

// weighShared is weigh for a map with a matrix at several positions.
func weighShared(at *relax.Places, w, x []float64) []arith.Sum {
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

// spreads bounds the variances of the coefficients of a layer's inputs: s_j^2 of (11).
func (m *deviations) spreads(squares []float64) []float64 {
	out := len(squares)
	var at []int
	for i, q := range squares {
		if q != 0 {
			at = append(at, i)
		}
	}
	list := make([]float64, len(m.variance)/out)
	for j := range list {
		s := relax.Dot(arith.Sum{}, squares, m.variance[j*out:(j+1)*out], at)
		list[j] = max(0, s.Hi())
	}
	return list
}
