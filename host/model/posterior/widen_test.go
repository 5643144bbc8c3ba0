package posterior

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"psafe/host/model/network"
)

// TestWiden: standard deviations enclose the real products, as tightly as float64 can.
func TestWiden(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 5000 {
		sd, factor := math.Exp(20*r.NormFloat64()), math.Exp(r.NormFloat64())
		if r.IntN(10) == 0 {
			sd, factor = float64(r.IntN(100)), float64(1+r.IntN(10))
		}
		p := &Posterior{Layers: []Layer{{Layer: network.DenseLayer(1, 1, network.Activation{}), Weight: NewParams([]float64{1}, []float64{sd}, ScaleSD), Bias: NewParams([]float64{0}, []float64{0}, ScaleSD)}}}
		if err := p.Widen(factor, factor); err != nil {
			t.Fatal(err)
		}
		g := p.Layers[0].Weight
		exact := new(big.Rat).Mul(new(big.Rat).SetFloat64(sd), new(big.Rat).SetFloat64(factor))
		lo, hi := new(big.Rat).SetFloat64(g.SdLo[0]), new(big.Rat).SetFloat64(g.SdHi[0])
		if lo.Cmp(exact) > 0 || hi.Cmp(exact) < 0 {
			t.Errorf("%x times %x in [%x, %x]", sd, factor, g.SdLo[0], g.SdHi[0])
		}
		if _, same := exact.Float64(); same && g.SdLo[0] != g.SdHi[0] || math.Nextafter(g.SdLo[0], math.Inf(1)) < g.SdHi[0] && sd > 1e-200 {
			t.Errorf("%x times %x is loose: [%x, %x]", sd, factor, g.SdLo[0], g.SdHi[0])
		}
	}
	p := &Posterior{Layers: []Layer{{Layer: network.DenseLayer(1, 1, network.Activation{}), Weight: NewParams([]float64{1}, []float64{1e300}, ScaleSD), Bias: NewParams([]float64{0}, []float64{0}, ScaleSD)}}}
	for _, f := range []float64{0, -1, math.NaN(), math.Inf(1), 1e300} {
		if err := p.Widen(f, f); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("factor %v: %v", f, err)
		}
	}
}
