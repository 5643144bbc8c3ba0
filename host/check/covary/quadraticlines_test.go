package covary

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/host/check/relax"
	"psafe/internal/testscale"
)

// TestLinesUp: at every corner of what lines allow the form is at most what is said, in rational numbers, and that
// is at most the square of the sum of what each direction has, and near the form where directions are orthogonal.
func TestLinesUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 95))
	exact := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	for i := range testscale.Cases(t, 100) {
		n, in := 2+rng.IntN(2), 1+rng.IntN(2)
		r := TopRow{N: n + 1, K: make([]float64, (n+1)*(n+1)), Delta: make([]float64, n+1)}
		c, radius, common := relax.Chosen{}, make([]float64, in), 8*rng.NormFloat64()
		for a := range n {
			r.Delta[a] = rng.Float64() / 8
			for b := range n {
				if r.K[a*(n+1)+b] = common * common; a == b {
					r.K[a*(n+1)+b] += rng.Float64()
				}
			}
			c.Half, c.Slope = append(c.Half, rng.Float64()+0x1p-9), append(c.Slope, make([]float64, in))
			for k := range in {
				c.Slope[a][k], radius[k] = rng.NormFloat64(), float64(rng.IntN(3))/2
			}
		}
		form := func(sign func(at int) float64) float64 {
			sum := new(big.Rat)
			d := func(a int) *big.Rat {
				x := exact(c.Half[a] * sign(in+a))
				for k := range in {
					x.Add(x, new(big.Rat).Mul(exact(c.Slope[a][k]), exact(radius[k]*sign(k))))
				}
				return x
			}
			for a := range n {
				for b := range n {
					k := exact(r.K[a*(n+1)+b])
					if a == b {
						k.Add(k, exact(r.Delta[a]))
					}
					sum.Add(sum, k.Mul(k, new(big.Rat).Mul(d(a), d(b))))
				}
			}
			v, _ := sum.Float64()
			return math.Nextafter(v, math.Inf(1))
		}
		got, lengths := r.LinesUp(&c, radius), 0.0
		for corner := range 1 << (in + n) {
			if most := form(func(at int) float64 { return float64(1 - 2*(corner>>at&1)) }); most > got {
				t.Fatalf("%d: %v of the form, it is %v", i, got, most)
			}
		}
		for only := range in + n {
			lengths += math.Sqrt(max(0, form(func(at int) float64 { return map[bool]float64{true: 1}[at == only] })))
		}
		if got > lengths*lengths*1.01 {
			t.Fatalf("%d: %v of the form, the sum of lengths is %v", i, got, lengths)
		}
	}
	r := TopRow{N: 3, K: []float64{1, 0, 0, 0, 1, 0, 0, 0, 0}, Delta: make([]float64, 3)}
	c := relax.Chosen{Half: []float64{1, 1}, Slope: [][]float64{{0}, {0}}}
	if got := r.LinesUp(&c, []float64{1}); got < 2 || got > 2.01 {
		t.Errorf("two orthogonal gaps of length 1: %v", got)
	}
}
