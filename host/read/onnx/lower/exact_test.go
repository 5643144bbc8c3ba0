package lower

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/internal/testscale"
)

// TestExact compares what is said of sums, products and bits with rational numbers.
func TestExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	number := func() float64 {
		x := math.Ldexp(float64(1+r.Uint64N(1<<(1+r.Uint64N(53)))), r.IntN(80)-60)
		if r.IntN(8) == 0 {
			x = math.Float64frombits(r.Uint64() &^ (1 << 62)) // any below 2
		}
		if r.IntN(2) == 0 || math.IsNaN(x) {
			return -math.Abs(x)
		}
		return x
	}
	rat := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	found := [4]int{}
	for range testscale.Cases(t, 100_000) {
		a, b := number(), number()
		if math.IsNaN(a) || math.IsNaN(b) {
			continue
		}
		p, exact := timesExact(a, b)
		if is := rat(p) != nil && rat(p).Cmp(new(big.Rat).Mul(rat(a), rat(b))) == 0; exact && !is || is && !exact && math.Abs(p) >= tiny {
			t.Fatalf("%v * %v = %v: said to be exact: %v", a, b, p, exact)
		} else if is {
			found[0]++
		} else {
			found[1]++
		}
		s, exact := plusExact(a, b)
		if is := rat(s).Cmp(new(big.Rat).Add(rat(a), rat(b))) == 0; is != exact {
			t.Fatalf("%v + %v = %v: said to be exact: %v", a, b, s, exact)
		} else if is {
			found[2]++
		} else {
			found[3]++
		}
		n := bitsOf(a)
		if short, _ := new(big.Float).SetPrec(n).SetFloat64(a).Float64(); short != a {
			t.Fatalf("%v is said to have %d bits", a, n)
		}
		if n > 1 {
			if short, _ := new(big.Float).SetPrec(n - 1).SetFloat64(a).Float64(); short == a && math.Abs(a) >= 0x1p-1022 {
				t.Fatalf("%v is said to have %d bits, has fewer", a, n)
			}
		}
	}
	for i, n := range found {
		if n == 0 {
			t.Errorf("kind %d of cases did not come", i)
		}
	}
}
