// Package clbp is the checker's concentration LBP (docs/theory.md, section 3): how likely rows of a network are
// negative somewhere in a cell, of weights that are normal, independent or not.
package clbp

import (
	"context"

	"psafe/host/arith"
	"psafe/host/check/covary"
	"psafe/host/check/curves"
	"psafe/host/check/law"
	"psafe/host/check/relax"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// Noisy is a posterior of independent normal weights as concentration LBP needs it: the
// network of the means, and the moments of what weights deviate by.
type Noisy struct {
	Mean  []relax.Layer
	Graph *relax.Graph
	// Deviations are nil of what is no noise of weights on the way to a row, see Posterior.
	Deviations []deviations
	// Covaries says that weights depend on each other in layers; common is what all layers have in common.
	Covaries bool
	common   *covary.Common
	// Levels: what is known of where noise comes from.
	Levels levels
	// quantiles keeps what NoiseQuantileUp said.
	quantiles map[quantileOf]float64
	// ctx, if it is not nil, ends what takes long: then nothing is known.
	ctx context.Context
}

type quantileOf struct {
	tau    float64
	layers int
}

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

// New prepares a posterior, meansAlone without its deviations. Everything that is claimed of the noise
// grows with the standard deviations, so that upper bounds of them will do.
func New(post *posterior.Posterior, meansAlone bool) (*Noisy, error) {
	if err := post.RequireRows(); err != nil {
		return nil, err
	}
	m, err := relax.MoldOf(post.Network())
	if err != nil {
		return nil, err
	}
	n := &Noisy{Covaries: !post.Independent(), common: covary.NewCommon(post), Graph: m.Graph, quantiles: map[quantileOf]float64{}}
	if n.Mean, err = m.Filled(post.Mean(), post.Mean()); err != nil {
		return nil, err
	}
	if meansAlone {
		return n, nil
	}
	noise := make([]bool, len(n.Mean))
	for k := range post.Layers {
		l := &post.Layers[k]
		d := deviations{at: n.Mean[k].At}
		if m.Weights[k] {
			weight, bias := l.Weight.SdHi, l.Bias.SdHi
			if all := post.Covariances(); all != nil {
				weight, bias = make([]float64, len(l.Weight.Mean)), make([]float64, len(l.Bias.Mean))
				if all[k] != nil {
					v := covary.NewCovaried(l, all[k], covary.MostFormedInputs, n.Mean[k].At)
					if weight, bias = v.Weights(); covary.AnyAbove0(weight) || covary.AnyAbove0(bias) { // else the layer is certain
						d.covaried = v
					}
				}
			}
			both, bothBias := weight, bias // with what all layers have in common
			if n.common != nil {
				weight, bias = make([]float64, len(l.Weight.Mean)), make([]float64, len(l.Bias.Mean))
				if post.SWAG() != nil {
					weight, bias = swagSds(post, k)
				}
				both, bothBias = n.common.Sds(k, weight, bias)
			}
			noise[k] = covary.AnyAbove0(both) || covary.AnyAbove0(bothBias) || m.Graph.Chain && k > 0 && noise[k-1]
			d.Sd, d.BiasVariance = relax.Matrix(weight, m.Params[k]), law.SquaresUp(bias)
			d.variance = law.SquaresUp(d.Sd)
			absMean := make([]float64, len(l.Weight.Mean))
			for j, mean := range l.Weight.Mean {
				absMean[j] = curves.AbsMeanUp(mean, both[j])
			}
			d.absMean = relax.Matrix(absMean, m.Params[k])
			if m.Graph.Chain {
				d.meanSquare = law.SquaresUp(l.Weight.Mean)
			}
		}
		n.Deviations = append(n.Deviations, d)
	}
	n.Levels = levelsOf(n.Mean, m.Graph, noise)
	return n, nil
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

// OfMeans is the network of the means for bounds below noise, whose rows certify takes down to the input, whatever
// --depth says.
func (n *Noisy) OfMeans(try uint64) relax.Network {
	g := *n.Graph
	g.Depth = 0
	return relax.Network{Layers: n.Mean, Graph: &g, Lines: true, By: relax.Choice{Try: try}, Ctx: n.ctx}
}

// Quantile is NoiseQuantileUp.
func (n *Noisy) Quantile(tau float64, layers int) float64 {
	at := quantileOf{tau, layers}
	z, known := n.quantiles[at]
	if !known {
		z = law.NoiseQuantileUp(tau, layers)
		n.quantiles[at] = z
	}
	return z
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

// ReachOf is that of the points of a box.
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

// SizesOf are the largest magnitudes of a row's coefficients.
func SizesOf(row *property.Row) []float64 {
	most := make([]float64, len(row.CLo))
	for i := range most {
		most[i] = relax.Abs(row.CLo[i], row.CHi[i])
	}
	return most
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
		return weigh(m.at, w, x)
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
