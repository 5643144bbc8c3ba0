package moments

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/check/law"
	"psafe/internal/testscale"
)

// TestResponse: at least what a neuron does for each move within the radius, and no more than for the worst.
// It does not depend on the unit that neurons are in, however large.
func TestResponse(t *testing.T) {
	r := rand.New(rand.NewPCG(53, 1))
	for i := range testscale.Cases(t, 3000) {
		h, a, radius, share := math.Exp(r.NormFloat64()), r.NormFloat64(), coarser(math.Exp(r.NormFloat64()-1)), float64(r.IntN(129))/128
		if i%5 == 0 {
			share = float64(r.IntN(2))
		}
		unit := math.Ldexp(1, []int{0, 60, -60}[i%3])
		h, radius = h/unit, radius*unit
		var base *stretch
		bend := 0.0
		if i%2 == 1 {
			base = &stretch{slope: r.NormFloat64() / unit, bend: -r.Float64() / unit / unit}
		} else if i%4 == 0 {
			bend = r.Float64() / unit / unit
		}
		f := responseOf(h, a, share, radius, base, arith.Exactly(bend))
		x, got := radius*3*(2*r.Float64()-1), math.Inf(1)
		for j := range f.parts {
			if s := &f.parts[j]; s.from <= x && x <= s.to {
				got = s.power + s.slope*x + s.bend*x*x/2
			}
		}
		most := math.Inf(-1)
		for _, d := range []float64{-radius, -radius / 3, 0, radius / 2, radius, min(max(-x, -radius), radius)} {
			z, moved := max(x, 0), max(x+d, 0)
			out := -h*a*moved + h*a*share*d + bend*moved*moved/2
			if base != nil {
				out += h*a*z + base.slope*z + base.bend*z*z/2
			}
			most = max(most, out)
		}
		if room := 1e-12 * (1 + math.Abs(most)); got < most-room || bend == 0 && got > most+room {
			t.Errorf("case %d: %v, a neuron adds %v", i, got, most)
		}
	}
}

// TestQuantile: it is at most as likely as said, and near.
func TestQuantile(t *testing.T) {
	for _, tau := range []float64{0.3, 1e-3, 1e-9} {
		for layers := 1; layers <= 2; layers++ {
			q := law.NoiseQuantileUp(tau, layers)
			if up := float64(layers) * gauss.TailUp(q); up > tau*(1+1e-9) || up < tau*(1-1e-6) {
				t.Errorf("%v, %d layers: %v, which has %v", tau, layers, q, up)
			}
		}
	}
	if law.NoiseQuantileUp(1e-320, 1) != arith.Inf && law.NoiseQuantileUp(0, 1) != arith.Inf {
		t.Error("a quantile that was not looked at")
	}
}
