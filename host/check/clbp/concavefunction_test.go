package clbp

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/arith"
	"psafe/host/check/law"
	"psafe/host/check/relax"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testscale"
)

// function is what row bounds, at noise of the inputs, in the first pre-activations, and of each hidden layer.
func (t *concaves) function(l int, s []float64, c float64, slope func(share float64) float64, keep int, first []float64, noise [][]float64) float64 {
	for ; l >= 0; l-- {
		u, kept, to := &t.hidden[l], map[int]bool{}, make([]float64, len(s))
		for _, i := range u.order {
			if s[i] < -leastKept && (l == 0 || len(kept) < keep) {
				kept[i] = true
			}
		}
		for i, x := range s {
			switch lo, hi := u.pre.Lo[i], u.pre.Hi[i]; {
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
		c += x * (t.first.Lo[i] + first[i])
	}
	return c
}

func (t *concaves) rowBelow(l int, s []float64, c float64) ([]float64, float64) {
	k := &t.layers[l+1]
	to := make([]float64, k.In)
	for i, x := range s {
		c += x * k.B.Lo[i]
		for j := range to {
			to[j] += x * k.W.Lo[k.Number(j, i)]
		}
	}
	return to, c
}

// above is the convex function above unit i of hidden layer l.
func (t *concaves) above(l, i int, first []float64, noise [][]float64) float64 {
	if l == 0 {
		return t.first.Lo[i] + first[i] + noise[0][i]
	}
	s, c := t.rowBelow(l, unitRow(len(noise[l]), i, -1), 0)
	return noise[l][i] - t.function(l-1, s, c, lowerSlopes[0], len(s), first, noise)
}

func unitRow(n, i int, sign float64) []float64 {
	row := make([]float64, n)
	row[i] = sign
	return row
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

// TestConcaveFunction evaluates the functions at drawn noise: they are below the row wherever hidden bounds hold, their
// mean is no less than what is said of it, and their gradients have no more variance, and vary no more, than is said of
// each level.
func TestConcaveFunction(t *testing.T) {
	r := rand.New(rand.NewPCG(48, 9))
	inside := 0
	for i := range testscale.Cases(t, 120) {
		sizes := [][]int{{2, 4, 1}, {2, 4, 4, 1}, {1, 3, 3, 3, 1}}[i%3]
		sd, x := make([]float64, sizes[0]), make([]float64, sizes[0])
		for j := range sd {
			sd[j], x[j] = 0.125+r.Float64(), r.NormFloat64()
		}
		post, err := checktest.RandomAbout(r, 0, 0.03, sizes...).WithInputNoise(sd, sd)
		if err != nil {
			t.Fatal(err)
		}
		n, err := New(post, false)
		if err != nil {
			t.Fatal(err)
		}
		at := &concaves{shifted: n.shifted, layers: n.Mean, first: n.Mean[1].Affine(relax.Span{Lo: x, Hi: x})}
		hidden, inputs := len(sizes)-2, &n.Mean[1]
		own, noises := make([][]float64, hidden), make([][]law.Noise, hidden) // deviations with what varies, and those without
		for l := range own {
			for range sizes[l+1] {
				s, vary := 0.1+r.Float64()/2, r.Float64()/16
				own[l], noises[l] = append(own[l], s), append(noises[l], law.Noise{Mean: vary, Variance: math.Pow(s-vary*math.Sqrt(math.Pi/2), 2)})
			}
		}
		ofInputs := func(g []float64) (v float64) {
			for j, s := range sd {
				of := 0.0
				for u, x := range g {
					of += s * x * inputs.W.Lo[inputs.Number(j, u)]
				}
				v += of * of
			}
			return v
		}
		network := func(first []float64, noise [][]float64) (all [][]float64) {
			z := at.first.Lo
			for l := range hidden + 1 {
				k := &n.Mean[l+1]
				y := make([]float64, k.Out)
				for o := range y {
					if y[o] = k.B.Lo[o]; l == 0 {
						y[o] = z[o] + first[o]
					}
					for j := range z {
						if l > 0 {
							y[o] += max(0, z[j]) * k.W.Lo[k.Number(j, o)]
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
					first[o] += xi * inputs.W.Lo[inputs.Number(j, o)]
				}
			}
			for l := range noise {
				for u := range sizes[l+1] {
					noise[l] = append(noise[l], own[l][u]*r.NormFloat64())
				}
			}
			return first, noise
		}
		pre := make([]relax.Span, hidden)
		for d := range 50 {
			for l, y := range network(draw())[:hidden] {
				if d == 0 {
					pre[l].Lo, pre[l].Hi = append(pre[l].Lo, y...), append(pre[l].Hi, y...)
				}
				for u, v := range y {
					pre[l].Lo[u], pre[l].Hi[u] = min(pre[l].Lo[u], v-0.25), max(pre[l].Hi[u], v+0.25)
				}
			}
		}
		for l := range own {
			for u := range own[l] {
				if l == 0 {
					continue // bounded otherwise
				}
				sign, q := float64(2*r.IntN(2)-1), 2.0
				s, c := at.rowBelow(l, unitRow(len(own[l]), u, sign), 0)
				first, noise := draw()
				value := func() float64 { return at.function(l-1, s, c, lowerSlopes[0], len(s), first, noise) }
				b := at.unit(l, u, sign)
				least, v := b.mean.Lo()-noises[l][u].Mean, own[l][u]*own[l][u]+ofInputs(slopesOf(first, value))
				for below := range l {
					for j, x := range slopesOf(noise[below], value) {
						v, least = v+x*x*own[below][j]*own[below][j], least-math.Abs(x)*noises[below][j].Mean
					}
				}
				if has, most := at.unitLo(l, u, sign, q, noises[l][u]), least-q*math.Sqrt(v); has > most+1e-6 {
					t.Errorf("case %d: unit %d of layer %d is at least %v, by a gradient %v", i, u, l, has, most)
				}
			}
			at.addHidden(pre[l], noises[l])
		}
		last, slope, keep := &n.Mean[hidden+1], lowerSlopes[r.IntN(len(lowerSlopes))], r.IntN(5)
		s, c := make([]float64, last.In), last.B.Lo[0]
		for j := range s {
			s[j] = last.W.Lo[last.Number(j, 0)]
		}
		var constant arith.Sum
		constant.Plus(c)
		b := at.row(hidden-1, s, constant, slope, keep)
		mean, said, total, sum, square := b.mean.Lo(), at.levels(b), at.varianceUp(b, nil), 0.0, 0.0
		const draws = 1000
		for range draws {
			first, noise := draw()
			value := at.function(hidden-1, s, c, slope, keep, first, noise)
			sum, square = sum+value, square+value*value
			all, holds := network(first, noise), true
			for l := range own {
				for u, v := range all[l] {
					holds = holds && pre[l].Lo[u] <= v && v <= pre[l].Hi[u]
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
			value := func() float64 { return at.function(hidden-1, s, c, slope, keep, first, noise) }
			least := mean
			if v := ofInputs(slopesOf(first, value)); v > said[0]*(1+1e-6)+1e-8 {
				t.Errorf("case %d: noise of inputs has a variance of %v, a gradient has %v", i, said[0], v)
			}
			for l := range noise {
				v := 0.0
				for u, x := range slopesOf(noise[l], value) {
					v += x * x * own[l][u] * own[l][u]
					least -= math.Abs(x) * noises[l][u].Mean
				}
				if v > said[l+1]*(1+1e-6)+1e-8 {
					t.Errorf("case %d: layer %d has a variance of %v, a gradient has %v", i, l, said[l+1], v)
				}
			}
			if has := at.lo(b); has > least+1e-7 {
				t.Errorf("case %d: %v with what varies, less slopes of a gradient %v", i, has, least)
			}
		}
	}
	if inside == 0 {
		t.Error("hidden bounds never hold")
	}
}
