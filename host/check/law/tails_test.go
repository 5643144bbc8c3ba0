package law

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/prove/probability"
)

// TestNoiseTail: not above certify's, whose arguments may be worse by a rounding, and not
// below what one layer, exactly, and many draws say.
func TestNoiseTail(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for i := range 300 {
		v := make([]float64, 1+rng.IntN(4))
		if i%50 == 0 {
			v = make([]float64, 10)
		}
		sum := 0.0
		for l := range v {
			v[l] = math.Ldexp(rng.Float64(), rng.IntN(20)-10)
			sum += v[l]
		}
		at := rng.Float64() * 7 * math.Sqrt(sum)
		got := NoiseTailUp(at, v)
		for range 3 {
			worse := make([]float64, len(v))
			for l := range v {
				worse[l] = v[l] * (1 + float64(rng.IntN(2))*0x1p-52)
			}
			if theirs := probability.NoiseTailUp(at*(1-float64(rng.IntN(2))*0x1p-53), worse, 1); got > theirs {
				t.Errorf("tail of %v, %v: %v is above certify's %v", at, v, got, theirs)
			}
		}
		single := gauss.TailDown(at / math.Sqrt(v[0]) * (1 + 1e-15))
		if got < single*(1-1e-12) {
			t.Errorf("tail of %v, %v: %v is below that of one layer, %v", at, v, got, single)
		}
	}
	for _, c := range []struct {
		t    float64
		v    []float64
		want float64
	}{{0, []float64{1}, 1}, {math.NaN(), []float64{1}, 1}, {1, []float64{math.NaN()}, 1}, {1, []float64{arith.Inf, 1}, 1}, {1, []float64{-1}, 1}, {1, nil, 0}, {1, []float64{0, 0}, 0}} {
		if got := NoiseTailUp(c.t, c.v); got != c.want {
			t.Errorf("tail of %v, %v: %v, want %v", c.t, c.v, got, c.want)
		}
	}
}

// TestNoiseTailDraws: draws of sum min(G_l, 0).
func TestNoiseTailDraws(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for _, v := range [][]float64{{1, 1}, {1, 0.1}, {0.2, 1, 0.5}} {
		const draws = 200000
		for _, at := range []float64{0.5, 1, 2, 3} {
			below := 0
			for range draws {
				s := 0.0
				for _, x := range v {
					s += min(0, math.Sqrt(x)*rng.NormFloat64())
				}
				if s <= -at {
					below++
				}
			}
			p, got := float64(below)/draws, NoiseTailUp(at, v)
			if got < p-5*math.Sqrt(p/draws) || got > 1.2*p+0.01 {
				t.Errorf("tail of %v, %v: %v, draws %v", at, v, got, p)
			}
		}
	}
}

func TestNoiseQuantile(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	for range 100 {
		tau, layers := math.Exp(-rng.Float64()*40), 1+rng.IntN(4)
		got, theirs := NoiseQuantileUp(tau, layers), probability.NoiseQuantileUp(tau, layers)
		if got > theirs || got < theirs*(1-1e-9) {
			t.Errorf("quantile of %v, %d: %v, certify's %v", tau, layers, got, theirs)
		}
		v := make([]float64, layers)
		for l := range v {
			v[l] = rng.Float64()
		}
		z := arith.DDOf(0)
		for _, x := range v {
			z = z.Plus(arith.DDOf(x))
		}
		if tail := NoiseTailUp(got*z.Root().Hi*(1+1e-15), v); tail > tau {
			t.Errorf("quantile of %v, %d: tail %v", tau, layers, tail)
		}
	}
	for _, tau := range []float64{0, 1, -1, math.NaN(), arith.Inf} {
		if got := NoiseQuantileUp(tau, 1); got != arith.Inf {
			t.Errorf("quantile of %v is %v", tau, got)
		}
	}
}

func BenchmarkSteps(b *testing.B) {
	for range b.N {
		NoiseTailUp(3, []float64{1, 1})
	}
}
