package paper

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
)

// synthetic is a posterior made by formula, for measuring size and nothing else:
// ReLU layers of the widths, every weight N(mu, sd^2) with mu drawn from N(0, 2/in)
// (He's initialisation) and sd = spread * sqrt(2/in), both rounded to float32; biases
// with mu 0 and the same sd. The same arguments give the same posterior.
func synthetic(widths []int, spread float64, seed uint64) *posterior.Posterior {
	var key [32]byte
	copy(key[:], fmt.Sprintf("psafe paper %d", seed))
	r := rand.New(rand.NewChaCha8(key))
	post := &posterior.Posterior{Scale: posterior.ScaleSD, Source: posterior.Source{
		Note: fmt.Sprintf("synthetic: widths %d, mu ~ N(0, 2/in), sigma = %v sqrt(2/in), seed %d", widths, spread, seed)}}
	for k := 1; k < len(widths); k++ {
		in, out := widths[k-1], widths[k]
		scale := math.Sqrt(2 / float64(in))
		sd := float64(float32(spread * scale))
		l := posterior.Layer{Layer: network.DenseLayer(in, out, network.Activation{Kind: network.ReLU}), Weight: constantSpread(in*out, sd), Bias: constantSpread(out, sd)}
		for j := range l.Weight.Mean {
			l.Weight.Mean[j] = float64(float32(scale * r.NormFloat64()))
		}
		if k == len(widths)-1 {
			l.Activation = network.Activation{}
		}
		post.Layers = append(post.Layers, l)
	}
	return post
}

// constantSpread is n normal weights of mean 0 and one standard deviation.
func constantSpread(n int, sd float64) posterior.Params {
	return posterior.NewParams(make([]float64, n), slices.Repeat([]float64{sd}, n), posterior.ScaleSD)
}
