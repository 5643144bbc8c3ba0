package bound

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/internal/testscale"
)

// function is what below bounds, at noise of the inputs, in the first pre-activations, and of each hidden layer.
func (t *concaveItem) function(l int, s []float64, c float64, slope func(share float64) float64, keep int, first []float64, noise [][]float64) float64 {
	for ; l >= 0; l-- {
		u, kept, to := &t.hidden[l], map[int]bool{}, make([]float64, len(s))
		for _, i := range u.order {
			if s[i] < -leastKept && (l == 0 || len(kept) < keep) {
				kept[i] = true
			}
		}
		for i, x := range s {
			switch lo, hi := u.lo[i], u.hi[i]; {
			case hi <= 0:
			case lo >= 0:
				to[i] = x
			case kept[i]:
				c += x * max(0, t.above(l, i, first, noise))
			case x > 0:
				to[i] = x * slope(hi/(hi-lo))
			default: // the chord
				to[i] = x * hi / (hi - lo)
				c -= to[i] * lo
			}
			c += to[i] * noise[l][i]
		}
		if s = to; l > 0 {
			s, c = t.rowBelow(l, to, c)
		}
	}
	for i, x := range s {
		c += x * (t.middle[i] + first[i])
	}
	return c
}

func (t *concaveItem) rowBelow(l int, s []float64, c float64) ([]float64, float64) {
	k := &t.layers[l]
	to := make([]float64, k.Inputs())
	for i, x := range s {
		c += x * k.Bias.Mean[i]
		for j := range to {
			to[j] += x * k.Weight.Mean[j*len(s)+i]
		}
	}
	return to, c
}

// above is the convex function above unit i of hidden layer l.
func (t *concaveItem) above(l, i int, first []float64, noise [][]float64) float64 {
	if l == 0 {
		return t.middle[i] + first[i] + noise[0][i]
	}
	s, c := t.rowBelow(l, unitRow(len(noise[l]), i, -1), 0)
	return noise[l][i] - t.function(l-1, s, c, concaveSlopes[0], len(s), first, noise)
}

// slopesOf are the slopes of a function in each number of a list.
func slopesOf(list []float64, value func() float64) []float64 {
	const step = 1e-6
	g, before := make([]float64, len(list)), value()
	for u, v := range list {
		list[u] = v + step
		g[u] = (value() - before) / step
		list[u] = v
	}
	return g
}

// ofInputs is the variance that noise of the inputs brings to slopes of the first pre-activations.
func (t *concaveItem) ofInputs(g, sd []float64) (v float64) {
	for j, s := range sd {
		of := 0.0
		for u, x := range g {
			of += s * x * t.layers[0].Weight.Mean[j*len(g)+u]
		}
		v += of * of
	}
	return v
}

// TestConcaveFunction evaluates the functions at drawn noise: they are below the row wherever hidden bounds hold, their
// mean is no less than what is said of it, and their gradients have no more variance, and vary no more, than is said of
// each level.
func TestConcaveFunction(t *testing.T) {
	r := rand.New(rand.NewPCG(48, 7))
	inside := 0
	for i := range testscale.Cases(t, 120) {
		sizes := [][]int{{2, 4, 1}, {2, 4, 4, 1}, {1, 3, 3, 3, 1}}[i%3]
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
		sd := make([]float64, sizes[0])
		for j := range sd {
			sd[j] = 0.125 + r.Float64()
		}
		post, err := base.WithInputNoise(sd, sd)
		if err != nil {
			t.Fatal(err)
		}
		x, hidden := normals(r, sizes[0], 1), len(sizes)-2
		at := newConcaveNet(post).at(x, x)
		own := make([][]float64, hidden)
		network := func(first []float64, noise [][]float64) (all [][]float64) {
			z := at.middle
			for l, k := range at.layers {
				y := make([]float64, k.Outputs())
				for o := range y {
					if y[o] = k.Bias.Mean[o]; l == 0 {
						y[o] = z[o] + first[o]
					}
					for j := range z {
						if l > 0 {
							y[o] += max(0, z[j]) * k.Weight.Mean[j*len(y)+o]
						}
					}
					if l < hidden {
						y[o] += noise[l][o]
					}
				}
				z, all = y, append(all, y)
			}
			return all
		}
		draw := func() (first []float64, noise [][]float64) {
			first, noise = make([]float64, sizes[1]), make([][]float64, hidden)
			for j, s := range sd {
				xi := s * r.NormFloat64()
				for o := range first {
					first[o] += xi * at.layers[0].Weight.Mean[j*len(first)+o]
				}
			}
			for l := range noise {
				for u := range sizes[l+1] {
					noise[l] = append(noise[l], own[l][u]*r.NormFloat64())
				}
			}
			return first, noise
		}
		for l := range own {
			own[l] = make([]float64, sizes[l+1])
			for u := range own[l] {
				own[l][u] = r.Float64() / 2
			}
		}
		lo, hi := make([][]float64, hidden), make([][]float64, hidden)
		for d := range 50 {
			for l, y := range network(draw())[:hidden] {
				if d == 0 {
					lo[l], hi[l] = append(lo[l], y...), append(hi[l], y...)
				}
				for u, v := range y {
					lo[l][u], hi[l][u] = min(lo[l][u], v-0.25), max(hi[l][u], v+0.25)
				}
			}
		}
		vary := normals(r, 4, 1.0/16)
		for l := range own {
			variance := make([]float64, sizes[l+1])
			for u, s := range own[l] {
				variance[u], vary[u] = s*s, math.Abs(vary[u])
			}
			for u := range own[l] {
				sign := float64(2*r.IntN(2) - 1)
				if l == 0 {
					continue // bounded otherwise
				}
				f, q := at.unit(l, u, sign, -2, variance[u]), 2.0
				s, c := at.rowBelow(l, unitRow(len(variance), u, sign), 0)
				first, noise := draw()
				value := func() float64 { return at.function(l-1, s, c, concaveSlopes[0], len(s), first, noise) }
				least, v := at.down(f.mean)-vary[u], variance[u]+at.ofInputs(slopesOf(first, value), sd)
				for below := range l {
					for j, x := range slopesOf(noise[below], value) {
						v, least = v+x*x*own[below][j]*own[below][j], least-math.Abs(x)*vary[j]
					}
				}
				if has, most := at.unitLo(l, u, sign, q, variance[u], vary[u]), least-q*math.Sqrt(v); has > most+1e-6 {
					t.Errorf("case %d: unit %d of layer %d is at least %v, by a gradient %v", i, u, l, has, most)
				}
			}
			at.addUnits(lo[l], hi[l], variance, vary[:len(variance)])
		}
		k, slope, keep := &at.layers[hidden], concaveSlopes[r.IntN(len(concaveSlopes))], r.IntN(5)
		s, c := k.Weight.Mean, k.Bias.Mean[0]
		f := at.below(hidden-1, s, c, slope, keep)
		mean, sum, square := at.down(f.mean), 0.0, 0.0
		var said []float64
		total := at.variance(&f, func(v float64) { said = append(said, v) })
		const draws = 1000
		for range draws {
			first, noise := draw()
			value := at.function(hidden-1, s, c, slope, keep, first, noise)
			sum, square = sum+value, square+value*value
			all, holds := network(first, noise), true
			for l := range own {
				for u, v := range all[l] {
					holds = holds && lo[l][u] <= v && v <= hi[l][u]
				}
			}
			if !holds {
				continue
			}
			if inside++; value > all[hidden][0]+1e-9 {
				t.Fatalf("case %d: the function is %v, the row %v", i, value, all[hidden][0])
			}
		}
		sum, square = sum/draws, square/draws
		if off := 5 * math.Sqrt((square-sum*sum)/draws); mean > sum+off+1e-9 {
			t.Errorf("case %d: a mean of %v, that of draws is %v, 5 deviations are %v", i, mean, sum, off)
		}
		if square-sum*sum > 1.3*total+1e-9 {
			t.Errorf("case %d: a variance of %v, that of draws is %v", i, total, square-sum*sum)
		}
		for range 30 {
			first, noise := draw()
			slopes := func(list []float64) []float64 {
				return slopesOf(list, func() float64 { return at.function(hidden-1, s, c, slope, keep, first, noise) })
			}
			g, least := slopes(first), mean
			v := at.ofInputs(g, sd)
			if v > said[0]*(1+1e-6)+1e-8 {
				t.Errorf("case %d: noise of inputs has a variance of %v, a gradient has %v", i, said[0], v)
			}
			for l := range noise {
				v := 0.0
				for u, x := range slopes(noise[l]) {
					v += x * x * own[l][u] * own[l][u]
					least -= math.Abs(x) * vary[u]
				}
				if v > said[l+1]*(1+1e-6)+1e-8 {
					t.Errorf("case %d: layer %d has a variance of %v, a gradient has %v", i, l, said[l+1], v)
				}
			}
			if has := at.lo(&f); has > least+1e-7 {
				t.Errorf("case %d: %v with what varies, less slopes of a gradient %v", i, has, least)
			}
		}
	}
	if inside == 0 {
		t.Error("hidden bounds never hold")
	}
}

// TestConcaveScales: what squares do not reach is not lost, of noise of the inputs and of layers.
func TestConcaveScales(t *testing.T) {
	certain := func(list ...float64) posterior.Params {
		return posterior.NewParams(list, make([]float64, len(list)), posterior.ScaleSD)
	}
	for _, e := range []int{0, 300, 500, 540} {
		base := &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{
			{Layer: network.DenseLayer(1, 1, network.Activation{Kind: network.ReLU}), Weight: certain(math.Ldexp(1, e)), Bias: certain(1)},
			{Layer: network.DenseLayer(1, 1, network.Activation{}), Weight: certain(1), Bias: certain(0)}}}
		sd := []float64{math.Ldexp(1, -e)}
		post, err := base.WithInputNoise(sd, sd)
		if err != nil {
			t.Fatal(err)
		}
		at := newConcaveNet(post).at([]float64{0}, []float64{0})
		at.addUnits([]float64{-4}, []float64{6}, []float64{0}, []float64{0})
		f := at.below(0, []float64{-1}, 2, concaveSlopes[0], 1)
		if mean, v := at.down(f.mean), at.variance(&f, nil); mean > 0.9166845294122178 || v < 1 || e <= 500 && v > 1+1e-9 {
			t.Errorf("2 - max(1 + n, 0) with weights of 2^%d: mean %v, variance %v", e, mean, v)
		}
	}
	if v, least := wholeVariance(1, 0.5), 2.646013219; v < least || v > least+1e-6 { // (1 + 0.5 sqrt(pi/2))^2
		t.Errorf("a deviation of 1 less |D| 0.5 sqrt(pi/2) has the variance %v, not %v", v, least)
	}
	at := &concaveItem{concaveNet: &concaveNet{}, hidden: []concaveUnits{{variance: []float64{0x1p1000}}}}
	f := concave{most: [][]float64{{0x1p-540}}}
	if v := at.variance(&f, nil); v < 0x1p-80 {
		t.Errorf("a variance of 2^1000 times the square of 2^-540 is %v", v)
	}
}

// TestConcaveBoxes: the first pre-activations over a box are within middle and radius, which are no wider than roundings
// need; also of points that are next to 0, with weights that are huge.
func TestConcaveBoxes(t *testing.T) {
	r := rand.New(rand.NewPCG(48, 8))
	for i := range testscale.Cases(t, 200) {
		in := 1 + i%3
		w, b, lo, hi := normals(r, in, 1), normals(r, 1, 1), normals(r, in, 1), make([]float64, in)
		for j := range lo {
			hi[j] = lo[j] + []float64{0, 0.5, 3}[r.IntN(3)]*r.Float64()
			if i%10 == 9 {
				w[j], b[0], lo[j], hi[j] = 0x1p1000*w[j], 0, 0x1p-1074, 0x1p-1074*float64(1+r.IntN(3))
			}
		}
		zero := func(n int) []float64 { return make([]float64, n) }
		base := &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{
			{Layer: network.DenseLayer(in, 1, network.Activation{Kind: network.ReLU}), Weight: posterior.NewParams(w, zero(in), posterior.ScaleSD), Bias: posterior.NewParams(b, zero(1), posterior.ScaleSD)},
			{Layer: network.DenseLayer(1, 1, network.Activation{}), Weight: posterior.NewParams(zero(1), zero(1), posterior.ScaleSD), Bias: posterior.NewParams(zero(1), zero(1), posterior.ScaleSD)}}}
		post, err := base.WithInputNoise(zero(in), zero(in))
		if err != nil {
			t.Fatal(err)
		}
		at := newConcaveNet(post).at(lo, hi)
		least, most, size := fraction(b[0]), fraction(b[0]), math.Abs(b[0])
		for j, x := range w {
			a, c := new(big.Rat).Mul(fraction(x), fraction(lo[j])), new(big.Rat).Mul(fraction(x), fraction(hi[j]))
			if a.Cmp(c) > 0 {
				a, c = c, a
			}
			least.Add(least, a)
			most.Add(most, c)
			size += math.Abs(x) * max(math.Abs(lo[j]), math.Abs(hi[j]))
		}
		from := new(big.Rat).Sub(fraction(at.middle[0]), fraction(at.radius[0]))
		to := new(big.Rat).Add(fraction(at.middle[0]), fraction(at.radius[0]))
		if from.Cmp(least) > 0 || to.Cmp(most) < 0 {
			t.Errorf("case %d: %v +- %v is not all of [%v, %v]", i, at.middle, at.radius, least.FloatString(20), most.FloatString(20))
		}
		if wide, _ := new(big.Rat).Sub(most, least).Float64(); i%10 != 9 && at.radius[0] > wide/2*(1+1e-9)+1e-9*size {
			t.Errorf("case %d: a radius of %v, half the width is %v", i, at.radius, wide/2)
		}
	}
}
