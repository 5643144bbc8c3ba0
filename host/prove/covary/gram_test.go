package covary

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/internal/testscale"
)

// TestGram: products that are made several at a time are those of one loop, bit by bit.
func TestGram(t *testing.T) {
	r := rand.New(rand.NewPCG(43, 2))
	for range testscale.Cases(t, 200) {
		n, m := 1+r.IntN(14), 1+r.IntN(9)
		b, w, got := make([]float64, n*m), make([]float64, m), make([]float64, n*n)
		for _, list := range [][]float64{b, w} {
			for e := range list {
				list[e] = r.NormFloat64()
			}
		}
		weigh := func(own []float64) {
			for k := range own {
				own[k] = float64(own[k] * w[k])
			}
		}
		of := []func([]float64){nil, weigh}[r.IntN(2)]
		if err := gram(got, b, n, m, of, never); err != nil {
			t.Fatal(err)
		}
		for j := range n {
			own := append([]float64(nil), b[j*m:(j+1)*m]...)
			if of != nil {
				of(own)
			}
			for i := range n {
				want := 0.0
				for k := 0; k < m && i <= j; k++ {
					want += float64(b[i*m+k] * own[k])
				}
				if got[j*n+i] != want {
					t.Fatalf("%d x %d: entry %d, %d is %v, want %v", n, m, j, i, got[j*n+i], want)
				}
			}
		}
	}
}

// TestLargeCovariancesEnd: whatever is prepared of a covariance of many inputs ends soon after it is told to, and
// nothing of it is kept.
func TestLargeCovariancesEnd(t *testing.T) {
	const in, out = 300, 2
	layer := posterior.Layer{Layer: network.DenseLayer(in, out, network.Activation{})}
	layer.Weight.Mean, layer.Bias.Mean = make([]float64, in*out), make([]float64, out)
	kron := &posterior.Covariance{QA: make([]float64, (in+1)*(in+1)), QG: []float64{1, 0, 0, 1}, Sd: make([]float64, out*(in+1))}
	full := &posterior.Covariance{Rank: in, Factor: make([]float64, out*(in+1)*in)}
	up := errors.New("the time is up")
	for name, prepare := range map[string]func(Ended) error{
		"norm": func(ended Ended) error { _, err := normUp(kron.QA, in+1, in+1, ended); return err },
		"kron": func(ended Ended) error {
			_, err := New([]float64{1, -1}, []float64{1, -1}, &layer, kron, ended)
			return err
		},
		"full": func(ended Ended) error {
			_, err := New([]float64{1, -1}, []float64{1, -1}, &layer, full, ended)
			return err
		},
		"marginal": func(ended Ended) error { _, err := kron.MarginalsUp(in, out, ended); return err },
	} {
		var all atomic.Int64
		if err := prepare(func() error { all.Add(1); return nil }); err != nil || all.Load() < 2 {
			t.Fatalf("%s: %v, %d looks", name, err, all.Load())
		}
		for _, few := range []int64{0, all.Load() / 2} {
			var looks atomic.Int64
			err := prepare(func() error {
				if looks.Add(1) > few {
					return up
				}
				return nil
			})
			if err != up || looks.Load() > few+1 {
				t.Errorf("%s: %v, %d looks of which %d saw no end", name, err, looks.Load(), few)
			}
		}
	}
}
