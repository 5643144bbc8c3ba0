package noise

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// TestAlongMargin: bounds hold where all weights move with one number along the gradient of a margin, so that
// weights or layers taken for independent of each other would make its deviation too small by a large factor.
func TestAlongMargin(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 44))
	lower := 0
	for i := range testscale.Costly(t, 800) {
		sizes := [][]int{{2, 4, 3}, {2, 5, 4, 3}, {1, 6, 2}, {2, 3, 3, 3, 3}}[rng.IntN(4)]
		post, task := alongMargin(rng, checktest.Activations[i%len(checktest.Activations)], i%2 == 0, sizes)
		r := checktest.Certified(t, bound.Float64, post, prove.Config{Method: prove.CLBP, Cells: 1}, []property.Task{task})[0]
		if low, _ := againstDraws(t, i, post, &task, r, 2000); low {
			lower++
		}
	}
	if t.Logf("%d lower bounds", lower); !testing.Short() && lower == 0 {
		t.Error("nothing was tested")
	}
}

// alongMargin is a posterior, of SWAG or of a covariance in each layer, with about the standard deviation of
// the margin at the middle of T that is the margin divided by a number from 0.8 to 3.8.
func alongMargin(rng *rand.Rand, act net.Activation, swag bool, sizes []int) (*posterior.Posterior, property.Task) {
	base := sumtest.RandomNoisy(rng, act, 0, sizes...)
	var b property.Box
	var middle []float64
	eps := []float64{0, 0, 0.02, 0.2}[rng.IntN(4)]
	for range sizes[0] {
		x := rng.NormFloat64()
		b.Lo, b.Hi, middle = append(b.Lo, x-eps), append(b.Hi, x+eps), append(middle, x)
	}
	w := base.NewWeights()
	for a, m := range base.Mean() {
		copy(w[a], m)
	}
	pass := base.Network().NewPass(w)
	best, next := firstTwo(pass.Forward(middle))
	margin := func() float64 { y := pass.Forward(middle); return y[best] - y[next] }
	size := margin()
	slopes, square := make([][]float64, len(w)), 0.0
	for a := range w {
		for e, old := range w[a] {
			w[a][e] = old + 0x1p-16
			slope := (margin() - size) * 0x1p16
			slopes[a], square, w[a][e] = append(slopes[a], slope), square+slope*slope, old
		}
	}
	by := size / (0.8 + 3*rng.Float64()) / square * float64(1-2*rng.IntN(2))
	task := property.Task{Label: -1, T: []property.Box{b}, Inner: []property.Box{b}, S: property.ArgmaxIs(best, sizes[len(sizes)-1])}
	var post *posterior.Posterior
	var err error
	if swag {
		var spread, deviation [][]float64
		for _, s := range slopes {
			d := make([]float64, 2*len(s)) // of rank 2, with a factor of 1/sqrt(2)
			for e, v := range s {
				d[e] = v * by * math.Sqrt2
			}
			spread, deviation = append(spread, make([]float64, len(s))), append(deviation, d)
		}
		post, err = posterior.FromSWAG(base.Layers, posterior.ScaleSD, spread, 2, deviation)
	} else {
		all := make([]*posterior.Covariance, len(base.Layers))
		by *= math.Sqrt(float64(len(all)))
		for k := range all {
			in, out := sizes[k], sizes[k+1]
			all[k] = &posterior.Covariance{Rank: 1, Factor: make([]float64, out*(in+1))}
			for o := range out {
				for j := range in {
					all[k].Factor[o*(in+1)+j] = slopes[2*k][j*out+o] * by
				}
				all[k].Factor[o*(in+1)+in] = slopes[2*k+1][o] * by
			}
		}
		post, err = posterior.FromCovariances(base.Layers, all)
	}
	if err != nil {
		panic(err)
	}
	return post, task
}

// firstTwo are the largest of some numbers, and the largest of the others.
func firstTwo(y []float64) (best, next int) {
	next = -1
	for o := range y {
		if y[o] > y[best] {
			best = o
		}
	}
	for o := range y {
		if o != best && (next < 0 || y[o] > y[next]) {
			next = o
		}
	}
	return best, next
}
