package mean

import (
	"math"
	"math/rand/v2"
	"testing"

	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
)

// TestGraphNorms: second moments of outputs are not above the bound; of one convolution they are
// its parts exactly.
func TestGraphNorms(t *testing.T) {
	checktest.Kinds(t, 20, func(t *testing.T, rng *rand.Rand, kind string) {
		const draws = 400
		post := checktest.Sketched(rng, kind, checktest.Activations[1+rng.IntN(len(checktest.Activations)-1)], 0.5)
		x := checktest.BallOf(rng, 16, 0)
		norms := normsUp(post, []property.Box{x})
		squares, fourth, w := make([]float64, 2), make([]float64, 2), post.NewWeights()
		for d := range draws {
			pre := checktest.DrawnNetwork(post, d, w)(x.Lo)
			for i, y := range pre[len(pre)-1] {
				squares[i] += y * y / draws
				fourth[i] += y * y * y * y / draws
			}
		}
		for i, n := range norms {
			if !(squares[i]-5*math.Sqrt(fourth[i]/draws) <= n*n*(1+1e-12)) {
				t.Errorf("output %d: the mean square is about %v, the bound %v", i, squares[i], n*n)
			}
		}
	})
}

// TestNormsOfMaps: of maps without weights the norms are sums of those of what they take, of a maximum
// the root of the sum of squares.
func TestNormsOfMaps(t *testing.T) {
	image := net.Image{Height: 1, Width: 2, Channels: 1}
	window := net.Window{Size: [2]int{1, 2}, Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}}
	for _, c := range []struct {
		m    net.Map
		want float64
	}{
		{net.MaxPool{In: image, Window: window}, 5}, {net.AvgPool{In: image, Window: window}, 3.5}, {net.Add{N: 1, Terms: 2}, 7},
	} {
		l := posterior.Layer{Layer: net.Layer{Map: c.m}}
		if got := layerNormsUp(&l, []float64{3, 4})[0]; got < c.want || got > c.want*(1+1e-12) {
			t.Errorf("%T: the norm is %v, want %v", c.m, got, c.want)
		}
	}
}
