package check

import (
	"fmt"

	"psafe/host/check/curves"
	net "psafe/host/model/network"
)

// layer is a layer of a network whose weights are known to lie in intervals. A dense one has
// its matrix [in*out] with outputs contiguous (the weight from input j to output i is number
// j*out+i), and biases [out]. Other linear maps multiply a small matrix, [taps*channels] with
// channels contiguous, with what lies under its taps at each position, and have [channels]
// biases. A max pool has neither.
type layer struct {
	in, out int
	w, b    span
	act     net.Activation
	at      *places   // nil: dense, or a max pool
	windows [][]int32 // of a max pool: the members of each output
	fixed   bool      // the matrix is no parameters'
	// sources are the layers whose outputs are the inputs, one after the other, -1 being the
	// network's input; nil is the layer before.
	sources []int
}

// places tell which inputs the matrix of a map meets: input tap[p*taps+k] is under tap k at
// position p, -1 if nothing is, and output p*channels+o is that of channel o there.
type places struct {
	positions, taps, channels int
	tap                       []int32
	// kernels are the taps that channel o has weights for.
	kernels [][]int32
}

// under are the inputs under the taps at position p.
func (at *places) under(p int) []int32 { return at.tap[p*at.taps : (p+1)*at.taps] }

// weighted reports whether the layer's map is one with parameters.
func weighted(m net.Map) bool {
	_, dense := m.(net.Dense)
	_, conv := m.(net.Conv)
	return dense || conv
}

// lowered describes what the maps that are no matrix have in common.
type lowered interface{ Lowered() *net.Lowered }

// shapeOf is a layer without its weights, and where each of its matrix comes from: the number
// of a parameter, or -1 for none.
func shapeOf(m net.Map, act net.Activation) (l layer, params []int32, err error) {
	l = layer{in: m.Inputs(), out: m.Outputs(), act: act}
	if !curves.Supported(act) {
		return l, nil, fmt.Errorf("activation %v cannot be checked", act)
	}
	switch m := m.(type) {
	case net.Dense:
		return l, nil, nil
	case net.MaxPool:
		l.windows, err = windowsOf(&m)
		return l, nil, err
	case net.Conv, net.AvgPool, net.Add, net.Concat, net.Reorder:
		low := m.(lowered).Lowered()
		if l.at, err = placesOf(low, l.in); err != nil {
			return l, nil, err
		}
		if l.at.positions*l.at.channels != l.out {
			return l, nil, fmt.Errorf("a %T has %d outputs at %d positions", m, l.out, l.at.positions)
		}
		if !weighted(m) {
			l.fixed = true
			l.w, l.b = span{low.CoefficientLo, low.CoefficientHi}, newSpan(l.at.channels)
			if l.at.channels != 1 || len(l.w.lo) != l.at.taps || len(l.w.hi) != l.at.taps {
				return l, nil, fmt.Errorf("a %T has %d channels and %d coefficients for %d taps", m, l.at.channels, len(l.w.lo), l.at.taps)
			}
			return l, nil, nil
		}
		params, err = paramsOf(low, l.at, m.Weights())
		return l, params, err
	}
	return l, nil, fmt.Errorf("a %T cannot be checked", m)
}

// placesOf reads where a map meets its inputs. No position may meet one twice: (18) rests on it.
func placesOf(low *net.Lowered, in int) (*places, error) {
	at := &places{positions: low.Positions, taps: low.Taps, channels: low.Channels}
	met := make([]int, in)
	for p := range at.positions {
		for k := range at.taps {
			j := low.Input(p, k)
			switch {
			case j >= in || j < -1:
				return nil, fmt.Errorf("it takes input %d of %d", j, in)
			case j >= 0 && met[j] == p+1:
				return nil, fmt.Errorf("input %d is under two taps at position %d", j, p)
			case j >= 0:
				met[j] = p + 1
			}
			at.tap = append(at.tap, int32(j))
		}
	}
	all := make([]int32, at.taps)
	for k := range all {
		all[k] = int32(k)
	}
	for o := range at.channels {
		kernel := all
		if low.Weight != nil {
			kernel = nil
			for k := range at.taps {
				if low.Param(k, o) >= 0 {
					kernel = append(kernel, int32(k))
				}
			}
		}
		at.kernels = append(at.kernels, kernel)
	}
	return at, nil
}

// paramsOf reads which parameter is where in the matrix. None may be in two places of it: (17)
// and (29) rest on it.
func paramsOf(low *net.Lowered, at *places, weights int) ([]int32, error) {
	params := make([]int32, at.taps*at.channels)
	seen := make([]bool, weights)
	for k := range at.taps {
		for o := range at.channels {
			n := low.Param(k, o)
			if n >= weights || n >= 0 && seen[n] {
				return nil, fmt.Errorf("weight %d of %d is in two places of the matrix, or not there", n, weights)
			}
			if n >= 0 {
				seen[n] = true
			}
			params[k*at.channels+o] = int32(n)
		}
	}
	return params, nil
}

// windowsOf lists the members of each output of a max pool.
func windowsOf(m *net.MaxPool) ([][]int32, error) {
	list := m.Members()
	size := len(list) / m.Outputs()
	windows := make([][]int32, m.Outputs())
	for v := range windows {
		for _, j := range list[v*size : (v+1)*size] {
			if int(j) >= m.Inputs() {
				return nil, fmt.Errorf("a max pool takes input %d of %d", j, m.Inputs())
			}
			if j >= 0 {
				windows[v] = append(windows[v], j)
			}
		}
		if len(windows[v]) == 0 {
			return nil, fmt.Errorf("window %d of a max pool is empty", v)
		}
	}
	return windows, nil
}

// matrix is a list of parameters as the layer's matrix has them: itself for a dense layer.
func matrix(list []float64, params []int32) []float64 {
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
	layers []layer
	// params are where the matrices of layers come from, weights which layers have parameters.
	params  [][]int32
	weights []bool
	graph   *graph
}

// moldOf reads the shape of a network. The error names the layer that cannot be checked.
func moldOf(n net.Network) (*mold, error) {
	if err := n.Check(); err != nil {
		return nil, err
	}
	m := &mold{}
	for k, l := range n {
		s, params, err := shapeOf(l.Map, l.Activation)
		if err != nil {
			return nil, fmt.Errorf("layer %d: %w", k, err)
		}
		s.sources = l.Sources
		m.layers, m.params = append(m.layers, s), append(m.params, params)
		m.weights = append(m.weights, weighted(l.Map))
	}
	if last := len(m.layers) - 1; m.layers[last].at != nil || m.layers[last].windows != nil {
		return nil, fmt.Errorf("layer %d: the last layer is a %T, only dense ones can be checked", last, n[last].Map)
	}
	var err error
	m.graph, err = graphOf(m.layers)
	return m, err
}

// filled are the layers with weights and biases in these intervals: entry 2k of each list is
// the weights of layer k, entry 2k+1 its biases. Where lo and hi are one list, the weights are
// numbers, and share their memory.
func (m *mold) filled(lo, hi [][]float64) ([]layer, error) {
	layers := make([]layer, len(m.layers))
	for k, l := range m.layers {
		if m.weights[k] {
			want, biases := l.in*l.out, l.out
			if l.at != nil {
				want, biases = -1, l.at.channels
			}
			if len(lo[2*k+1]) != biases || want >= 0 && len(lo[2*k]) != want {
				return nil, fmt.Errorf("layer %d has %d weights and %d biases", k, len(lo[2*k]), len(lo[2*k+1]))
			}
			l.b = span{lo[2*k+1], hi[2*k+1]}
			l.w.lo = matrix(lo[2*k], m.params[k])
			if l.w.hi = l.w.lo; len(lo[2*k]) > 0 && &lo[2*k][0] != &hi[2*k][0] {
				l.w.hi = matrix(hi[2*k], m.params[k])
			}
		}
		layers[k] = l
	}
	return layers, nil
}
