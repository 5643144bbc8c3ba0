package engine

import (
	"psafe/host/model/network"
	"psafe/host/model/posterior"
)

// PassCost is about how many multiplications it takes to bound one input box by LBP: every
// neuron is taken back to the input.
func PassCost(post *posterior.Posterior) float64 {
	products, cost := 0.0, 0.0
	for _, l := range post.Layers {
		if _, fixed := l.Map.(network.Fixed); !fixed { // those need no rows of their own
			cost += float64(l.Outputs()) * products
		}
		products += Products(&l)
	}
	return cost
}

// Products is about how many products the sums of a layer have.
func Products(l *posterior.Layer) float64 { return float64(l.Work() - l.Outputs()) }
