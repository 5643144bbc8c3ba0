package clbp

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/host/check/law"
	"psafe/host/check/relax"
	net "psafe/host/model/network"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testscale"
)

// randomConvRow is a convolution with intervals for weights, intervals of its inputs and a row.
func randomConvRow(rng *rand.Rand) (l *relax.Layer, z relax.Span, a []float64) {
	c := checktest.RandomConvRow(rng)
	shape, params, err := relax.ShapeOf(c.Conv, net.Activation{})
	if err != nil {
		panic(err)
	}
	shape.W, shape.B = relax.Span{Lo: relax.Matrix(c.W[0], params), Hi: relax.Matrix(c.W[1], params)}, relax.Span{Lo: c.B[0], Hi: c.B[1]}
	return &shape, relax.Span{Lo: c.In[0], Hi: c.In[1]}, c.Row
}

// TestSharedNoise: mean and variance of the noise in a row are (18) and (17), not below them and
// not above but for roundings. The variance is that at the worst corner of the inputs.
func TestSharedNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 3))
	for n := range testscale.Cases(t, 300) {
		l, z, a := randomConvRow(rng)
		at, sd, sdBias := l.At, make([]float64, len(l.W.Lo)), make([]float64, len(l.B.Lo))
		for w := range sd {
			sd[w] = (l.W.Hi[w] - l.W.Lo[w]) / 2
		}
		for o := range sdBias {
			sdBias[o] = (l.B.Hi[o] - l.B.Lo[o]) / 2
		}
		m := deviations{Sd: sd, variance: law.SquaresUp(sd), BiasVariance: law.SquaresUp(sdBias), at: at}
		r := NewReach(l.In)
		for j := range l.In {
			r.Set(j, math.Abs(math.Round(rng.NormFloat64()*8)/8), relax.Abs(z.Lo[j], z.Hi[j]))
		}
		got := m.OfRow(a, &r, z)

		variance, mean := new(big.Rat), 0.0
		s := make([]float64, l.In) // s_j^2
		for o := range at.Channels {
			bias := new(big.Rat)
			for p := range at.Positions {
				bias.Add(bias, checktest.Exactly(a[p*at.Channels+o]))
			}
			variance.Add(variance, bias.Mul(bias, bias).Mul(bias, checktest.Exactly(sdBias[o]*sdBias[o])))
			for k := range at.Taps {
				// the centre of g_k and its half-width
				centre, half := new(big.Rat), new(big.Rat)
				for p := range at.Positions {
					j, v := at.Tap[p*at.Taps+k], a[p*at.Channels+o]
					if j < 0 {
						continue
					}
					sq := sd[k*at.Channels+o] * v
					s[j] += sq * sq
					c := new(big.Rat).Add(checktest.Exactly(z.Lo[j]), checktest.Exactly(z.Hi[j]))
					h := new(big.Rat).Sub(checktest.Exactly(z.Hi[j]), checktest.Exactly(z.Lo[j]))
					centre.Add(centre, c.Mul(c, checktest.Exactly(v/2)))
					half.Add(half, h.Mul(h, checktest.Exactly(math.Abs(v/2))))
				}
				g := centre.Abs(centre)
				g.Add(g, half)
				variance.Add(variance, g.Mul(g, g).Mul(g, checktest.Exactly(sd[k*at.Channels+o]*sd[k*at.Channels+o])))
			}
		}
		for j := range s {
			mean += math.Sqrt(2/math.Pi) * r.Radius[j] * math.Sqrt(s[j])
		}
		most, _ := new(big.Rat).Mul(variance, checktest.Exactly(1+1e-12)).Float64()
		if checktest.Exactly(got.Variance).Cmp(variance) < 0 || got.Variance > most+1e-300 {
			t.Errorf("case %d: variance %v, want %v", n, got.Variance, variance.FloatString(20))
		}
		if got.Mean < mean*(1-1e-13) || got.Mean > mean*(1+1e-12) {
			t.Errorf("case %d: mean %v, want %v", n, got.Mean, mean)
		}
	}
}
