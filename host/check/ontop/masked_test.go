package ontop

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// TestMaskedRows: the sum of masks is negative, and below a quantile, with the probability that is said at
// most, whatever the sizes of those are of which only a range is known.
func TestMaskedRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 32))
	for i := range testscale.Cases(t, 300) {
		n := 1 + rng.IntN(9)
		known := rng.IntN(n + 1)
		r := &maskedRow{}
		mean := 1 + rng.NormFloat64()
		r.least.Plus(mean)
		var truth []mask
		for j := range n {
			rate, most := float64(1+rng.IntN(12))/16, rng.NormFloat64()
			if i%3 == 2 { // beside the mean next to nothing
				most *= 0x1p-70
			}
			m := mask{-most, most * rate / (1 - rate), rate}
			if j < known {
				r.exact, truth = append(r.exact, m), append(truth, m)
				continue
			}
			share := rng.Float64()
			r.convex, truth = append(r.convex, m), append(truth, mask{share * m.dropped, share * m.kept, rate})
		}
		below := func(at float64) (p float64) {
			for set := range 1 << n {
				value, q := mean, 1.0
				for j, m := range truth {
					if set>>j&1 == 0 {
						value, q = value+m.dropped, q*m.rate
					} else {
						value, q = value+m.kept, q*(1-m.rate)
					}
				}
				if value <= at {
					p += q
				}
			}
			return p
		}
		if got, want := r.tailUp(), below(-1e-12); got < want || known == n && got > below(0.02)+1e-12 {
			t.Errorf("%d: tail %v of %d and %d masks, the truth is %v", i, got, known, n-known, want)
		}
		law, _ := r.law()
		for i, at := range law.At {
			if i%16 == 0 && below(at-1e-9) > law.Below[i] {
				t.Errorf("%d: below %v with %v, the truth is %v", i, at, law.Below[i], below(at-1e-9))
			}
		}
		least := new(big.Rat).SetFloat64(mean)
		for _, m := range slices.Concat(r.exact, r.convex) {
			least.Add(least, new(big.Rat).SetFloat64(min(m.dropped, m.kept)))
		}
		last := len(law.At) - 1
		if new(big.Rat).SetFloat64(law.At[last]).Cmp(least) > 0 && law.Below[last] == 0 || i%3 == 2 && law.Below[last] != 0 {
			t.Errorf("%d: the last level is %v, below with %v; the sum is from %v on", i, law.At[last], law.Below[last], least.FloatString(30))
		}
		for _, tau := range []float64{1e-3, 0.02, 0.2} {
			if at := r.quantileDown(tau); below(at-1e-12) > tau {
				t.Errorf("%d: above %v but for %v, the truth is %v", i, at, tau, below(at-1e-12))
			}
		}
	}
}

// TestSharedMask: what shares a mask is dropped together.
func TestSharedMask(t *testing.T) {
	const rate = 0.125
	posts, points := sumtest.SharedMasks(rate)
	for i, post := range posts {
		row := property.Row{CLo: []float64{1}, CHi: []float64{1}, D: -1, DHi: -1}
		pass := NewMaskPass(NewMasks(post), meansOf(t, post), property.Box{Lo: points[i], Hi: points[i]}, 0)
		if tail := pass.ofProperty(&row).tailUp(); tail < rate || tail > rate+1e-9 {
			t.Errorf("%s: tail %v, it fails with probability %v", post.Describe(), tail, rate)
		}
	}
}

// TestMaskedMoves: two features of which one rises as the other falls. Their sum does not move, but one alone
// does, if the other is dropped.
func TestMaskedMoves(t *testing.T) {
	layers := sumtest.RandomNoisy(rand.New(rand.NewPCG(33, 33)), net.Activation{}, 0, 1, 2, 1).Layers
	layers[0].Weight.Mean, layers[0].Bias.Mean = []float64{1, -1}, []float64{0, 0}
	layers[1].Weight.Mean, layers[1].Bias.Mean = []float64{1, 1}, []float64{0}
	const rate = 0.125
	post, err := posterior.FromDropout(layers, []float64{0, rate})
	if err != nil {
		t.Fatal(err)
	}
	row := property.Row{CLo: []float64{1}, CHi: []float64{1}, D: 0.5, DHi: 0.5}
	pass := NewMaskPass(NewMasks(post), meansOf(t, post), property.Box{Lo: []float64{-1}, Hi: []float64{1}}, 0)
	if tail, fail := pass.ofProperty(&row).tailUp(), 2*rate*(1-rate); tail < fail {
		t.Errorf("tail %v, fail with probability %v", tail, fail)
	}
}
