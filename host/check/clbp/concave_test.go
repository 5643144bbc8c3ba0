package clbp

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/arith"
	"psafe/host/check/law"
	"psafe/host/check/relax"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testscale"
)

// TestConcave, in fractions: the means without noise are on the event of hidden bounds that hold them, so that by Jensen
// none of their rows is below a mean, and no gradient has more variance than what bounds them.
func TestConcave(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 4))
	kept := 0
	for i := range testscale.Cases(t, 300) {
		sizes := [][]int{{3, 4, 2}, {2, 4, 4, 2}, {2, 3, 4, 3, 2}}[i%3]
		base := checktest.RandomAbout(rng, 0, 0.03, sizes...)
		sd, x := make([]float64, sizes[0]), make([]float64, sizes[0])
		for j := range sd {
			sd[j], x[j] = rng.Float64(), rng.NormFloat64()
		}
		post, err := base.WithInputNoise(sd, sd)
		if err != nil {
			t.Fatal(err)
		}
		n, err := New(post, false)
		if err != nil {
			t.Fatal(err)
		}
		at := &concaves{shifted: n.shifted, layers: n.Mean, first: n.Mean[1].Affine(relax.Span{Lo: x, Hi: x})}
		z := exactly(x)
		reaches := func(b *below, value *big.Rat) {
			if mean := b.mean.Lo(); !arith.Finite(mean, mean) || checktest.Exactly(mean).Cmp(value) > 0 {
				t.Errorf("case %d: the mean %v is above %v", i, mean, value.FloatString(20))
			}
		}
		for l := range sizes[1 : len(sizes)-1] {
			k := &n.Mean[l+1]
			y := exactly(k.B.Lo)
			pre, own := relax.NewSpan(k.Out), make([]law.Noise, k.Out)
			for u := range y {
				for j := range z {
					y[u].Add(y[u], new(big.Rat).Mul(z[j], checktest.Exactly(k.W.Lo[k.Number(j, u)])))
				}
				for _, sign := range []float64{1, -1} {
					reaches(at.unit(l, u, sign), new(big.Rat).Mul(checktest.Exactly(sign), y[u]))
				}
				v, _ := y[u].Float64()
				wide := math.Ldexp(1, rng.IntN(5)-3)
				pre.Lo[u], pre.Hi[u] = math.Nextafter(v, -9)-wide*rng.Float64(), math.Nextafter(v, 9)+wide*rng.Float64()
				own[u] = law.Noise{Mean: rng.Float64() / 16, Variance: rng.Float64()}
			}
			at.addHidden(pre, own)
			kept += len(at.hidden[l].order)
			for u := range y {
				if y[u].Sign() < 0 {
					y[u] = new(big.Rat)
				}
			}
			z = y
		}
		for _, slope := range lowerSlopes {
			s, value, c := make([]float64, len(z)), checktest.Exactly(0.25), arith.Sum{}
			c.Plus(0.25)
			for j := range s {
				s[j] = rng.NormFloat64()
				value.Add(value, new(big.Rat).Mul(checktest.Exactly(s[j]), z[j]))
			}
			b := at.row(len(sizes)-3, s, c, slope, rng.IntN(4))
			reaches(b, value)
			g := vertex(rng, b)
			if len(at.hidden) == 1 {
				g = at.hidden[0].phases(rng, s, slope)
			}
			if v, has := at.noiseUp(b), gradientVariance(at, g, sd); checktest.Exactly(v).Cmp(has) < 0 {
				t.Errorf("case %d: variance %v, a gradient has %v", i, v, has.FloatString(20))
			}
		}
	}
	if kept == 0 {
		t.Error("no unit is kept")
	}
}

// phases are the gradient of a row over one hidden layer at some noise: of what is kept, with any phases.
func (u *underUnits) phases(rng *rand.Rand, s []float64, slope func(share float64) float64) []*big.Rat {
	g := exactly(s)
	for j, x := range s {
		lo, hi := u.pre.Lo[j], u.pre.Hi[j]
		switch {
		case lo >= 0:
		case hi <= 0:
			g[j].SetInt64(0)
		case x > 0:
			g[j] = checktest.Exactly(x * slope(hi/(hi-lo)))
		case slices.Contains(u.order, j):
			g[j].Mul(g[j], checktest.Exactly(float64(rng.IntN(2))))
		default:
			g[j] = checktest.Exactly(x * (hi / (hi - lo)))
		}
	}
	return g
}

// vertex is one of those between which gradients are.
func vertex(rng *rand.Rand, b *below) []*big.Rat {
	g := exactly(b.centre)
	side := func(by float64) *big.Rat { return checktest.Exactly(by * float64(2*rng.IntN(2)-1)) }
	for _, k := range b.kept {
		s := side(k.by)
		for j, x := range k.centre {
			g[j].Add(g[j], new(big.Rat).Mul(s, checktest.Exactly(x)))
		}
	}
	for j, x := range b.axis {
		g[j].Add(g[j], side(x))
	}
	return g
}

// gradientVariance is what noise of the inputs brings to a gradient.
func gradientVariance(at *concaves, g []*big.Rat, sd []float64) *big.Rat {
	sum, l := new(big.Rat), &at.layers[1]
	for k, s := range sd {
		of := new(big.Rat)
		for j := range g {
			of.Add(of, new(big.Rat).Mul(g[j], checktest.Exactly(l.W.Lo[l.Number(k, j)])))
		}
		of.Mul(of, checktest.Exactly(s))
		sum.Add(sum, of.Mul(of, of))
	}
	return sum
}

func exactly(list []float64) (all []*big.Rat) {
	for _, x := range list {
		all = append(all, checktest.Exactly(x))
	}
	return all
}
