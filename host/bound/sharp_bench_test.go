package bound

import (
	"math/rand/v2"
	"testing"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
)

// BenchmarkSharpNoise: the noise of the rows of the second hidden layer of a network of the shape
// 784-128-128-10, one item.
func BenchmarkSharpNoise(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	some := func(n int, f func() float64) []float64 {
		v := make([]float64, n)
		for j := range v {
			v[j] = f()
		}
		return v
	}
	post := &posterior.Posterior{Scale: posterior.ScaleSD}
	sizes := []int{784, 128, 128, 10}
	for k := range 3 {
		draw := func(n int) posterior.Params {
			return posterior.NewParams(some(n, r.NormFloat64), some(n, func() float64 { return 0.01 }), posterior.ScaleSD)
		}
		post.Layers = append(post.Layers, posterior.Layer{Layer: network.DenseLayer(sizes[k], sizes[k+1], network.Activation{}), Weight: draw(sizes[k] * sizes[k+1]), Bias: draw(sizes[k+1])})
	}
	layers, err := newLayers(post, Float64)
	if err != nil {
		b.Fatal(err)
	}
	s := newSharper(post, layers, true, func() error { return nil })
	d, reached := &rowsDown{top: 1, rows: 256}, &reaches{}
	for l := range 2 {
		d.a = append(d.a, some(sizes[l+1]*d.rows, r.NormFloat64))
		still := make([]bool, sizes[l])
		for j := range still {
			still[j] = l > 0 && r.IntN(2) == 0
		}
		reached.radius = append(reached.radius, some(sizes[l], r.ExpFloat64))
		reached.maxSq, reached.still = append(reached.maxSq, some(sizes[l], r.ExpFloat64)), append(reached.still, still)
	}
	d.lo = some(sizes[0]*d.rows, r.NormFloat64)
	for b.Loop() {
		if _, _, err := s.noise(d, reached, 0); err != nil {
			b.Fatal(err)
		}
	}
}
