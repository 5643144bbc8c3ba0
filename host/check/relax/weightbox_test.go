package relax

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/arith"
	"psafe/host/bound"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testscale"
)

// TestBoxOf: end-points are those of certify's boxes, and drawn numbers those of devices.
func TestBoxOf(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 28))
	for range testscale.Cases(t, 200) {
		mean, sdLo, sdHi, _, _ := checktest.RandomBox(rng, 2+rng.IntN(60), true)
		if rng.IntN(3) == 0 {
			mean[0], sdLo[0], sdHi[0] = 1e5*mean[0], 1e-12, 1e-12 // narrower than float32
		}
		post := checktest.OneLayer(mean, sdLo, sdHi)
		for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
			f := Formats[p.String()]
			gamma := p.Nearest(4 * rng.Float64())
			spec := bound.BoxSpec{Gamma: [][]float64{slices.Repeat([]float64{gamma}, 3)}, Sampled: rng.IntN(2) == 0, Seed: rng.Uint64(), First: rng.Uint64N(1 << 40)}
			want, err := bound.HostBox(post, p, spec, 2)
			if err != nil {
				t.Fatal(err)
			}
			draw := func(int, int) float32 { return 0 }
			if spec.Sampled {
				draw = func(a, w int) float32 { return arith.Normal(spec.Seed, spec.First+2, uint32(a), uint32(w)) }
			}
			got, err := BoxOf(post, &f, gamma, draw)
			if err != nil {
				t.Fatal(err)
			}
			for a := range want.Lo {
				if !slices.Equal(got.Lo[a], want.Lo[a]) || !slices.Equal(got.Hi[a], want.Hi[a]) {
					t.Fatalf("%v, gamma %v: array %d is %v to %v, certify's %v to %v", p, gamma, a, got.Lo[a], got.Hi[a], want.Lo[a], want.Hi[a])
				}
			}
		}
	}
}

func TestBoxOfErrors(t *testing.T) {
	post := checktest.OneLayer([]float64{1, 1e30}, []float64{1, 1e37}, []float64{1, 1e37})
	f := Formats["float32"]
	for _, gamma := range []float64{-1, math.NaN(), math.Inf(1), 100} {
		if _, err := BoxOf(post, &f, gamma, func(int, int) float32 { return 0 }); err == nil {
			t.Errorf("gamma %v makes a box", gamma)
		}
	}
}
