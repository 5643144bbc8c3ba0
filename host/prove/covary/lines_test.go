package covary

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/internal/testscale"
)

// randomForm is a Row of n inputs whose K is B B' in float64, with columns of B that cancel each other.
func randomForm(r *rand.Rand, n int) *Row {
	known := &Row{N: n, K: make([]float64, (n+1)*(n+1)), Delta: make([]float64, n+1)}
	b := make([]float64, n*n)
	for e := range b {
		if b[e] = r.NormFloat64(); e%n == 0 {
			b[e] *= 8
		}
	}
	for i := range n {
		known.Delta[i] = r.Float64() * float64(4*r.IntN(2))
		for j := range n {
			for k := range n {
				known.K[i*(n+1)+j] += b[i*n+k] * b[j*n+k]
			}
		}
	}
	return known
}

// TestOverLines: the form is at every corner of what lines allow, in rational numbers, at most what is said; which
// is never above the square of the sum of the columns' lengths, and exact where these are orthogonal.
func TestOverLines(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 93))
	for i := range testscale.Cases(t, 200) {
		n, in := 2+r.IntN(2), 1+r.IntN(3)
		known := randomForm(r, n)
		radius, half, slope := make([]float64, in), make([]float64, n), make([][]float64, n)
		for k := range radius {
			radius[k] = r.Float64() * float64(r.IntN(4))
		}
		for j := range slope {
			half[j] = r.Float64() * float64(r.IntN(3)) / 4
			for range in {
				slope[j] = append(slope[j], r.NormFloat64())
			}
		}
		got, most, lengths := known.OverLinesUp(slope, radius, half), new(big.Rat), 0.0
		form := func(s func(column int) int) *big.Rat {
			d, sum := make([]*big.Rat, n), new(big.Rat)
			for j := range d {
				d[j] = new(big.Rat).Mul(rat(half[j]), rat(float64(s(in+j))))
				for k := range radius {
					x := new(big.Rat).Mul(rat(slope[j][k]), rat(radius[k]))
					d[j].Add(d[j], x.Mul(x, rat(float64(s(k)))))
				}
			}
			for a := range n {
				for b := range n {
					k := rat(known.K[a*(n+1)+b])
					if a == b {
						k.Add(k, rat(known.Delta[a]))
					}
					sum.Add(sum, k.Mul(k, new(big.Rat).Mul(d[a], d[b])))
				}
			}
			return sum
		}
		for corner := range 1 << (in + n) {
			if v := form(func(c int) int { return 1 - 2*(corner>>c&1) }); v.Cmp(most) > 0 {
				most = v
			}
		}
		for c := range in + n {
			v, _ := form(func(at int) int { return map[bool]int{true: 1}[at == c] }).Float64()
			lengths += math.Sqrt(max(0, v))
		}
		if !math.IsInf(got, 1) && (!above(got, most) || got > lengths*lengths*1.02+1e-9) {
			t.Fatalf("%d: %v of the form, its largest value is %v, the sum of lengths %v", i, got, most.FloatString(9), lengths)
		}
		if math.IsInf(got, 1) && most.Sign() > 0 && half[0] != 0 && half[1] != 0 {
			t.Fatalf("%d: nothing is known", i)
		}
	}
	unit := &Row{N: 3, K: make([]float64, 16), Delta: make([]float64, 4)}
	unit.K[0], unit.K[5], unit.K[10] = 1, 1, 1
	if got := unit.OverLinesUp([][]float64{{1, 0}, {1, 0}, {0, 1}}, []float64{1, 1}, []float64{0, 0, 0}); got < 3 || got > 3.5 {
		t.Errorf("two orthogonal columns of lengths sqrt 2 and 1: %v", got)
	}
	if got := unit.OverLinesUp([][]float64{{0}, {0}, {0}}, []float64{1}, []float64{1, 1, 1}); got < 3 || got > 3*1.02 {
		t.Errorf("three orthogonal columns of length 1: %v", got)
	}
}

// TestWeigh: no entry of the product is off by more than is said, in rational numbers, though signs cancel.
func TestWeigh(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 94))
	for i := range testscale.Cases(t, 100) {
		n, columns := 2, 1+r.IntN(4)
		turned, size, exact := make([]float64, n*columns), make([]float64, columns), make([]*big.Rat, n*columns)
		for at := range turned { // x y - z w, which are about the same in the first row
			x, y := r.NormFloat64(), r.NormFloat64()
			z, w := x*(1+float64(r.IntN(3)-1)*0x1p-50), y
			if at >= columns {
				z = 0
			}
			turned[at] = float64(x*y) - float64(z*w)
			exact[at] = new(big.Rat).Sub(new(big.Rat).Mul(rat(x), rat(y)), new(big.Rat).Mul(rat(z), rat(w)))
			size[at%columns] = max(size[at%columns], (math.Abs(x*y)+math.Abs(z*w))*(1+0x1p-50))
		}
		y, lost := weigh(turned, size, n)
		for a := range n {
			for b := range n {
				sum, want := 0.0, new(big.Rat)
				for c := range columns {
					sum += float64(turned[a*columns+c] * turned[b*columns+c])
					x := new(big.Rat).Mul(exact[a*columns+c], exact[b*columns+c])
					want.Add(want, x.Quo(x, rat(y[c])))
				}
				if want.Sub(want, rat(sum)); want.Abs(want).Cmp(rat(lost)) > 0 {
					t.Fatalf("%d: entry %d %d is off by %v, said is %v", i, a, b, want.FloatString(40), lost)
				}
			}
		}
	}
}
