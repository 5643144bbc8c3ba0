package check

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// TestCovaried: of chains with covariances in any layers, of SWAG and of one covariance of all layers, what certify claims is proved again,
// and as many drawn networks as can be are within the bounds of both.
func TestCovaried(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 40))
	lower, upper, draws := 0, 0, 400
	if testscale.Deep(t) {
		draws = 10000
	}
	for i := range testscale.Costly(t, 2000/testscale.By(t, 2)) {
		sizes := [][]int{{2, 4, 3}, {2, 5, 4, 3}, {1, 6, 2}, {2, 3, 3}}[rng.IntN(4)]
		if i%40 == 8 {
			sizes = []int{mostFormedInputs + 2, 3, 2} // by factors
		}
		post := randomCovaried(rng, i%3, i%len(activations), []float64{0.03, 0.1, 0.2}[rng.IntN(3)], sizes...)
		task := randomTask(rng, post, 0)
		p := []bound.Precision{bound.Float32, bound.Float64}[i/2%2]
		r := certified(t, p, post, prove.Config{Method: prove.CLBP, Cells: 1 + i%3*4}, []property.Task{task})[0]
		low, up := againstDraws(t, i, post, &task, r, draws)
		if low {
			lower++
		}
		if up {
			upper++
		}
	}
	t.Logf("%d lower bounds, %d upper", lower, upper)
	if !testing.Short() && (lower == 0 || upper == 0) {
		t.Error("nothing was tested")
	}
}

// randomCovaried is a chain whose weights depend on each other: in layers, by SWAG or in all layers.
func randomCovaried(rng *rand.Rand, kind, act int, sd float64, sizes ...int) *posterior.Posterior {
	switch kind {
	case 0:
		return sumtest.RandomCorrelated(rng, activations[act], sd, sizes...)
	case 1:
		return sumtest.RandomSWAG(rng, activations[act], sd, sizes...)
	}
	return sumtest.RandomJoint(rng, activations[act], sd, sizes...)
}

// TestCovariedBox: what is said of a row over a box is at least what the law says, in rational numbers, at
// corners of it, whether the covariance of the row is made or stays in factors; and each unit's.
func TestCovariedBox(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 43))
	rat := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	for i := range testscale.Cases(t, 300) {
		in, out := 1+rng.IntN(3), 1+rng.IntN(2)
		c := sumtest.RandomCovariance(rng, math.Exp2(float64(rng.IntN(12)-8)), in, out)
		if c == nil {
			continue
		}
		l := sumtest.RandomNoisy(rng, activations[0], 0.1, in, out).Layers[0]
		v := newCovaried(&l, c, []int{0, mostFormedInputs}[i%2], nil)
		width := float64(i / 2 % 2)
		z, radius := newSpan(in), make([]float64, in)
		for j := range in {
			z.lo[j] = rng.NormFloat64()
			z.hi[j], radius[j] = z.lo[j]+width*rng.Float64(), width*rng.Float64()
		}
		row := make([]float64, out)
		for o := range row {
			row[o] = rng.NormFloat64()
		}
		got := v.ofRow(row, row, &reach{radius: radius}, z)
		// least is the variance of the row at z, and of coefficient j alone with only >= 0.
		least := func(p []float64, only int) *big.Rat {
			columns := map[int]*big.Rat{}
			for o := range out {
				for j := range in + 1 {
					if only >= 0 && j != only {
						continue
					}
					each := func(k int, w *big.Rat) {
						if columns[k] == nil {
							columns[k] = new(big.Rat)
						}
						w.Mul(w, rat(row[o])).Mul(w, rat(p[j]))
						columns[k].Add(columns[k], w)
					}
					if c.Full() {
						for k := range c.Rank {
							each(k, rat(c.Factor[(o*(in+1)+j)*c.Rank+k]))
						}
						continue
					}
					for e, sd := range c.Sd {
						w := rat(sd)
						each(e, w.Mul(w, rat(c.QG[o*out+e/(in+1)])).Mul(w, rat(c.QA[j*(in+1)+e%(in+1)])))
					}
				}
			}
			sum := new(big.Rat)
			for _, x := range columns {
				sum.Add(sum, x.Mul(x, x))
			}
			return sum
		}
		l1, ones := 0.0, make([]float64, in+1)
		for j := range ones {
			ones[j] = 1
		}
		for j := range in {
			x, _ := least(ones, j).Float64()
			l1 += math.Sqrt(x) * radius[j]
		}
		if want := math.Sqrt(2/math.Pi) * l1; got.mean < want*(1-1e-12) || got.mean > want*(1+1e-9)+1e-90 {
			t.Fatalf("%d %v: mean %v, want %v", i, c, got.mean, want)
		}
		for range 6 {
			p := append(make([]float64, in), 1)
			for j := range in {
				p[j] = []float64{z.lo[j], z.hi[j]}[rng.IntN(2)]
			}
			want := least(p, -1)
			x, _ := want.Float64()
			if rat(got.variance).Cmp(want) < 0 || width == 0 && got.variance > x*(1+1e-9)+1e-90 {
				t.Fatalf("%d %v: variance %v, at a point %v", i, c, got.variance, x)
			}
		}
	}
	// Eigenvectors that are not orthogonal.
	if most := largestEigenvalueUp([]float64{1, 1, 1, 1}, 2); most < 4 || most > 4.001 {
		t.Errorf("largest eigenvalue %v, want 4", most)
	}
}

// TestCommon: what layers have in common, those of SWAG or of a joint covariance, is in a row that meets two of them at least what it is at
// corners of the boxes, in rational numbers, the layers' parts added before they are squared; at a point it
// is that. Its mean is that of marginals.
func TestCommon(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 45))
	rat := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	for i := range testscale.Cases(t, 300) {
		sizes := []int{1 + rng.IntN(3), 1 + rng.IntN(3), 1 + rng.IntN(2)}
		post := randomCovaried(rng, 1+i/2%2, 0, math.Exp2(float64(rng.IntN(12)-8)), sizes...)
		rank, divisor := sumtest.SharedRank(post)
		g := newCommon(post).start()
		width, l1 := float64(i%2), 0.0
		var rows, corner [][]float64
		for k := range 2 {
			z, row := newSpan(sizes[k]), make([]float64, sizes[k+1])
			for j := range z.lo {
				z.lo[j] = rng.NormFloat64()
				z.hi[j] = z.lo[j] + width*rng.Float64()
			}
			for o := range row {
				row[o] = rng.NormFloat64()
			}
			g.meet(k, row, row, fedBoxOf(z))
			p := make([]float64, sizes[k]+1)
			for j := range p {
				square := 0.0
				if p[j] = 1; j == sizes[k] {
					continue
				}
				p[j] = []float64{z.lo[j], z.hi[j]}[rng.IntN(2)]
				for c := range rank {
					x := 0.0
					for o, v := range row {
						x += v * sumtest.SharedEntry(post, k, o, j, c)
					}
					square += x * x
				}
				l1 += math.Sqrt(square) * (z.hi[j] - z.lo[j]) / 2
			}
			rows, corner = append(rows, row), append(corner, p)
		}
		want := new(big.Rat)
		for c := range rank {
			x := new(big.Rat)
			for k, row := range rows {
				for o, v := range row {
					for j, at := range corner[k] {
						y := rat(sumtest.SharedEntry(post, k, o, j, c))
						x.Add(x, y.Mul(y, rat(v)).Mul(y, rat(at)))
					}
				}
			}
			want.Add(want, x.Mul(x, x))
		}
		want.Quo(want, rat(divisor))
		got := g.noise()
		x, _ := want.Float64()
		if rat(got.variance).Cmp(want) < 0 || width == 0 && got.variance > x*(1+1e-9)+1e-90 {
			t.Fatalf("%d: variance %v, at a point %v", i, got.variance, x)
		}
		if mean := l1 * math.Sqrt(2/math.Pi/divisor); got.mean < mean*(1-1e-12) || got.mean > mean*(1+1e-9)+1e-90 {
			t.Fatalf("%d: mean %v, want %v", i, got.mean, mean)
		}
	}
}
