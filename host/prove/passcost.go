package prove

import (
	"psafe/host/model/network"
	"psafe/host/model/posterior"
)

// passCost is about how many multiplications it takes to bound one input box by LBP: every
// neuron is taken back to the input.
func passCost(post *posterior.Posterior) float64 {
	products, cost := 0.0, 0.0
	for _, l := range post.Layers {
		if _, fixed := l.Map.(network.Fixed); !fixed { // those need no rows of their own
			cost += float64(l.Outputs()) * products
		}
		products += productsOf(&l)
	}
	return cost
}

// productsOf is about how many products the sums of a layer have.
func productsOf(l *posterior.Layer) float64 { return float64(l.Work() - l.Outputs()) }
