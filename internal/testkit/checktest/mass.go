package checktest

import (
	"math"
	"math/rand/v2"

	net "psafe/host/model/network"
	"psafe/host/model/posterior"
)

// OneLayer is a posterior with the given numbers as the parameters of one layer: the last
// one is the bias.
func OneLayer(mean, sdLo, sdHi []float64) *posterior.Posterior {
	n := len(mean) - 1
	l := posterior.Layer{Layer: net.DenseLayer(n, 1, net.Activation{})}
	l.Weight = posterior.Params{Mean: mean[:n], Spread: sdHi[:n], SdLo: sdLo[:n], SdHi: sdHi[:n]}
	l.Bias = posterior.Params{Mean: mean[n:], Spread: sdHi[n:], SdLo: sdLo[n:], SdHi: sdHi[n:]}
	return &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{l}}
}

// RandomBox draws a posterior and a box: ends near and far from the mean, on one side of
// it, infinite ones, spreads that are intervals, points or 0.
func RandomBox(rng *rand.Rand, n int, extreme bool) (mean, sdLo, sdHi, lo, hi []float64) {
	for range n {
		m, s := rng.NormFloat64(), math.Exp(rng.NormFloat64()*2)
		sLo := s
		if rng.IntN(3) == 0 {
			sLo = s * (1 - 1e-3*rng.Float64())
		}
		width := 3 * math.Exp(rng.NormFloat64()*0.5)
		shift := 0.0
		if extreme {
			switch rng.IntN(8) {
			case 0:
				s, sLo = 0, 0
			case 1:
				width = 1e-9 * rng.Float64()
			case 2:
				shift = width * (1 + rng.Float64()) // beside the mean
			case 3:
				width = 60 * rng.Float64()
			case 4:
				width, shift = 0.01, 0.02
			}
		}
		l, h := m+(shift-width)*s, m+(shift+width)*s
		if extreme && rng.IntN(8) == 0 {
			l = math.Inf(-1)
		}
		if extreme && rng.IntN(8) == 0 {
			h = math.Inf(1)
		}
		mean, sdLo, sdHi, lo, hi = append(mean, m), append(sdLo, sLo), append(sdHi, s), append(lo, l), append(hi, h)
	}
	return mean, sdLo, sdHi, lo, hi
}
