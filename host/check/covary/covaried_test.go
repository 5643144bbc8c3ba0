package covary

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/check/relax"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

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
		l := sumtest.RandomNoisy(rng, checktest.Activations[0], 0.1, in, out).Layers[0]
		v := NewCovaried(&l, c, []int{0, MostFormedInputs}[i%2], nil)
		width := float64(i / 2 % 2)
		z, radius := relax.NewSpan(in), make([]float64, in)
		for j := range in {
			z.Lo[j] = rng.NormFloat64()
			z.Hi[j], radius[j] = z.Lo[j]+width*rng.Float64(), width*rng.Float64()
		}
		row := make([]float64, out)
		for o := range row {
			row[o] = rng.NormFloat64()
		}
		if i%5 > 2 { // out of range of products of three, and beside that next to nothing
			for o := range row {
				row[o] *= 0x1p250
			}
			if i%5 == 4 {
				row[0] *= 0x1p-1200
			}
		}
		got := v.OfRow(row, row, radius, z)
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
							own := k
							if c.Apart {
								own += o * c.Rank
							}
							each(own, rat(c.Factor[(o*(in+1)+j)*c.Rank+k]))
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
		if want := math.Sqrt(2/math.Pi) * l1; got.Mean < want*(1-1e-12) || got.Mean > want*(1+1e-9)+1e-90 {
			t.Fatalf("%d %v: mean %v, want %v", i, c, got.Mean, want)
		}
		for range 6 {
			p := append(make([]float64, in), 1)
			for j := range in {
				p[j] = []float64{z.Lo[j], z.Hi[j]}[rng.IntN(2)]
			}
			want := least(p, -1)
			x, _ := want.Float64()
			if rat(got.Variance).Cmp(want) < 0 || width == 0 && got.Variance > x*(1+1e-9)+1e-90 {
				t.Fatalf("%d %v: variance %v, at a point %v", i, c, got.Variance, x)
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
		post := checktest.RandomCovaried(rng, 1+i/2%2, 0, math.Exp2(float64(rng.IntN(12)-8)), sizes...)
		rank, divisor := sumtest.SharedRank(post)
		g := NewCommon(post).Start()
		width, l1, loose := float64(i%2), 0.0, float64(i/2%3%2) // of boxes, of marginals, of coefficients
		var rows, corner [][]float64
		for k := range 2 {
			z, row := relax.NewSpan(sizes[k]), make([]float64, sizes[k+1])
			for j := range z.Lo {
				z.Lo[j] = rng.NormFloat64()
				z.Hi[j] = z.Lo[j] + width*rng.Float64()
			}
			for o := range row {
				row[o] = rng.NormFloat64()
			}
			lo, hi := slices.Clone(row), slices.Clone(row)
			for o := range row {
				lo[o] -= loose * rng.Float64()
				hi[o] += loose * rng.Float64()
			}
			g.Meet(k, lo, hi, FedBoxOf(z))
			p := make([]float64, sizes[k]+1)
			for j := range p {
				square := 0.0
				if p[j] = 1; j == sizes[k] {
					continue
				}
				p[j] = []float64{z.Lo[j], z.Hi[j]}[rng.IntN(2)]
				for c := range rank {
					x := 0.0
					for o, v := range row {
						x += v * sumtest.SharedEntry(post, k, o, j, c)
					}
					square += x * x
				}
				l1 += math.Sqrt(square) * (z.Hi[j] - z.Lo[j]) / 2
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
		got := g.Noise()
		x, _ := want.Float64()
		if rat(got.Variance).Cmp(want) < 0 || width == 0 && loose == 0 && got.Variance > x*(1+1e-9)+1e-90 {
			t.Fatalf("%d: variance %v, at a point %v", i, got.Variance, x)
		}
		if mean := l1 * math.Sqrt(2/math.Pi/divisor); got.Mean < mean*(1-1e-12) || loose == 0 && got.Mean > mean*(1+1e-9)+1e-90 {
			t.Fatalf("%d: mean %v, want %v", i, got.Mean, mean)
		}
	}
}
