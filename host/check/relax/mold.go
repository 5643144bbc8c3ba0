package relax

import (
	"fmt"

	net "psafe/host/model/network"
)

// Matrix is a list of parameters as the layer's matrix has them: itself for a dense layer.
func Matrix(list []float64, params []int32) []float64 {
	if params == nil {
		return list
	}
	m := make([]float64, len(params))
	for at, n := range params {
		if n >= 0 {
			m[at] = list[n]
		}
	}
	return m
}

// mold is a network without its weights.
type mold struct {
	layers []Layer
	// Params are where the matrices of layers come from, weights which layers have parameters.
	Params  [][]int32
	Weights []bool
	Graph   *Graph
}

// MoldOf reads the shape of a network. The error names the layer that cannot be checked.
func MoldOf(n net.Network) (*mold, error) {
	if err := n.Check(); err != nil {
		return nil, err
	}
	m := &mold{}
	for k, l := range n {
		s, params, err := ShapeOf(l.Map, l.Activation)
		if err != nil {
			return nil, fmt.Errorf("layer %d: %w", k, err)
		}
		s.sources = l.Sources
		m.layers, m.Params = append(m.layers, s), append(m.Params, params)
		m.Weights = append(m.Weights, Weighted(l.Map))
	}
	if last := len(m.layers) - 1; m.layers[last].At != nil || m.layers[last].Windows != nil {
		return nil, fmt.Errorf("layer %d: the last layer is a %T, only dense ones can be checked", last, n[last].Map)
	}
	var err error
	m.Graph, err = graphOf(m.layers)
	return m, err
}

// Filled are the layers with weights and biases in these intervals: entry 2k of each list is
// the weights of layer k, entry 2k+1 its biases. Where lo and hi are one list, the weights are
// numbers, and share their memory.
func (m *mold) Filled(lo, hi [][]float64) ([]Layer, error) {
	layers := make([]Layer, len(m.layers))
	for k, l := range m.layers {
		if m.Weights[k] {
			want, biases := l.In*l.Out, l.Out
			if l.At != nil {
				want, biases = -1, l.At.Channels
			}
			if len(lo[2*k+1]) != biases || want >= 0 && len(lo[2*k]) != want {
				return nil, fmt.Errorf("layer %d has %d weights and %d biases", k, len(lo[2*k]), len(lo[2*k+1]))
			}
			l.B = Span{lo[2*k+1], hi[2*k+1]}
			l.W.Lo = Matrix(lo[2*k], m.Params[k])
			if l.W.Hi = l.W.Lo; len(lo[2*k]) > 0 && &lo[2*k][0] != &hi[2*k][0] {
				l.W.Hi = Matrix(hi[2*k], m.Params[k])
			}
		}
		layers[k] = l
	}
	return layers, nil
}
