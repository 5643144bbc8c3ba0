package engine

import (
	"psafe/host/model/network"
	"psafe/host/model/posterior"
)

// PassCost is about how many multiplications it takes to bound one input box by LBP: every
// neuron is taken back to the input, over the windows that it sees where that is less.
func PassCost(post *posterior.Posterior) float64 {
	products, cost := 0.0, 0.0
	net := post.Network()
	layouts := net.Layouts()
	for k, l := range post.Layers {
		if _, fixed := l.Map.(network.Fixed); !fixed { // those need no rows of their own
			row := products
			if w := net.UnitWindows(layouts, k, nil); w != nil {
				row = min(row, windowProducts(w, k))
			}
			cost += float64(l.Outputs()) * row
		}
		products += Products(&l)
	}
	return cost
}

// windowProducts is about how many products the sums of windows below layer k have.
func windowProducts(w *network.Windows, k int) float64 {
	products := 0.0
	for l, m := range w.Maps[:k] {
		if w.Reached[l] {
			window := network.Layer{Map: m}
			products += float64(window.Work() - window.Outputs())
		}
	}
	return products
}

// Products is about how many products the sums of a layer have.
func Products(l *posterior.Layer) float64 { return float64(l.Work() - l.Outputs()) }
