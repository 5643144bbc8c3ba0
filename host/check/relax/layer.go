package relax

import (
	"fmt"

	"psafe/host/check/curves"
	net "psafe/host/model/network"
)

// Layer is a layer of a network whose weights are known to lie in intervals. A dense one has
// its matrix [in*out] with outputs contiguous (the weight from input j to output i is number
// j*out+i), and biases [out]. Other linear maps multiply a small matrix, [taps*channels] with
// channels contiguous, with what lies under its taps at each position, and have [channels]
// biases. A max pool has neither.
type Layer struct {
	In, Out int
	W, B    Span
	Act     net.Activation
	At      *Places   // nil: dense, or a max pool
	Windows [][]int32 // of a max pool: the members of each output
	Fixed   bool      // the matrix is no parameters'
	// sources are the layers whose outputs are the inputs, one after the other, -1 being the
	// network's input; nil is the layer before.
	sources []int
}

// Places tell which inputs the matrix of a map meets: input Tap[p*taps+k] is under tap k at
// position p, -1 if nothing is, and output p*channels+o is that of channel o there.
type Places struct {
	Positions, Taps, Channels int
	Tap                       []int32
	// Kernels are the taps that channel o has weights for.
	Kernels [][]int32
}

// Under are the inputs under the taps at position p.
func (at *Places) Under(p int) []int32 { return at.Tap[p*at.Taps : (p+1)*at.Taps] }

// Weighted reports whether the layer's map is one with parameters.
func Weighted(m net.Map) bool {
	_, dense := m.(net.Dense)
	_, conv := m.(net.Conv)
	return dense || conv
}

// lowered describes what the maps that are no matrix have in common.
type lowered interface{ Lowered() *net.Lowered }

// ShapeOf is a layer without its weights, and where each of its matrix comes from: the number
// of a parameter, or -1 for none.
func ShapeOf(m net.Map, act net.Activation) (l Layer, params []int32, err error) {
	l = Layer{In: m.Inputs(), Out: m.Outputs(), Act: act}
	if !curves.Supported(act) {
		return l, nil, fmt.Errorf("activation %v cannot be checked", act)
	}
	switch m := m.(type) {
	case net.Dense:
		return l, nil, nil
	case net.MaxPool:
		l.Windows, err = windowsOf(&m)
		return l, nil, err
	case net.Conv, net.AvgPool, net.Add, net.Concat, net.Reorder:
		low := m.(lowered).Lowered()
		if l.At, err = placesOf(low, l.In); err != nil {
			return l, nil, err
		}
		if l.At.Positions*l.At.Channels != l.Out {
			return l, nil, fmt.Errorf("a %T has %d outputs at %d positions", m, l.Out, l.At.Positions)
		}
		if !Weighted(m) {
			l.Fixed = true
			l.W, l.B = Span{low.CoefficientLo, low.CoefficientHi}, NewSpan(l.At.Channels)
			if l.At.Channels != 1 || len(l.W.Lo) != l.At.Taps || len(l.W.Hi) != l.At.Taps {
				return l, nil, fmt.Errorf("a %T has %d channels and %d coefficients for %d taps", m, l.At.Channels, len(l.W.Lo), l.At.Taps)
			}
			return l, nil, nil
		}
		params, err = paramsOf(low, l.At, m.Weights())
		return l, params, err
	}
	return l, nil, fmt.Errorf("a %T cannot be checked", m)
}

// placesOf reads where a map meets its inputs. No position may meet one twice: (18) rests on it.
func placesOf(low *net.Lowered, in int) (*Places, error) {
	at := &Places{Positions: low.Positions, Taps: low.Taps, Channels: low.Channels}
	met := make([]int, in)
	for p := range at.Positions {
		for k := range at.Taps {
			j := low.Input(p, k)
			switch {
			case j >= in || j < -1:
				return nil, fmt.Errorf("it takes input %d of %d", j, in)
			case j >= 0 && met[j] == p+1:
				return nil, fmt.Errorf("input %d is under two taps at position %d", j, p)
			case j >= 0:
				met[j] = p + 1
			}
			at.Tap = append(at.Tap, int32(j))
		}
	}
	all := make([]int32, at.Taps)
	for k := range all {
		all[k] = int32(k)
	}
	for o := range at.Channels {
		kernel := all
		if low.Weight != nil {
			kernel = nil
			for k := range at.Taps {
				if low.Param(k, o) >= 0 {
					kernel = append(kernel, int32(k))
				}
			}
		}
		at.Kernels = append(at.Kernels, kernel)
	}
	return at, nil
}

// paramsOf reads which parameter is where in the matrix. None may be in two places of it: (17)
// and (29) rest on it.
func paramsOf(low *net.Lowered, at *Places, weights int) ([]int32, error) {
	params := make([]int32, at.Taps*at.Channels)
	seen := make([]bool, weights)
	for k := range at.Taps {
		for o := range at.Channels {
			n := low.Param(k, o)
			if n >= weights || n >= 0 && seen[n] {
				return nil, fmt.Errorf("weight %d of %d is in two places of the matrix, or not there", n, weights)
			}
			if n >= 0 {
				seen[n] = true
			}
			params[k*at.Channels+o] = int32(n)
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

func IsIdentity(a net.Activation) bool {
	below, kinked := a.Kinked()
	return kinked && below == 1
}

// Cuts reports whether the activation is max(t, 0).
func Cuts(a net.Activation) bool {
	below, kinked := a.Kinked()
	return kinked && below == 0
}
