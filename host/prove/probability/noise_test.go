package probability

import (
	"math"
	"math/rand/v2"
	"testing"
)

// approxQ is the normal tail by the standard library, within 1e-13 of it here.
func approxQ(z float64) float64 { return 0.5 * math.Erfc(z/math.Sqrt2) }

// noiseSums brackets (13b) for two layers by Riemann sums: q_2 decreases, so on each
// step of -G_1 it lies between its values at the step's ends.
func noiseSums(t, v1, v2 float64) (lo, hi float64) {
	const steps = 40000
	q := func(x float64) float64 {
		if x < 0 {
			return 1
		}
		return approxQ(x / math.Sqrt(v2))
	}
	lo, hi = 0.5*q(t), 0.5*q(t)
	for i := range steps {
		from, to := t*float64(i)/steps, t*float64(i+1)/steps
		mass := approxQ(from/math.Sqrt(v1)) - approxQ(to/math.Sqrt(v1))
		lo, hi = lo+mass*q(t-from), hi+mass*q(t-to)
	}
	rest := approxQ(t / math.Sqrt(v1))
	return lo + rest*0.5, hi + rest
}

// TestNoiseTailTwoLayers: above the law that (13b) defines, and close to it.
func TestNoiseTailTwoLayers(t *testing.T) {
	for _, share := range []float64{1e-9, 0.01, 0.3, 0.5, 0.9, 1 - 1e-6} {
		for _, z := range []float64{0.01, 0.3, 1, 2, 3, 4.5, 6} {
			v1, v2 := 7*share, 7*(1-share)
			x := z * math.Sqrt(7)
			lo, hi := noiseSums(x, v1, v2)
			got := NoiseTailUp(x, []float64{v1, v2}, 1)
			if got < lo*(1-1e-10) {
				t.Errorf("share %v, z %v: %.12g is below %.12g", share, z, got, lo)
			}
			most := hi * (1.02 + z*z/100)
			if hi < worthConvolving {
				most = 2.01 * hi
			}
			if got > most+1e-15 {
				t.Errorf("share %v, z %v: %.6g, the law is %.6g at most", share, z, got, hi)
			}
		}
	}
}

// TestNoiseTailOneLayer: the normal tail itself.
func TestNoiseTailOneLayer(t *testing.T) {
	for _, v := range []float64{1e-30, 0.5, 1, 7, 1e20} {
		for _, z := range []float64{1e-3, 0.5, 2, 4, 8, 30} {
			x := z * math.Sqrt(v)
			ratio := newBig().Quo(bigOf(x), newBig().Sqrt(bigOf(v)))
			truth := oracleTail(ratio)
			got := NoiseTailUp(x, []float64{0, v}, 1)
			if !isUpper(bigOf(got), truth) || relative(bigOf(got), truth) > 1e-12 {
				t.Errorf("v %v, z %v: %v, truth %s", v, z, got, truth.Text('g', 20))
			}
		}
	}
}

// TestNoiseTailMore: with more layers it grows, and stays below both closed forms.
func TestNoiseTailMore(t *testing.T) {
	for n := 1; n <= 12; n++ {
		v := make([]float64, n)
		for i := range v {
			v[i] = 1 / float64(n)
		}
		got := NoiseTailUp(3, v, 1)
		closed := (math.Pow(1.5, float64(n)) - math.Pow(0.5, float64(n))) * approxQ(3)
		if got > math.Min(math.Exp(-4.5), closed)*(1+1e-9) {
			t.Errorf("%d layers: %v, (13) gives %v, the closed form %v", n, got, math.Exp(-4.5), closed)
		}
		if sample := 0.999 * approxQ(3); got < sample {
			t.Errorf("%d layers: %v is below the normal tail %v", n, got, sample)
		}
	}
}

func TestNoiseTailCorners(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		t    float64
		v    []float64
		want float64
	}{
		{0, []float64{1}, 1}, {-1, []float64{1}, 1}, {nan, []float64{1}, 1}, {-inf, []float64{1}, 1},
		{1, []float64{inf}, 1}, {1, []float64{nan}, 1}, {1, []float64{-1}, 1}, {1, nil, 0}, {1, []float64{0, 0}, 0},
		{inf, []float64{1, inf}, 1},
	} {
		if got := NoiseTailUp(c.t, c.v, 1); got != c.want {
			t.Errorf("NoiseTailUp(%v, %v) = %v, want %v", c.t, c.v, got, c.want)
		}
	}
	for _, v := range [][]float64{{tiny, tiny}, {1e300, 1e300}, {1e-300, 1}, {0x1p-1022, 3}} {
		for _, x := range []float64{tiny, 1e-300, 1, 1e300, math.MaxFloat64} {
			if got := NoiseTailUp(x, v, 1); !(got > 0 && got <= 1) {
				t.Errorf("NoiseTailUp(%v, %v) = %v", x, v, got)
			}
		}
	}
}

// TestNoiseTailLeast: it is not above the tail, near it for one layer, and skipping by it what another
// bound makes needless changes no bit.
func TestNoiseTailLeast(t *testing.T) {
	rng := rand.New(rand.NewPCG(29, 1))
	for range 300 {
		v := make([]float64, 1+rng.IntN(10))
		for i := range v {
			v[i] = math.Exp(4 * rng.NormFloat64())
		}
		x := math.Exp(2 * rng.NormFloat64())
		least, up := NoiseTailLeast(x, v), NoiseTailUp(x, v, 1)
		if !(least >= 0 && least <= up) || len(v) == 1 && up > 1e-300 && least < up*(1-1e-9) {
			t.Fatalf("t %v, variances %v: least %v, tail %v", x, v, least, up)
		}
		for _, known := range []float64{1, 2 * up, up, least, least / 2, 0, 1e-6, 1.5e-6, 0.9e-6} {
			if got := NoiseTailUp(x, v, known); got != min(known, up) {
				t.Fatalf("t %v, variances %v: %v where %v is known, and the tail is %v", x, v, got, known, up)
			}
		}
	}
	// Of two bounds about worthConvolving, the least is the same in any order.
	a, b := NoiseTailUp(4.84, []float64{1, 0.001}, 1), NoiseTailUp(4.795, []float64{1, 0.001}, 1)
	if got := NoiseTailUp(4.795, []float64{1, 0.001}, a); got != min(a, b) {
		t.Errorf("%v after %v, alone %v", got, a, b)
	}
	for _, c := range []struct {
		t    float64
		v    []float64
		want float64
	}{{0, []float64{1}, 1}, {math.NaN(), []float64{1}, 1}, {1, []float64{math.NaN()}, 1}, {1, []float64{0, 0}, 0}, {1, nil, 0}, {math.Inf(1), []float64{1}, 0}} {
		if got := NoiseTailLeast(c.t, c.v); got != c.want {
			t.Errorf("NoiseTailLeast(%v, %v) = %v, want %v", c.t, c.v, got, c.want)
		}
	}
}

// TestNoiseQuantile: its tail is at most tau for any shares of the variance.
func TestNoiseQuantile(t *testing.T) {
	for _, tau := range []float64{0.2, 1e-3, 1e-6, 1e-12, 1e-100} {
		for layers := 1; layers <= 6; layers++ {
			z := NoiseQuantileUp(tau, layers)
			for _, tilt := range []float64{1, 0.5, 3, 1e-3} {
				v, sum := make([]float64, layers), 0.0
				for i := range v {
					v[i] = math.Pow(tilt, float64(i))
					sum += v[i]
				}
				// (1 + 1e-14): sqrt and sum here are rounded.
				if got := NoiseTailUp(z*math.Sqrt(sum)*(1+1e-14), v, 1); got > tau*(1+1e-9) {
					t.Errorf("tau %v, %d layers, tilt %v: z %v has tail %v", tau, layers, tilt, z, got)
				}
			}
			if h := math.Sqrt(-2 * math.Log(tau)); z > h+1e-9 {
				t.Errorf("tau %v, %d layers: %v, by (13) alone %v", tau, layers, z, h)
			}
			if least := NoiseQuantileUp(tau, 1); z < least {
				t.Errorf("tau %v: %d layers need %v, one %v", tau, layers, z, least)
			}
		}
	}
	for _, tau := range []float64{0, 1, -1, math.NaN(), 1e-320} {
		if z := NoiseQuantileUp(tau, 2); !math.IsInf(z, 1) && tau != 1e-320 {
			t.Errorf("tau %v: %v", tau, z)
		}
	}
}
