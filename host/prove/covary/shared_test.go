package covary

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// TestShared: the variance of what layers have in common, those of SWAG or of a joint covariance, in a row that meets two of them, is at least
// that at every corner of the boxes in rational numbers, layers together; at a point it is that. Its mean is
// that of the marginals of each layer.
func TestShared(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 44))
	for i := range testscale.Cases(t, 300) {
		sizes := []int{1 + r.IntN(3), 1 + r.IntN(3), 1 + r.IntN(2)}
		random := []func(*rand.Rand, network.Activation, float64, ...int) *posterior.Posterior{sumtest.RandomSWAG, sumtest.RandomJoint}[i/2%2]
		post := random(r, network.Activation{}, math.Exp2(float64(r.IntN(12)-8)), sizes...)
		s, err := NewShared(post)
		if err != nil {
			t.Fatal(err)
		}
		width := float64(i % 2)
		row, rows, feds := s.NewRow(), make([][]float64, 2), make([]bound.Fed, 2)
		l1 := 0.0
		for k := range 2 {
			n := sizes[k]
			z := bound.Fed{Lo: make([]float64, n), Hi: make([]float64, n), Radius: make([]float64, n)}
			for j := range n {
				z.Lo[j] = r.NormFloat64()
				z.Hi[j] = z.Lo[j] + width*r.Float64()
				z.Radius[j] = (z.Hi[j] - z.Lo[j]) / 2
			}
			feds[k] = z
			for range sizes[k+1] {
				rows[k] = append(rows[k], r.NormFloat64())
			}
			row.Add(k, rows[k], rows[k], z)
		}
		rank, divisor := sumtest.SharedRank(post)
		// at is the squared length of the sum over layers of A P z~, of exact numbers; with only >= 0 of that
		// input of layer k alone.
		at := func(p [][]float64, layer, only int) *big.Rat {
			sum := new(big.Rat)
			for c := range rank {
				x := new(big.Rat)
				for k := range 2 {
					for o := range sizes[k+1] {
						for j := range sizes[k] + 1 {
							if only >= 0 && (k != layer || j != only) {
								continue
							}
							w := rat(sumtest.SharedEntry(post, k, o, j, c))
							x.Add(x, w.Mul(w, rat(rows[k][o])).Mul(w, rat(p[k][j])))
						}
					}
				}
				sum.Add(sum, x.Mul(x, x))
			}
			return sum.Quo(sum, rat(divisor))
		}
		mean, variance := row.Noise()
		for k := range 2 {
			ones := [][]float64{{1, 1, 1, 1}, {1, 1, 1, 1}}
			for j := range sizes[k] {
				v, _ := at(ones, k, j).Float64()
				l1 += math.Sqrt(v) * feds[k].Radius[j]
			}
		}
		if want := math.Sqrt(2/math.Pi) * l1; mean < want*(1-1e-12) || mean > want*(1+1e-9)+1e-90 {
			t.Fatalf("%d: mean %v, want %v", i, mean, want)
		}
		corner := func() [][]float64 {
			p := make([][]float64, 2)
			for k := range 2 {
				for j := range sizes[k] {
					p[k] = append(p[k], []float64{feds[k].Lo[j], feds[k].Hi[j]}[r.IntN(2)])
				}
				p[k] = append(p[k], 1)
			}
			return p
		}
		for range 6 {
			want := at(corner(), 0, -1)
			x, _ := want.Float64()
			if !above(variance, want) || width == 0 && variance > x*(1+1e-9)+1e-90 {
				t.Fatalf("%d: variance %v, at a point %v", i, variance, x)
			}
		}
		// A unit alone, and what it varies by.
		k := r.IntN(2)
		o := r.IntN(sizes[k+1])
		own, v, varies := s.Unit(k, o, feds[k])
		for l := range 2 {
			rows[l] = make([]float64, sizes[l+1])
		}
		rows[k][o] = 1
		d := [][]float64{make([]float64, 4), make([]float64, 4)}
		for j, radius := range feds[k].Radius {
			d[k][j] = radius * float64(2*r.IntN(2)-1)
		}
		if !above(v, at(corner(), 0, -1)) || !above(varies, at(d, 0, -1)) || own < 0 || width == 0 && own != 0 {
			t.Fatalf("%d: unit %v %v %v", i, own, v, varies)
		}
	}
}
