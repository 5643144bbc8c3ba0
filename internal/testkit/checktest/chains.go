package checktest

import (
	"math/rand/v2"
	"slices"

	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/internal/testkit/sumtest"
)

// ReluChain is a chain of dense layers with ReLU and weights that deviate by up to 0.1.
func ReluChain(r *rand.Rand, sizes ...int) *posterior.Posterior {
	post := &posterior.Posterior{Scale: posterior.ScaleSD}
	params := func(n int) posterior.Params {
		mean, sd := make([]float64, n), make([]float64, n)
		for i := range mean {
			mean[i], sd[i] = r.NormFloat64(), 0.1*r.Float64()
		}
		return posterior.NewParams(mean, sd, posterior.ScaleSD)
	}
	for k := 1; k < len(sizes); k++ {
		a := net.Activation{Kind: net.ReLU}
		if k == len(sizes)-1 {
			a = net.Activation{}
		}
		post.Layers = append(post.Layers, posterior.Layer{Layer: net.DenseLayer(sizes[k-1], sizes[k], a), Weight: params(sizes[k-1] * sizes[k]), Bias: params(sizes[k])})
	}
	return post
}

// RandomCovaried is a chain whose weights depend on each other: in layers, by SWAG or in all layers.
func RandomCovaried(rng *rand.Rand, kind, act int, sd float64, sizes ...int) *posterior.Posterior {
	switch kind {
	case 0:
		return sumtest.RandomCorrelated(rng, Activations[act], sd, sizes...)
	case 1:
		return sumtest.RandomSWAG(rng, Activations[act], sd, sizes...)
	}
	return sumtest.RandomJoint(rng, Activations[act], sd, sizes...)
}

// RandomAbout is a chain with ReLU and normal weights: independent, with covariances in layers or one of all.
func RandomAbout(rng *rand.Rand, kind int, sd float64, sizes ...int) *posterior.Posterior {
	switch kind {
	case 0:
		return sumtest.RandomNoisy(rng, Activations[1], sd, sizes...)
	case 1:
		return sumtest.RandomCorrelated(rng, Activations[1], sd, sizes...)
	}
	return sumtest.RandomJoint(rng, Activations[1], sd, sizes...)
}

// OfLayers is a posterior of these layers, whose weights have the means and deviations given.
func OfLayers(layers ...posterior.Layer) *posterior.Posterior {
	return &posterior.Posterior{Scale: posterior.ScaleSD, Layers: layers}
}

func WeightsOf(mean, sd float64, n int) posterior.Params {
	return posterior.NewParams(slices.Repeat([]float64{mean}, n), slices.Repeat([]float64{sd}, n), posterior.ScaleSD)
}

// Odd is a map that nobody knows.
type Odd struct{ net.Conv }
