package prove_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/property"
)

// still makes layers of a posterior certain: all below layer n.
func still(post *posterior.Posterior, n int) *posterior.Posterior {
	for k := range n {
		for _, g := range []*posterior.Params{&post.Layers[k].Weight, &post.Layers[k].Bias} {
			*g = posterior.NewParams(g.Mean, make([]float64, len(g.Mean)), posterior.ScaleSD)
		}
	}
	return post
}

// TestNoNoise: a network whose weights are certain is safe or not: bounds that it reaches are 1
// and 0 exactly, by clbp as by auto.
func TestNoNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 1))
	safe, unsafe := 0, 0
	for i := range 60 {
		sizes := [][]int{{2, 3}, {3, 5, 3}, {2, 6, 4, 3}}[i%3]
		post := still(randomChain(r, sizes...), len(sizes)-1)
		x := property.Box{}
		for range sizes[0] {
			v := r.NormFloat64()
			x.Lo, x.Hi = append(x.Lo, v-0.01), append(x.Hi, v+0.01)
		}
		class := i % 3
		for _, s := range []prove.Method{prove.CLBP, prove.Auto} {
			for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
				res := run(t, p, post, prove.Config{Method: s}, inner(safeOn(property.ArgmaxIs(class, 3), x)))[0]
				lo, hi := res.Lower(), res.Upper()
				if lo != 0 && lo != 1 || hi != 0 && hi != 1 || lo > hi {
					t.Errorf("%d %v %v: p_lower %v, p_upper %v: 0 or 1 each", i, s, p, lo, hi)
				}
				if lo == 1 {
					safe++
				}
				if hi == 0 {
					unsafe++
				}
			}
		}
	}
	if safe == 0 || unsafe == 0 {
		t.Errorf("%d safe, %d unsafe: nothing was tested", safe, unsafe)
	}
}

// TestStillBelow: hidden layers below all noise cost no failure budget, so that
// what is left is the tail of the layers above them alone.
func TestStillBelow(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 2))
	post := still(randomChain(r, 2, 4, 4, 1), 2)
	x := property.Box{Lo: []float64{0.5, -0.25}, Hi: []float64{0.5, -0.25}}
	y := post.LogitsApprox(x.Lo)[0]
	z := []float64{x.Lo[0], x.Lo[1]}
	for k := range 2 {
		l := post.Layers[k]
		next := make([]float64, l.Outputs())
		for i := range next {
			next[i] = l.Bias.Mean[i]
			for j, v := range z {
				next[i] += v * l.Weight.Mean[j*l.Outputs()+i]
			}
			next[i] = max(0, next[i])
		}
		z = next
	}
	variance := post.Layers[2].Bias.SdHi[0] * post.Layers[2].Bias.SdHi[0]
	for j, v := range z {
		sd := post.Layers[2].Weight.SdHi[j]
		variance += v * v * sd * sd
	}
	d := 5*math.Sqrt(variance) - y // fails with probability 2.9e-7
	res := run(t, bound.Float64, post, viaCLBP, inner(safeOn(rows(true, 1, d), x)))[0]
	if fail := 1 - res.Lower(); fail > phi(-5)*(1+1e-6) || fail < phi(-5)*(1-1e-6) {
		t.Errorf("fails with %v, the last layer's noise alone %v", fail, phi(-5))
	}
}

// randomChain is a ReLU network of random normal weights.
func randomChain(r *rand.Rand, sizes ...int) *posterior.Posterior {
	post := &posterior.Posterior{Scale: posterior.ScaleSD}
	for k := range len(sizes) - 1 {
		draw := func(n int) posterior.Params {
			mean, sd := make([]float64, n), make([]float64, n)
			for j := range mean {
				mean[j], sd[j] = r.NormFloat64(), 0.2*r.Float64()
			}
			return posterior.NewParams(mean, sd, posterior.ScaleSD)
		}
		l := posterior.Layer{Layer: network.DenseLayer(sizes[k], sizes[k+1], network.Activation{Kind: network.ReLU}), Weight: draw(sizes[k] * sizes[k+1]), Bias: draw(sizes[k+1])}
		if k == len(sizes)-2 {
			l.Activation = network.Activation{}
		}
		post.Layers = append(post.Layers, l)
	}
	return post
}

// TestNoiseOfBiases: a hidden layer of which only the biases deviate is noisy, and so are all
// above it.
func TestNoiseOfBiases(t *testing.T) {
	post := chain(relu, normal(1, 0), normal(0, 1), normal(1, 0), none) // f(x) = max(0, x + b)
	one := interval(1, 1)
	res := run(t, bound.Float64, post, viaCLBP, inner(safeOn(rows(true, 1, -0.5), one)))[0]
	if truth := phi(0.5); res.Lower() > truth || res.Upper() < truth {
		t.Errorf("f(1) >= 0.5: %v to %v, it is %v", res.Lower(), res.Upper(), truth)
	}
}
