package check

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/internal/testscale"
)

// TestLinesUp: at every corner of what lines allow the form is at most what is said, in rational numbers, and that
// is at most the square of the sum of what each direction has, and near the form where directions are orthogonal.
func TestLinesUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 95))
	exact := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	for i := range testscale.Cases(t, 100) {
		n, in := 2+rng.IntN(2), 1+rng.IntN(2)
		r := topRow{n: n + 1, k: make([]float64, (n+1)*(n+1)), delta: make([]float64, n+1)}
		c, radius, common := chosen{}, make([]float64, in), 8*rng.NormFloat64()
		for a := range n {
			r.delta[a] = rng.Float64() / 8
			for b := range n {
				if r.k[a*(n+1)+b] = common * common; a == b {
					r.k[a*(n+1)+b] += rng.Float64()
				}
			}
			c.half, c.slope = append(c.half, rng.Float64()+0x1p-9), append(c.slope, make([]float64, in))
			for k := range in {
				c.slope[a][k], radius[k] = rng.NormFloat64(), float64(rng.IntN(3))/2
			}
		}
		form := func(sign func(at int) float64) float64 {
			sum := new(big.Rat)
			d := func(a int) *big.Rat {
				x := exact(c.half[a] * sign(in+a))
				for k := range in {
					x.Add(x, new(big.Rat).Mul(exact(c.slope[a][k]), exact(radius[k]*sign(k))))
				}
				return x
			}
			for a := range n {
				for b := range n {
					k := exact(r.k[a*(n+1)+b])
					if a == b {
						k.Add(k, exact(r.delta[a]))
					}
					sum.Add(sum, k.Mul(k, new(big.Rat).Mul(d(a), d(b))))
				}
			}
			v, _ := sum.Float64()
			return math.Nextafter(v, math.Inf(1))
		}
		got, lengths := r.linesUp(&c, radius), 0.0
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
	r := topRow{n: 3, k: []float64{1, 0, 0, 0, 1, 0, 0, 0, 0}, delta: make([]float64, 3)}
	c := chosen{half: []float64{1, 1}, slope: [][]float64{{0}, {0}}}
	if got := r.linesUp(&c, []float64{1}); got < 2 || got > 2.01 {
		t.Errorf("two orthogonal gaps of length 1: %v", got)
	}
}
