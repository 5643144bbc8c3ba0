package sharp

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
	s := New(post, func() error { return nil })
	d, reached := &Rows{Top: 1, Rows: 256}, &Reach{}
	for l := range 2 {
		d.A = append(d.A, some(sizes[l+1]*d.Rows, r.NormFloat64))
		still := make([]bool, sizes[l])
		for j := range still {
			still[j] = l > 0 && r.IntN(2) == 0
		}
		reached.Radius = append(reached.Radius, some(sizes[l], r.ExpFloat64))
		reached.MaxSq, reached.Still = append(reached.MaxSq, some(sizes[l], r.ExpFloat64)), append(reached.Still, still)
	}
	d.Lo = some(sizes[0]*d.Rows, r.NormFloat64)
	for b.Loop() {
		if _, err := s.Noise([]*Rows{d}, reached, 0); err != nil {
			b.Fatal(err)
		}
	}
}
