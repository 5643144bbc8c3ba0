package bound

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/internal/testscale"
)

// TestConcave, in fractions: the network of the means without noise is on the event of hidden bounds that hold it, so
// that by Jensen no row of it is below a mean, and no gradient has more variance than what bounds them.
func TestConcave(t *testing.T) {
	r := rand.New(rand.NewPCG(48, 3))
	settled, kept := 0, 0
	for i := range testscale.Cases(t, 300) {
		sizes := [][]int{{3, 4, 2}, {2, 4, 4, 2}, {2, 3, 4, 3, 2}}[i%3]
		base := &posterior.Posterior{Scale: posterior.ScaleSD}
		for k := range len(sizes) - 1 {
			a := network.Activation{Kind: network.ReLU}
			if k == len(sizes)-2 {
				a = network.Activation{}
			}
			in, out := sizes[k], sizes[k+1]
			base.Layers = append(base.Layers, posterior.Layer{Layer: network.DenseLayer(in, out, a),
				Weight: posterior.NewParams(normals(r, in*out, 1), make([]float64, in*out), posterior.ScaleSD),
				Bias:   posterior.NewParams(normals(r, out, 0.5), make([]float64, out), posterior.ScaleSD)})
		}
		sd := normals(r, sizes[0], 1)
		for j := range sd {
			sd[j] = math.Abs(sd[j])
		}
		post, err := base.WithInputNoise(sd, sd)
		if err != nil {
			t.Fatal(err)
		}
		c := newConcaveNet(post)
		x := normals(r, sizes[0], 1)
		at := c.at(x, x)
		z := fractions(x)
		for l := range sizes[1 : len(sizes)-1] {
			y, out := mapped(&base.Layers[l], z), sizes[l+1]
			lo, hi, variance, vary := make([]float64, out), make([]float64, out), make([]float64, out), make([]float64, out)
			for u := range lo {
				for _, sign := range []float64{1, -1} {
					f := at.unit(l, u, sign, -1, 0)
					reaches(t, i, at, &f, new(big.Rat).Mul(fraction(sign), y[u]))
				}
				v, _ := y[u].Float64()
				wide := math.Ldexp(1, r.IntN(5)-3)
				lo[u], hi[u] = math.Nextafter(v, -9)-wide*r.Float64(), math.Nextafter(v, 9)+wide*r.Float64()
				variance[u], vary[u] = r.Float64(), r.Float64()/16
			}
			at.addUnits(lo, hi, variance, vary)
			kept, settled = kept+len(at.hidden[l].order), settled+out-len(at.hidden[l].order)
			for u := range y {
				if y[u].Sign() < 0 {
					y[u] = new(big.Rat)
				}
			}
			z = y
		}
		for _, slope := range concaveSlopes {
			s, value := normals(r, len(z), 1), fraction(0.25)
			for j := range s {
				value.Add(value, new(big.Rat).Mul(fraction(s[j]), z[j]))
			}
			f := at.below(len(sizes)-3, s, 0.25, slope, r.IntN(4))
			reaches(t, i, at, &f, value)
			g := f.vertex(r)
			if len(at.hidden) == 1 {
				g = at.hidden[0].phases(r, s, slope)
			}
			steepest(t, i, g, at, &f, sd)
		}
	}
	if kept == 0 || settled == 0 {
		t.Errorf("%d units are kept, %d settled", kept, settled)
	}
}

func reaches(t *testing.T, i int, at *concaveItem, f *concave, value *big.Rat) {
	if mean := at.down(f.mean); !(mean >= -math.MaxFloat64) || fraction(mean).Cmp(value) > 0 {
		t.Errorf("case %d: the mean %v is above %v", i, mean, value.FloatString(20))
	}
}

// steepest compares the variance that noise of the inputs brings to a gradient at a vertex with what bounds it.
func steepest(t *testing.T, i int, g []*big.Rat, at *concaveItem, f *concave, sd []float64) {
	sum, w := new(big.Rat), &at.layers[0].Weight
	for k, s := range sd {
		of := new(big.Rat)
		for j := range g {
			of.Add(of, new(big.Rat).Mul(g[j], fraction(w.Mean[k*len(g)+j])))
		}
		of.Mul(of, fraction(s))
		sum.Add(sum, of.Mul(of, of))
	}
	if v := at.noiseOf(f); fraction(v).Cmp(sum) < 0 {
		t.Errorf("case %d: variance %v, a gradient has %v", i, v, sum.FloatString(20))
	}
}

// phases are the gradient of a row over one hidden layer at some noise: of what is kept, with any phases.
func (u *concaveUnits) phases(r *rand.Rand, s []float64, slope func(share float64) float64) []*big.Rat {
	g := fractions(s)
	for j, x := range s {
		lo, hi := u.lo[j], u.hi[j]
		switch {
		case lo >= 0:
		case hi <= 0:
			g[j].SetInt64(0)
		case x > 0:
			g[j] = fraction(float64(x * slope(hi/(hi-lo))))
		case slices.Contains(u.order, j):
			g[j].Mul(g[j], fraction(float64(r.IntN(2))))
		default:
			g[j] = fraction(float64(x * (hi / (hi - lo))))
		}
	}
	return g
}

// vertex is one of those between which gradients are.
func (f *concave) vertex(r *rand.Rand) []*big.Rat {
	g := fractions(f.centre)
	side := func() *big.Rat { return fraction(float64(2*r.IntN(2) - 1)) }
	for _, gen := range f.gens {
		s := side()
		for j, x := range gen {
			g[j].Add(g[j], new(big.Rat).Mul(s, fraction(x)))
		}
	}
	for j, x := range f.axis {
		g[j].Add(g[j], new(big.Rat).Mul(side(), fraction(x)))
	}
	return g
}

func mapped(l *posterior.Layer, z []*big.Rat) []*big.Rat {
	y := fractions(l.Bias.Mean)
	for j := range z {
		for o := range y {
			y[o].Add(y[o], new(big.Rat).Mul(z[j], fraction(l.Weight.Mean[j*len(y)+o])))
		}
	}
	return y
}

func fraction(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

func fractions(list []float64) (all []*big.Rat) {
	for _, x := range list {
		all = append(all, fraction(x))
	}
	return all
}

func normals(r *rand.Rand, n int, sd float64) []float64 {
	list := make([]float64, n)
	for j := range list {
		list[j] = float64(float32(sd * r.NormFloat64()))
	}
	return list
}
