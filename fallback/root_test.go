package fallback

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
)

// TestRootUp: at least the root for every argument, whatever the guess that Newton's
// iteration starts from: the proof at its end must not need a good one. With the
// guess as it is, within 64u; and infinite where the argument is.
func TestRootUp(t *testing.T) {
	t.Run("float32", func(t *testing.T) { checkRoot(t, New(bound.Float32).(*Device[float32])) })
	t.Run("float64", func(t *testing.T) { checkRoot(t, New(bound.Float64).(*Device[float64])) })
}

func checkRoot[T bound.Real](t *testing.T, d *Device[T]) {
	r := rand.New(rand.NewPCG(31, 32))
	exponents := 120.0
	if d.precision == bound.Float64 {
		exponents = 1000
	}
	good := d.rootSeed
	for _, seed := range []func(T) T{good, func(x T) T { return good(x) * T(0.2) }, func(x T) T { return 1.7 * good(x) }, func(T) T { return 1 }, func(T) T { return 0 }} {
		d.rootSeed = seed
		for range 2000 {
			x := T(math.Ldexp(1+r.Float64(), int(exponents*(r.Float64()-0.5)*2)))
			c := d.rootUp(x)
			square := new(big.Float).SetPrec(400).SetFloat64(float64(c))
			square.Mul(square, square)
			if !(c > 0) || square.Cmp(new(big.Float).SetFloat64(float64(x))) < 0 {
				t.Fatalf("rootUp(%x) = %x: its square is less", float64(x), float64(c))
			}
			if e := float64(c) / math.Sqrt(float64(x)); e > 1+64*float64(d.u) && d.rootSeed(4) == good(4) && x > d.tiny {
				t.Fatalf("rootUp(%x) = %x is loose by a factor %v", float64(x), float64(c), e)
			}
		}
	}
	d.rootSeed = good
	if c := d.rootUp(T(math.Inf(1))); !math.IsInf(float64(c), 1) {
		t.Errorf("rootUp(+Inf) = %v", c)
	}
	if c := d.rootUp(T(math.NaN())); c == c {
		t.Errorf("rootUp(NaN) = %v", c)
	}
	if c := d.rootUp(0); !(c > 0 && c < 1e-14) {
		t.Errorf("rootUp(0) = %v", c)
	}
}
