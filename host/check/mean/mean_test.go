package mean

import (
	"math"
	"math/rand/v2"
	"testing"

	net "psafe/host/model/network"
	"psafe/host/read/property"
	"psafe/internal/testkit/sumtest"
)

// TestMeanOfMasks: of dropout the means and deviations of all masks together are within what is proved.
func TestMeanOfMasks(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 91))
	for i := range 40 {
		sizes := [][]int{{2, 3, 1}, {1, 3, 3, 1}}[i%2]
		post := sumtest.RandomMasked(r, net.Activation{Kind: net.ReLU}, r.IntN(len(sizes)-1), sizes...)
		var box property.Box
		for range sizes[0] {
			x := r.NormFloat64()
			box.Lo, box.Hi = append(box.Lo, x), append(box.Hi, x+0.1*float64(i/2%2))
		}
		mean, sd, err := meanOfReLU(post, box)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range [][]float64{box.Lo, box.Hi} {
			m, square := 0.0, 0.0
			sumtest.EachMask(post, func(p float64, w [][]float64) {
				y := post.Network().OutputsApprox(w, x)[0]
				m, square = m+p*y, square+p*y*y
			})
			if m < mean.Lo[0]-1e-9 || m > mean.Hi[0]+1e-9 {
				t.Errorf("%d: the mean is said to be from %v to %v, it is %v", i, mean.Lo[0], mean.Hi[0], m)
			}
			if s := math.Sqrt(max(0, square-m*m)); s < sd.Lo[0]-1e-6 || s > sd.Hi[0]+1e-6 {
				t.Errorf("%d: the deviation is said to be from %v to %v, it is %v", i, sd.Lo[0], sd.Hi[0], s)
			}
		}
	}
}

// TestNoDeviation: of networks that are certain a deviation from 0 on is proved, as it is claimed.
func TestNoDeviation(t *testing.T) {
	r := rand.New(rand.NewPCG(88, 89))
	for _, sizes := range [][]int{{2, 3}, {2, 5, 3}, {2, 4, 4, 3}} {
		post := sumtest.RandomNoisy(r, net.Activation{Kind: net.ReLU}, 0, sizes...)
		_, sd, err := meanOfReLU(post, property.Box{Lo: []float64{-1, 0.5}, Hi: []float64{1, 0.75}})
		if err != nil {
			t.Fatal(err)
		}
		for i, lo := range sd.Lo {
			if lo != 0 || !(sd.Hi[i] >= 0 && sd.Hi[i] < 1e-6) {
				t.Errorf("%v: output %d deviates by %v to %v", sizes, i, lo, sd.Hi[i])
			}
		}
	}
}
