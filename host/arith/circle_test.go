package arith

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// sinCos by Taylor's series in big arithmetic.
func sinCos(k, n int) (sin, cos float64) {
	pi, _ := new(big.Float).SetPrec(200).SetString("3.14159265358979323846264338327950288419716939937510582097494459")
	x := new(big.Float).SetPrec(200).Mul(pi, big.NewFloat(2*float64(k)/float64(n)))
	term, s, c := big.NewFloat(1).SetPrec(200), new(big.Float).SetPrec(200), new(big.Float).SetPrec(200)
	for i := range 60 {
		sum := c
		if i%2 == 1 {
			sum = s
		}
		if i%4 < 2 {
			sum.Add(sum, term)
		} else {
			sum.Sub(sum, term)
		}
		term.Mul(term, x).Quo(term, big.NewFloat(float64(i+1)))
	}
	sin, _ = s.Float64()
	cos, _ = c.Float64()
	return sin, cos
}

// TestCircleFactors: the factors are within factorErr of what they stand for.
func TestCircleFactors(t *testing.T) {
	worst := 0.0
	for _, log := range []int{3, 10, 16} {
		c := CircleOf(log)
		for k := 0; k < len(c.factors); k += 1 + len(c.factors)/500 {
			sin, cos := sinCos(k, c.N)
			worst = max(worst, math.Hypot(real(c.factors[k])-cos, imag(c.factors[k])+sin))
		}
	}
	if t.Logf("worst %v u", worst/Unit); !(worst < factorErr/2) {
		t.Errorf("a factor errs by %v, factorErr is %v", worst, factorErr)
	}
}

// TestCircleError: the error that is claimed, by hand for one term and for two of different size.
func TestCircleError(t *testing.T) {
	c := CircleOf(10)
	delta := 10 * (factorErr + 4.01*Unit*(math.Sqrt2+factorErr))
	for _, k := range []struct {
		n        int
		of, each float64
	}{{1, 1, 3*delta + 39*Unit}, {2, 5, 2*(6*(delta+2*Unit)+35*Unit) + delta}} {
		want := 32 * k.of * k.each
		if got := c.ErrorUp(k.n, k.of, k.of); got < want || got > 1.03*want {
			t.Errorf("%d terms: %v, want %v", k.n, got, want)
		}
	}
}

// TestCircleProducts: the sums of masses of random terms, two by two or alone, are those of rational
// numbers, but for the error that is claimed.
func TestCircleProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(84, 1))
	for _, log := range []int{2, 3, 4, 5} {
		for n := 1; n <= 5; n++ {
			c := CircleOf(log)
			exact, product := make([]*big.Rat, c.N), make([]complex128, c.N)
			for k := range exact {
				exact[k], product[k] = new(big.Rat), 1
			}
			exact[0].SetInt64(1)
			all, largest := 1.0, 1.0
			for i := 0; i < n; i += 2 {
				z, two := make([]complex128, c.N), i+1 < n
				for part := range min(2, n-i) {
					next, total := make([]*big.Rat, c.N), 0.0
					for k := range next {
						next[k] = new(big.Rat)
					}
					for at := range z {
						p := r.Float64() * 2 / float64(c.N)
						total += p
						if part == 0 {
							z[at] = complex(p, 0)
						} else {
							z[at] += complex(0, p)
						}
						for k, q := range exact {
							next[(k+at)%c.N].Add(next[(k+at)%c.N], new(big.Rat).Mul(q, exactly(p)))
						}
					}
					exact, all, largest = next, all*max(1, total*(1+1e-12)), max(largest, total*(1+1e-12))
				}
				c.Forward(z)
				c.Multiply(product, z, two)
			}
			c.Backward(product)
			off := new(big.Rat)
			for k, q := range exact {
				d := q.Sub(q, new(big.Rat).Quo(exactly(real(product[k])), exactly(float64(c.N))))
				off.Add(off, d.Abs(d))
			}
			if bound := c.ErrorUp(n, all, largest); off.Cmp(exactly(bound)) > 0 {
				t.Errorf("%d terms on %d points err by %v, the bound is %v", n, c.N, off.FloatString(20), bound)
			}
		}
	}
}
