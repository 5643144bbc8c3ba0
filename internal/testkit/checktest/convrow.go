package checktest

import (
	"math"
	"math/rand/v2"

	net "psafe/host/model/network"
)

// ConvRow is a convolution with intervals for weights, biases and inputs, each as lower and upper ends, and a
// row of its outputs.
type ConvRow struct {
	Conv     net.Conv
	W, B, In [2][]float64
	Row      []float64
}

// RandomConvRow draws one.
func RandomConvRow(rng *rand.Rand) *ConvRow {
	c := &ConvRow{Conv: net.Conv{In: net.Image{Height: 3, Width: 3, Channels: 2}, Window: WindowOf(2, 1, rng.IntN(2)), Filters: 2, Groups: 1 + rng.IntN(2)}}
	number := func() float64 { return math.Round(rng.NormFloat64()*64) / 64 }
	list := func(n int, width float64) (ends [2][]float64) {
		for range n {
			x, r := number(), 0.0
			if rng.IntN(4) > 0 {
				r = math.Abs(number()) * width
			}
			ends[0], ends[1] = append(ends[0], x-r), append(ends[1], x+r)
		}
		return ends
	}
	c.W, c.B, c.In = list(c.Conv.Weights(), 0.25), list(c.Conv.Biases(), 0.25), list(c.Conv.Inputs(), 0.5)
	c.Row = make([]float64, c.Conv.Outputs())
	for i := range c.Row {
		if rng.IntN(2) == 0 {
			c.Row[i] = number() / 3
		}
	}
	return c
}
