package checktest

import (
	"math"
	"math/rand/v2"

	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testkit/sumtest"
)

// BentTask is a network with ReLU and a row that a wide box leaves open or nearly so.
func BentTask(rng *rand.Rand, sd float64, sizes ...int) (*posterior.Posterior, *property.Task) {
	post := sumtest.RandomNoisy(rng, net.Activation{Kind: net.ReLU}, sd, sizes...)
	b := property.Box{}
	eps := []float64{0.1, 0.3, 1}[rng.IntN(3)]
	for range sizes[0] {
		x := rng.NormFloat64()
		b.Lo, b.Hi = append(b.Lo, x-eps), append(b.Hi, x+eps)
	}
	y := post.LogitsApprox(b.Lo)
	row := property.Row{CLo: []float64{1, -1}, CHi: []float64{1, -1}}
	row.D = (1+3*rng.Float64())*(1+math.Abs(y[0]-y[1])) - y[0] + y[1]
	row.DHi = row.D
	return post, &property.Task{Label: -1, T: []property.Box{b}, Inner: []property.Box{b}, S: property.Safe{Rows: []property.Row{row}, Any: [][]int{{0}}}}
}

// KeptClass asks whether the class of the mean network stays on a ball.
func KeptClass(rng *rand.Rand, post *posterior.Posterior, eps float64) property.Task {
	b := BallOf(rng, post.Inputs(), eps)
	y := post.LogitsApprox(b.Lo)
	class := 0
	for c := range y {
		if y[c] > y[class] {
			class = c
		}
	}
	boxes := []property.Box{b}
	return property.Task{Label: class, T: boxes, Inner: boxes, S: property.ArgmaxIs(class, post.Outputs())}
}
