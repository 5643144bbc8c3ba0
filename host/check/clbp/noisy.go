// Package clbp bounds rows by concentration LBP, for the checker (docs/theory.md, section 3): how
// likely rows of a network are negative somewhere in a cell, of weights that are normal,
// independent or not.
package clbp

import (
	"context"
	"sync"

	"psafe/host/arith/gauss"
	"psafe/host/check/covary"
	"psafe/host/check/law"
	"psafe/host/check/relax"
	"psafe/host/model/posterior"
)

// Noisy is a posterior of independent normal weights as concentration LBP needs it: the
// network of the means, and the moments of what weights deviate by.
type Noisy struct {
	Mean  []relax.Layer
	Graph *relax.Graph
	// Deviations are nil of what is no noise of weights on the way to a row, see Posterior.
	Deviations []deviations
	// Covaries reports whether weights depend on each other in layers; common is what all layers have in common.
	Covaries bool
	common   *covary.Common
	// Levels: what is known of where noise comes from.
	Levels levels
	// shifted is nil without noise of the inputs.
	shifted *shifted
	// quantiles keeps what NoiseQuantileUp said, by quantileOf: checkers that are at work at one time share it.
	quantiles *sync.Map
	// ctx, if it is not nil, ends what takes long: then nothing is known.
	ctx context.Context
}

type quantileOf struct {
	tau    float64
	layers int
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
	n := &Noisy{Covaries: !post.Independent(), common: covary.NewCommon(post), Graph: m.Graph, quantiles: &sync.Map{}}
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
				absMean[j] = gauss.AbsMeanUp(mean, both[j])
			}
			d.absMean = relax.Matrix(absMean, m.Params[k])
			if m.Graph.Chain {
				d.meanSquare = law.SquaresUp(l.Weight.Mean)
			}
		}
		n.Deviations = append(n.Deviations, d)
	}
	n.Levels = levelsOf(n.Mean, m.Graph, noise)
	n.shifted = newShifted(post, n.Mean, m.Graph, n.Deviations)
	return n, nil
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
	if z, known := n.quantiles.Load(at); known {
		return z.(float64)
	}
	z := law.NoiseQuantileUp(tau, layers)
	n.quantiles.Store(at, z)
	return z
}
