package checktest

import (
	"math"
	"math/big"
	"math/rand/v2"

	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/internal/testkit/networktest"
)

var Activations = networktest.Activations(1, 0.1)

// In is a number of an interval, often an end.
func In(rng *rand.Rand, lo, hi float64) float64 {
	switch rng.IntN(4) {
	case 0:
		return lo
	case 1:
		return hi
	}
	return min(hi, lo+math.Round(rng.Float64()*64)/64*(hi-lo))
}

// ValueOf is an activation of a rational: exact if it is kinked, else a float64's value and
// how far it may be off.
func ValueOf(a net.Activation, t *big.Rat) *big.Rat {
	if below, kinked := a.Kinked(); kinked {
		if t.Sign() < 0 {
			return new(big.Rat).Mul(t, Exactly(below))
		}
		return t
	}
	f, _ := t.Float64()
	return Exactly(a.Approx(f))
}

// Gaussian is a random posterior.
func Gaussian(rng *rand.Rand, act net.Activation, widths ...int) *posterior.Posterior {
	post := &posterior.Posterior{Scale: posterior.ScaleSD}
	params := func(n, fan int) posterior.Params {
		var g posterior.Params
		for range n {
			g.Mean = append(g.Mean, rng.NormFloat64()/math.Sqrt(float64(fan)))
			g.Spread = append(g.Spread, 0.02*rng.Float64()/math.Sqrt(float64(fan)))
		}
		g.SdLo, g.SdHi = g.Spread, g.Spread
		return g
	}
	for k := range len(widths) - 1 {
		a := act
		if k == len(widths)-2 {
			a = net.Activation{}
		}
		l := posterior.Layer{Layer: net.DenseLayer(widths[k], widths[k+1], a)}
		l.Weight, l.Bias = params(widths[k]*widths[k+1], widths[k]), params(widths[k+1], widths[k])
		post.Layers = append(post.Layers, l)
	}
	return post
}
