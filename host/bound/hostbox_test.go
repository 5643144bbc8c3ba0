package bound_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
)

// recorder remembers the boxes that a device draws.
type recorder struct {
	bound.Device
	lo, hi [][]float64
}

func (r *recorder) Do(op bound.Operation) error {
	err := r.Device.Do(op)
	a, is := op.(bound.DrawBox)
	if err != nil || !is {
		return err
	}
	lo, hi := make([]float64, a.Boxes*a.N), make([]float64, a.Boxes*a.N)
	r.lo, r.hi = append(r.lo, lo), append(r.hi, hi)
	if err := r.Read(lo, a.Box.Lo); err != nil {
		return err
	}
	return r.Read(hi, a.Box.Hi)
}

func gaussian(rng *rand.Rand, n int) posterior.Params {
	var g posterior.Params
	for range n {
		sd := math.Exp(rng.NormFloat64()-3) * float64(min(1, rng.IntN(4)))
		g.Mean = append(g.Mean, rng.NormFloat64())
		g.Spread, g.SdLo, g.SdHi = append(g.Spread, sd), append(g.SdLo, sd), append(g.SdHi, sd)
	}
	return g
}

// TestHostBox: the box that the host integrates is the box that the device
// propagates, bit for bit.
func TestHostBox(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	post := &posterior.Posterior{Layers: []posterior.Layer{
		{Layer: network.DenseLayer(7, 5, network.Activation{}), Weight: gaussian(rng, 35), Bias: gaussian(rng, 5)},
		{Layer: network.DenseLayer(5, 3, network.Activation{}), Weight: gaussian(rng, 15), Bias: gaussian(rng, 3)},
	}}
	for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
		for _, sampled := range []bool{false, true} {
			spec := bound.BoxSpec{Sampled: sampled, Seed: 0x123456789abcdef, First: 1<<32 - 2,
				Gamma: [][]float64{{0, 1, p.Nearest(2.3), 5}, {3, p.Nearest(0.1), 0, 5}}}
			dev := &recorder{Device: fallback.New(p)}
			m, err := bound.NewModel(dev, post, 6)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.Draw(spec); err != nil {
				t.Fatal(err)
			}
			for b := range spec.Count() {
				box, err := bound.HostBox(post, p, spec, b)
				if err != nil {
					t.Fatal(err)
				}
				for i := range box.Lo {
					n := len(box.Lo[i])
					for w := range n {
						lo, hi := dev.lo[i][b*n+w], dev.hi[i][b*n+w]
						if math.Float64bits(lo) != math.Float64bits(box.Lo[i][w]) || math.Float64bits(hi) != math.Float64bits(box.Hi[i][w]) {
							t.Fatalf("%v sampled=%v: box %d array %d weight %d: device has [%x, %x], host [%x, %x]",
								p, sampled, b, i, w, lo, hi, box.Lo[i][w], box.Hi[i][w])
						}
					}
				}
			}
		}
	}
}
