package decide

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	"psafe/host/read/property"
	"psafe/internal/testkit/provetest"
)

// TestDrawnSoftmax: the mean of the drawn networks' softmax is bounded at a point to some roundings, and on a box from
// below at every point of it.
func TestDrawnSoftmax(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 7))
	post := provetest.Noisy(rng, 0.2, false, 3, 8, 4)
	e := engineOf(t, bound.Float64, post.Layers...)
	const networks = 40
	var tasks []property.Task
	for i := range 6 {
		b := property.Box{Lo: make([]float64, 3), Hi: make([]float64, 3)}
		for j := range b.Lo {
			b.Lo[j] = rng.NormFloat64()
			b.Hi[j] = b.Lo[j] + 0.05*float64(i/3)
		}
		tasks = append(tasks, property.Task{T: []property.Box{b}, S: property.ArgmaxIs(i%4, 4), Label: i % 4})
	}
	for _, part := range [][]property.Task{tasks[:3], tasks} { // points alone are bounded by intervals
		got, err := DrawnSoftmax(t.Context(), e, Draws{Networks: networks, Seed: 5}, part)
		if err != nil {
			t.Fatal(err)
		}
		for i, task := range part {
			for corner := range 8 {
				x := make([]float64, 3)
				for j := range x {
					x[j] = [][]float64{task.T[0].Lo, task.T[0].Hi}[corner>>j&1][j]
				}
				mean := 0.0
				for n := range networks {
					w := post.NewWeights()
					post.Draw(5, n, w)
					mean += softmaxOf(post.Network().NewPass(w).Forward(x), task.Label) / networks
				}
				if got[i] > mean+1e-14 || i < 3 && got[i] < mean-1e-9 {
					t.Errorf("task %d: %v, at corner %d it is %v", i, got[i], corner, mean)
				}
			}
			if got[i] <= 0 {
				t.Errorf("task %d: %v", i, got[i])
			}
		}
	}
}

func softmaxOf(y []float64, c int) float64 {
	sum := 0.0
	for _, v := range y {
		sum += math.Exp(v - y[c])
	}
	return 1 / sum
}
