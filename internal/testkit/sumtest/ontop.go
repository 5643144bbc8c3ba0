package sumtest

import (
	"math"
	"math/rand/v2"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
)

// RandomOnTop is a posterior whose last layer alone is random, of deviations of about sd times its
// weights: with a full covariance of any rank, of which a part may be common to all outputs, one of each row, a
// Kronecker covariance, or independent.
func RandomOnTop(rng *rand.Rand, act network.Activation, sd float64, sizes ...int) *posterior.Posterior {
	post := RandomNoisy(rng, act, sd, sizes...)
	last := len(post.Layers) - 1
	for k := range last {
		for _, g := range []*posterior.Params{&post.Layers[k].Weight, &post.Layers[k].Bias} {
			*g = posterior.NewParams(g.Mean, make([]float64, len(g.Mean)), posterior.ScaleSD)
		}
	}
	in, out := post.Layers[last].Inputs(), post.Layers[last].Outputs()
	c := RandomCovariance(rng, sd, in, out)
	if c == nil {
		return post
	}
	all := make([]*posterior.Covariance, len(post.Layers))
	all[last] = c
	post, err := posterior.FromCovariances(post.Layers, all)
	if err != nil {
		panic(err)
	}
	return post
}

// RandomCovariance is one of a dense layer, nil one time in four.
func RandomCovariance(rng *rand.Rand, sd float64, in, out int) *posterior.Covariance {
	n, entries := in+1, out*(in+1)
	numbers := func(count int, scale float64) []float64 {
		list := make([]float64, count)
		for i := range list {
			list[i] = scale * rng.NormFloat64()
		}
		return list
	}
	switch rng.IntN(4) {
	case 0:
		return nil
	case 1:
		c := &posterior.Covariance{QG: numbers(out*out, 0.7), QA: numbers(n*n, 0.7), Sd: numbers(entries, sd)}
		for i, v := range c.Sd {
			c.Sd[i] = max(v, -v)
		}
		return c
	}
	rank := 1 + rng.IntN(entries)
	c := &posterior.Covariance{Rank: rank, Factor: numbers(entries*rank, sd/float64(rank))}
	if rng.IntN(2) == 0 { // what all outputs have in common
		for j := range n {
			common := 3 * sd * rng.NormFloat64()
			for o := range out {
				c.Factor[(o*n+j)*rank] += common
			}
		}
	} else {
		c.Apart = rank%2 == 1
	}
	return c
}

// RandomCorrelated is a chain of dense layers with a covariance in some of them, at least one of which is
// not the last.
func RandomCorrelated(rng *rand.Rand, act network.Activation, sd float64, sizes ...int) *posterior.Posterior {
	layers := RandomNoisy(rng, act, sd, sizes...).Layers
	all := make([]*posterior.Covariance, len(layers))
	for all[0] == nil && (len(all) < 3 || all[1] == nil) {
		for k := range all {
			all[k] = RandomCovariance(rng, sd/math.Sqrt(float64(sizes[k])), sizes[k], sizes[k+1])
		}
	}
	post, err := posterior.FromCovariances(layers, all)
	if err != nil {
		panic(err)
	}
	return post
}

// RandomSWAG is a chain of dense layers with deviations that all layers have in common, and of each weight by
// itself, or of none.
func RandomSWAG(rng *rand.Rand, act network.Activation, sd float64, sizes ...int) *posterior.Posterior {
	layers, rank := RandomNoisy(rng, act, sd, sizes...).Layers, 2+rng.IntN(3)
	own := float64(rng.IntN(2))
	var spread, deviation [][]float64
	for k := range layers {
		for _, n := range []int{sizes[k] * sizes[k+1], sizes[k+1]} {
			s, d := make([]float64, n), make([]float64, rank*n)
			for e := range s {
				s[e] = own * sd / math.Sqrt(float64(sizes[k])) * rng.Float64()
			}
			for e := range d {
				d[e] = sd / math.Sqrt(float64(sizes[k])) * rng.NormFloat64()
			}
			spread, deviation = append(spread, s), append(deviation, d)
		}
	}
	post, err := posterior.FromSWAG(layers, posterior.ScaleSD, spread, rank, deviation)
	if err != nil {
		panic(err)
	}
	return post
}

// RandomJoint is a chain of dense layers with one covariance of all weights, of any rank; one layer may be
// certain.
func RandomJoint(rng *rand.Rand, act network.Activation, sd float64, sizes ...int) *posterior.Posterior {
	layers, rank := RandomNoisy(rng, act, sd, sizes...).Layers, 1+rng.IntN(8)
	all := make([]*posterior.Covariance, len(layers))
	certain := rng.IntN(3 * len(layers))
	for k := range all {
		if k == certain && len(all) > 1 {
			continue
		}
		all[k] = &posterior.Covariance{Rank: rank, Factor: make([]float64, sizes[k+1]*(sizes[k]+1)*rank)}
		for e := range all[k].Factor {
			all[k].Factor[e] = sd / math.Sqrt(float64(sizes[k]*rank)) * rng.NormFloat64()
		}
	}
	post, err := posterior.FromJoint(layers, all)
	if err != nil {
		panic(err)
	}
	return post
}

// SharedEntry is what number c of those that all layers have in common is multiplied by in the weight from
// input j to output o of layer k, j being the number of inputs for the bias, but for the root of what SharedRank
// says: of a posterior of KindSWAG or KindJoint.
func SharedEntry(post *posterior.Posterior, k, o, j, c int) float64 {
	in, out := post.Layers[k].Inputs(), post.Layers[k].Outputs()
	if g := post.SWAG(); g != nil {
		if j == in {
			return g.Deviation[2*k+1][c*out+o]
		}
		return g.Deviation[2*k][c*in*out+j*out+o]
	}
	if f := post.Joint()[k]; f != nil {
		return f.Factor[(o*(in+1)+j)*f.Rank+c]
	}
	return 0
}

// SharedRank is how many numbers all layers have in common, and what their squares are to be divided by.
func SharedRank(post *posterior.Posterior) (rank int, divisor float64) {
	if g := post.SWAG(); g != nil {
		return g.Rank, float64(2 * (g.Rank - 1))
	}
	return post.JointRank(), 1
}
