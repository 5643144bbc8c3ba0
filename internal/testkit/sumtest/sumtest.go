// Package sumtest has networks with one hidden layer for tests, and how often they fail. Only tests
// import it.
package sumtest

import (
	"math"
	"math/rand/v2"
	"slices"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// Activations are all that there are.
var Activations = []network.Activation{{Kind: network.ReLU}, {Kind: network.LeakyReLU, Slope: 0.25}, {Kind: network.Tanh}, {Kind: network.Sigmoid}, {}, {Kind: network.Softplus}, {Kind: network.ELU, Slope: 0.75}}

// Net is a small network with one hidden layer.
func Net(r *rand.Rand, in, hidden, out int, act network.Activation) *posterior.Posterior {
	draw := func(n int, mean, sd float64) posterior.Params {
		var m, s []float64
		for range n {
			m, s = append(m, mean*r.NormFloat64()), append(s, sd*(0.2+r.Float64()))
		}
		return posterior.NewParams(m, s, posterior.ScaleSD)
	}
	return &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{
		{Layer: network.DenseLayer(in, hidden, act), Weight: draw(in*hidden, 1, 0.5), Bias: draw(hidden, 0.5, 0.5)},
		{Layer: network.DenseLayer(hidden, out, network.Activation{}), Weight: draw(hidden*out, 1, 0.4), Bias: draw(out, 0.5, 0.3)},
	}}
}

// OneNeuron is f(x) = a s(w x + b) with the certain output weight a.
func OneNeuron(act network.Activation, mean, sd []float64, biasMean, biasSD, a float64) *posterior.Posterior {
	g := posterior.NewParams
	return &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{
		{Layer: network.DenseLayer(len(mean), 1, act), Weight: g(mean, sd, posterior.ScaleSD), Bias: g([]float64{biasMean}, []float64{biasSD}, posterior.ScaleSD)},
		{Layer: network.DenseLayer(1, 1, network.Activation{}), Weight: g([]float64{a}, []float64{0}, posterior.ScaleSD), Bias: g([]float64{0}, []float64{0}, posterior.ScaleSD)},
	}}
}

// Linear is f(x) = w x_1 + w x_2 + b with one neuron, w's of standard deviation
// sd, and the activation.
func Linear(act network.Activation, sd float64) *posterior.Posterior {
	g := func(mean []float64, sd float64) posterior.Params {
		s := make([]float64, len(mean))
		for i := range s {
			s[i] = sd
		}
		return posterior.NewParams(mean, s, posterior.ScaleSD)
	}
	return &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{
		{Layer: network.DenseLayer(2, 1, act), Weight: g([]float64{1, 1}, sd), Bias: g([]float64{0}, 0)},
		{Layer: network.DenseLayer(1, 1, network.Activation{}), Weight: g([]float64{1}, 0), Bias: g([]float64{0}, 0)},
	}}
}

// Drawn is one network of the posterior, as a posterior without spread.
func Drawn(r *rand.Rand, p *posterior.Posterior) *posterior.Posterior {
	q := &posterior.Posterior{Layers: append([]posterior.Layer(nil), p.Layers...)}
	for k := range q.Layers {
		for _, g := range []*posterior.Params{&q.Layers[k].Weight, &q.Layers[k].Bias} {
			m := append([]float64(nil), g.Mean...)
			for i := range m {
				m[i] += g.SdHi[i] * r.NormFloat64()
			}
			g.Mean = m
		}
	}
	return q
}

// Corners are the points of a cell that have an end or the middle in every coordinate.
func Corners(cell property.Box) [][]float64 {
	all := [][]float64{{}}
	for j, lo := range cell.Lo {
		ends := slices.Compact([]float64{lo, lo + (cell.Hi[j]-lo)/2, cell.Hi[j]})
		var more [][]float64
		for _, x := range all {
			for _, end := range ends {
				more = append(more, append(slices.Clone(x), end))
			}
		}
		all = more
	}
	return all
}

// FailShare estimates, from below as only corners of the cell are tried, the
// probability that S fails in the cell; and its standard error.
func FailShare(r *rand.Rand, p *posterior.Posterior, cell property.Box, s *property.Safe, draws int) (share, sigma float64) {
	count, tried := 0, Corners(cell)
	for range draws {
		net := Drawn(r, p)
		for _, x := range tried {
			y := net.LogitsApprox(x)
			margins := make([]float64, len(s.Rows))
			for k, row := range s.Rows {
				margins[k] = row.D
				for c, v := range row.CLo {
					margins[k] += v * y[c]
				}
			}
			if !s.Holds(margins) {
				count++
				break
			}
		}
	}
	share = float64(count) / float64(draws)
	return share, math.Sqrt(share*(1-share)/float64(draws)) + 1/float64(draws)
}

// Single is the set in which one row holds.
func Single(row property.Row) *property.Safe {
	return &property.Safe{Rows: []property.Row{row}, Any: [][]int{{0}}}
}

// Interval is a box of one dimension.
func Interval(lo, hi float64) property.Box {
	return property.Box{Lo: []float64{lo}, Hi: []float64{hi}}
}

// NormalCDF is Phi by the library, good to 1e-15.
func NormalCDF(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
