package phases

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"psafe/internal/testscale"
)

// TestTimes: products in lanes have the bits of gonum's, of sums of any length, with zeros.
func TestTimes(t *testing.T) {
	r := rand.New(rand.NewPCG(45, 3))
	number := func() float64 {
		if r.IntN(3) == 0 {
			return 0
		}
		return (r.Float64() - 0.5) * math.Ldexp(1, r.IntN(40)-20)
	}
	for range testscale.Cases(t, 400) {
		in, out, rows := 16*(1+r.IntN(20)), 1+r.IntN(200), r.IntN(80) // of many blocks gonum cuts sums
		if r.IntN(2) == 0 {
			in, out = out, in
		}
		b := newWeights(in, out)
		for at := range b.Data {
			b.Data[at] = number()
		}
		b.turn()
		for _, turned := range []bool{true, false} {
			a, c, trans := matrix(rows, in), matrix(rows, out), blas.NoTrans
			if turned {
				a, c, trans = matrix(rows, out), matrix(rows, in), blas.Trans
			}
			for at := range a.Data {
				a.Data[at] = number()
			}
			for i := range a.Cols {
				for at := i; i%3 == 1 && at < len(a.Data); at += a.Cols {
					a.Data[at] = 0
				}
			}
			blas64.Gemm(blas.NoTrans, trans, 1, a, b.General, 0, c)
			d := &descent{}
			for at, got := range d.times(a, turned, b).Data {
				if want := c.Data[at]; math.Float64bits(got) != math.Float64bits(want) {
					t.Fatalf("%d rows of %d x %d, turned %v: %x at %d, not %x", rows, in, out, turned, got, at, want)
				}
			}
		}
	}
}
