package convtest

import (
	"math"
	"math/big"
	"math/rand/v2"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
)

// Kronecker gives the layers of a network Kronecker covariances, dense layers and convolutions without
// groups, one in four of them none: deviations are about sd times the size of means. All others are certain.
func Kronecker(r *rand.Rand, p *posterior.Posterior, sd float64) *posterior.Posterior {
	all := make([]*posterior.Covariance, len(p.Layers))
	some := false
	for !some {
		for k := range p.Layers {
			m := p.Layers[k].Map
			if in, _, can := posterior.CovariedShape(m); can && r.IntN(4) > 0 {
				all[k], some = RandomKronecker(r, m, sd/math.Sqrt(float64(in))), true
			}
		}
	}
	post, err := posterior.FromCovariances(p.Layers, all)
	if err != nil {
		panic("convtest: Kronecker: " + err.Error())
	}
	return post
}

// RandomKronecker is a covariance of deviations of about sd: of any factors, of ones that are nearly
// orthogonal, or with most of the deviation common to all taps and filters.
func RandomKronecker(r *rand.Rand, m network.Map, sd float64) *posterior.Covariance {
	in, out, _ := posterior.CovariedShape(m)
	n, kind := in+1, r.IntN(3)
	square := func(n int) []float64 {
		q := make([]float64, n*n)
		for e := range q {
			switch off := r.NormFloat64(); {
			case kind == 0:
				q[e] = off / math.Sqrt(float64(n))
			case kind == 2 && e%n == 0:
				q[e] = 1
			case e/n == e%n:
				q[e] = 1
			case kind == 1:
				q[e] = off / 16
			}
		}
		return q
	}
	c := &posterior.Covariance{QG: square(out), QA: square(n), Sd: make([]float64, out*n)}
	for e := range c.Sd {
		c.Sd[e] = sd * r.Float64()
		if kind == 2 && e%n > 0 {
			c.Sd[e] /= 8
		}
	}
	return c
}

// RandomConv is a convolution of a small image.
func RandomConv(r *rand.Rand) network.Conv {
	g := &random{r: r}
	g.shape = network.Image{Height: 1 + r.IntN(3), Width: 1 + r.IntN(3), Channels: 1 + r.IntN(2)}
	return network.Conv{In: g.shape, Window: g.window(g.shape, false), Filters: 1 + r.IntN(2), Groups: 1, ChannelsFirst: r.IntN(2) == 0}
}

// KroneckerVariance is that of the row a of a convolution at the image z, in rational numbers: of coefficient
// only of z by itself, without the bias, if that is >= 0, and without the bias if bias is 0.
func KroneckerVariance(m network.Conv, c *posterior.Covariance, a, z []float64, bias float64, only int) *big.Rat {
	low := m.Lowered()
	n, sum := low.Taps+1, new(big.Rat)
	for i := range low.Channels {
		for j := range n {
			g := new(big.Rat)
			for p := range low.Positions {
				u, v := new(big.Rat), new(big.Rat)
				for o := range low.Channels {
					u.Add(u, new(big.Rat).Mul(rat(a[p*low.Channels+o]), rat(c.QG[o*low.Channels+i])))
				}
				for t, q := range low.Tap[p*low.Taps : (p+1)*low.Taps] {
					if q >= 0 && (only < 0 || int(q) == only) {
						v.Add(v, new(big.Rat).Mul(rat(z[q]), rat(c.QA[t*n+j])))
					}
				}
				if only < 0 {
					v.Add(v, new(big.Rat).Mul(rat(bias), rat(c.QA[low.Taps*n+j])))
				}
				g.Add(g, u.Mul(u, v))
			}
			g.Mul(g, rat(c.Sd[i*n+j]))
			sum.Add(sum, g.Mul(g, g))
		}
	}
	return sum
}

func rat(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
