package clbp

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/check/law"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testscale"
)

// TestBallExactly: of one layer without noise the least value of a row is a number, which no bound is
// above, by exact arithmetic; and none is far below it.
func TestBallExactly(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 8))
	for i := range testscale.Cases(t, 400) {
		n, norm, eps := 1+rng.IntN(6), 1+rng.IntN(2), math.Ldexp(1+float64(rng.IntN(63))/64, -rng.IntN(3))
		x, a, zero := make([]float64, n), make([]float64, n), make([]float64, n)
		b, radius := property.Box{}, slices.Repeat([]float64{eps}, n)
		square, most := new(big.Rat), new(big.Rat)
		for j := range x {
			x[j], a[j] = math.Round(64*rng.NormFloat64())/64, math.Round(64*rng.NormFloat64())/64
			b.Lo, b.Hi = append(b.Lo, x[j]-eps), append(b.Hi, x[j]+eps)
			shut := rng.IntN(4)
			if shut == 0 {
				b.Lo[j] = x[j]
			} else if shut == 1 {
				b.Hi[j] = x[j]
			}
			if shut == 0 && a[j] > 0 || shut == 1 && a[j] < 0 {
				continue
			}
			v := new(big.Rat).Abs(checktest.Exactly(a[j]))
			if square.Add(square, new(big.Rat).Mul(v, v)); v.Cmp(most) > 0 {
				most = v
			}
		}
		post := &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{{Layer: net.DenseLayer(n, 1, net.Activation{}),
			Weight: posterior.NewParams(a, zero, posterior.ScaleSD), Bias: posterior.NewParams([]float64{0}, []float64{0}, posterior.ScaleSD)}}}
		noisy, err := New(post, false)
		if err != nil {
			t.Fatal(err)
		}
		ball := &property.Ball{Norm: norm, CentreLo: x, CentreHi: x, RadiusLo: radius, RadiusHi: radius}
		lo, row := math.Inf(-1), property.Row{CLo: []float64{1}, CHi: []float64{1}}
		noisy.NewPassOnBall(b, ball, 1e-3, 0).eachForm(&row, func(bound float64, list []law.Noise) bool {
			for _, n := range list {
				bound -= n.Mean
			}
			lo = max(lo, bound)
			return true
		})
		d := new(big.Rat) // how far the bound is below the value at the centre
		for j := range x {
			d.Add(d, new(big.Rat).Mul(checktest.Exactly(a[j]), checktest.Exactly(x[j])))
		}
		fall := checktest.Exactly(eps)
		if d.Sub(d, checktest.Exactly(lo)); norm == 1 {
			fall.Mul(fall, most)
		} else {
			fall.Mul(fall.Mul(fall, fall), square)
			d.Mul(d, new(big.Rat).Abs(d))
		}
		tight := new(big.Rat).Mul(fall, checktest.Exactly(1+1e-9))
		if d.Cmp(fall) < 0 || d.Cmp(tight.Add(tight, checktest.Exactly(1e-12))) > 0 {
			t.Errorf("case %d: norm %d: the bound %v falls by %v, the row by %v", i, norm, lo, d.FloatString(20), fall.FloatString(20))
		}
	}
}
