package relax

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/host/arith"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testscale"
)

// TestNeuronSigns: where a neuron has its sign the new row is below the old one, whatever is rounded.
func TestNeuronSigns(t *testing.T) {
	for at := range testscale.Cases(t, 500) {
		r := rand.New(rand.NewPCG(uint64(at), 215))
		lo, hi := -r.Float64(), r.Float64()
		h := Hidden{Pre: Span{[]float64{lo}, []float64{hi}}, Z: Span{[]float64{0}, []float64{hi}}, Lower: []Line{{}}, Upper: []Line{{1, 0}}}
		h.Arg = h.Pre
		s, m := r.NormFloat64(), math.Abs(r.NormFloat64())*math.Ldexp(1, -r.IntN(60))
		sign := 1 - 2*r.IntN(2)
		var c arith.Sum
		a := h.throughSigns(Span{[]float64{s}, []float64{s + r.Float64()}}, h.Lower, []int{sign}, []float64{m}, &c)
		for _, v := range []float64{0, lo, hi} {
			if v*float64(sign) < 0 {
				continue
			}
			is := new(big.Rat).Add(checktest.Exactly(c.Lo()), new(big.Rat).Mul(checktest.Exactly(a[0]), checktest.Exactly(v)))
			row := new(big.Rat).Mul(checktest.Exactly(s), checktest.Exactly(max(v, 0)))
			if is.Cmp(row) > 0 {
				t.Fatalf("case %d: sign %d, coefficient %v, multiplier %v: %v at %v is above %v", at, sign, s, m, is.FloatString(25), v, row.FloatString(25))
			}
		}
	}
}
