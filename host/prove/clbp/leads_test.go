package clbp

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/internal/testkit/convtest"
	"psafe/internal/testscale"
)

// TestDependentDifferences: of a convolution with a Kronecker covariance, by how much the star of a max pool leads
// the other members is at most what the mean network has at every corner of T, less the mean (92e) of the
// difference's noise and the quantile's share of its deviation (92d) there, in rational numbers; and at a point it
// is that. Star and member share weights, so that no part of the difference counts alone.
func TestDependentDifferences(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 95))
	const tau = 0.01
	for i := range testscale.Cases(t, 60) {
		in := network.Image{Height: 1, Width: 3 + i/2%2, Channels: 1}
		conv := network.Conv{In: in, Window: network.Window{Size: [2]int{1, 2}, Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}}, Filters: 1 + r.IntN(2), Groups: 1}
		pool := network.MaxPool{In: conv.Out(), Window: network.Window{Size: [2]int{1, 2}, Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}}}
		normal := func(n int) posterior.Params {
			p := posterior.NewParams(make([]float64, n), make([]float64, n), posterior.ScaleSD)
			for e := range p.Mean {
				p.Mean[e] = r.NormFloat64()
			}
			return p
		}
		post, err := posterior.FromCovariances([]posterior.Layer{
			{Layer: network.Layer{Map: conv}, Weight: normal(2 * conv.Filters), Bias: normal(conv.Filters)},
			{Layer: network.Layer{Map: pool, Activation: network.Activation{Kind: network.ReLU}}},
			{Layer: network.DenseLayer(pool.Outputs(), 1, network.Activation{}), Weight: normal(pool.Outputs()), Bias: normal(1)},
		}, []*posterior.Covariance{convtest.RandomKronecker(r, conv, 0.5), nil, nil})
		if err != nil {
			t.Fatal(err)
		}
		n, eps := conv.Inputs(), float64(i%2)/16
		box := property.Box{Lo: make([]float64, n), Hi: make([]float64, n)}
		for j := range n {
			box.Lo[j] = float64(r.IntN(64)-32) / 16
			box.Hi[j] = box.Lo[j] + 2*eps
		}
		one := []float64{1}
		task := property.Task{Label: -1, T: []property.Box{box}, Inner: []property.Box{box}, S: property.Safe{Rows: []property.Row{{CLo: one, CHi: one}}, Any: [][]int{{0}}}}
		w := watch(t, bound.Float64, post, &task, tau, 0, false)
		star, leads, members := w.of("pool.star", 1), w.of("pool.lead", 1), pool.Members()
		e, err := engine.New(fallback.New(bound.Float64), nil, post, 8)
		if err != nil {
			t.Fatal(err)
		}
		quantile := Quantiles(e, bound.Float64, tau).Many[0]
		e.Close()
		for at, u := range members {
			s := int(star[at/2])
			if int(u) == s {
				continue
			}
			a, ones := make([]float64, conv.Outputs()), make([]float64, n)
			a[s], a[u] = 1, -1
			mean, least := 0.0, math.Inf(1)
			for j := range n {
				ones[j] = 1
				v, _ := convtest.KroneckerVariance(conv, post.Covariances()[0], a, ones, 0, j).Float64()
				mean += math.Sqrt(2/math.Pi) * eps * math.Sqrt(v)
			}
			for corner := range 1 << (n * (i % 2)) {
				z := make([]float64, n)
				for j := range n {
					z[j] = []float64{box.Lo[j], box.Hi[j]}[corner>>j&1]
				}
				v, _ := convtest.KroneckerVariance(conv, post.Covariances()[0], a, z, 1, -1).Float64()
				lead, _ := new(big.Rat).Sub(value(&post.Layers[0], conv, s, z), value(&post.Layers[0], conv, int(u), z)).Float64()
				least = min(least, lead-mean-quantile*math.Sqrt(v))
			}
			if leads[at] > least+1e-12 || eps == 0 && leads[at] < least-1e-9 {
				t.Fatalf("%d %+v: unit %d leads %d by at least %v, exactly %v", i, conv, s, u, leads[at], least)
			}
		}
	}
}

// value is output o of the mean network of a convolution, in rational numbers.
func value(l *posterior.Layer, m network.Conv, o int, z []float64) *big.Rat {
	low := m.Lowered()
	rat := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	p, f := o/low.Channels, o%low.Channels
	sum := rat(l.Bias.Mean[f])
	for t, q := range low.Tap[p*low.Taps : (p+1)*low.Taps] {
		if q >= 0 {
			sum.Add(sum, new(big.Rat).Mul(rat(l.Weight.Mean[t*low.Channels+f]), rat(z[q])))
		}
	}
	return sum
}
