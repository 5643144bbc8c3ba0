package format

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
)

// drawn are n means and spreads, all float32, -1 draws certain ones.
func drawn(r *rand.Rand, n int, scale posterior.Scale) posterior.Params {
	mean, spread := make([]float64, n), make([]float64, n)
	for i := range mean {
		if mean[i] = float64(float32(r.NormFloat64())); scale != posterior.ScaleNone {
			spread[i] = float64(float32(r.ExpFloat64()))
		}
	}
	return posterior.NewParams(mean, spread, scale)
}

// layerOf is a layer with parameters drawn for its map.
func layerOf(r *rand.Rand, m network.Map, a network.Activation, scale posterior.Scale, sources ...int) posterior.Layer {
	l := posterior.Layer{Layer: network.Layer{Map: m, Activation: a, Sources: sources}}
	if m.Weights() > 0 {
		l.Weight, l.Bias = drawn(r, m.Weights(), scale), drawn(r, m.Biases(), scale)
	}
	return l
}

func win(size, stride int, pad ...int) network.Window {
	w := network.Window{Size: [2]int{size, size}, Stride: [2]int{stride, stride}, Dilation: [2]int{1, 1}}
	if len(pad) == 4 {
		w.Before, w.After = [2]int{pad[0], pad[2]}, [2]int{pad[1], pad[3]}
	}
	return w
}

var linear = network.Activation{}

// graphs are canonical networks with every kind of map.
func graphs(scale posterior.Scale) map[string]*posterior.Posterior {
	r := rand.New(rand.NewPCG(3, 4))
	of := func(layers ...posterior.Layer) *posterior.Posterior {
		return &posterior.Posterior{Scale: scale, Layers: layers}
	}
	layer := func(m network.Map, a network.Activation, sources ...int) posterior.Layer {
		return layerOf(r, m, a, scale, sources...)
	}
	conv := network.Conv{In: network.Image{Height: 6, Width: 5, Channels: 2}, Window: win(3, 1), Filters: 4, Groups: 1}
	first := conv
	first.ChannelsFirst = true
	pool := network.MaxPool{In: conv.Out(), Window: win(2, 2)}
	padded := network.Conv{In: pool.Out(), Window: win(3, 1, 1, 1, 1, 1), Filters: 4, Groups: 2}
	norm := network.Conv{In: padded.Out(), Window: win(1, 1), Filters: 4, Groups: 4}
	mean := network.AvgPool{In: norm.Out(), Window: win(2, 1, 1, 0, 0, 1), CountPadding: true}
	return map[string]*posterior.Posterior{
		"chain of images": of(layer(conv, linear), layer(pool, relu), layer(padded, linear), layer(norm, relu), layer(mean, linear),
			layer(network.Dense{In: mean.Outputs(), Out: 3}, linear)),
		"channels first": of(layer(first, linear), layer(pool, relu), layer(network.Dense{In: pool.Outputs(), Out: 3}, linear)),
		"residual": of(layer(conv, relu), layer(network.Conv{In: conv.Out(), Window: win(3, 1, 1, 1, 1, 1), Filters: 4, Groups: 1}, linear),
			layer(network.Add{N: conv.Outputs(), Terms: 2}, relu, 1, 0), layer(network.Concat{Height: 4, Width: 3, Channels: []int{4, 4}}, linear, 2, 0),
			layer(network.Dense{In: 2 * conv.Outputs(), Out: 2}, linear)),
		"split": of(layer(conv, linear), layer(network.Reorder{In: 48, Order: iota32(48)}, relu), layer(pool, relu, 0), layer(network.Dense{In: 48 + 8, Out: 3}, linear, 1, 2)),
		"lists": of(layer(network.Dense{In: 4, Out: 6}, relu), layer(network.Reorder{In: 6, Order: []int32{5, 0, 0}}, linear), layer(network.Dense{In: 4, Out: 3}, relu, -1),
			layer(network.Concat{Height: 1, Width: 1, Channels: []int{3, 3, 4}}, linear, 1, 2, -1), layer(network.Add{N: 3, Terms: 2}, linear, 1, 2),
			layer(network.Dense{In: 13, Out: 2}, linear, 3, 4)),
		"image of a list": of(layer(network.Dense{In: 4, Out: 60}, relu), layer(first, linear), layer(network.Conv{In: network.Image{Height: 2, Width: 6, Channels: 4}, Window: win(2, 1), Filters: 1, Groups: 1, ChannelsFirst: true}, relu),
			layer(network.Dense{In: 5, Out: 2}, linear)),
		"concat of lists": of(layer(network.Dense{In: 4, Out: 12}, relu), layer(network.Dense{In: 4, Out: 8}, relu, -1), layer(network.Concat{Height: 2, Width: 2, Channels: []int{3, 2}}, linear, 0, 1),
			layer(network.Conv{In: network.Image{Height: 2, Width: 2, Channels: 5}, Window: win(2, 1), Filters: 2, Groups: 1}, relu), layer(network.Dense{In: 2, Out: 2}, linear)),
		"pool of the input": of(layer(network.Reorder{In: 60, Order: iota32(60)}, linear), layer(network.MaxPool{In: conv.In, Window: win(2, 1)}, linear), layer(network.Dense{In: 40, Out: 2}, linear)),
	}
}

func iota32(n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i)
	}
	return list
}

// TestRoundTripGraphs: what is written of a graph is read as the same network with the same
// numbers, and written again as the same bytes.
func TestRoundTripGraphs(t *testing.T) {
	for ext, write := range writers {
		for name, p := range graphs(posterior.ScaleSD) {
			if err := p.Validate(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, shape := range [][]int{nil, {p.Inputs()}, {6, 5, 2}, {2, 6, 5}} {
				p := *p
				if p.Input.Shape = shape; p.Validate() != nil {
					continue
				}
				var one, two bytes.Buffer
				if err := write(&one, &p); err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				got, _, err := readBytes(t, one.Bytes(), Options{})
				if err != nil {
					t.Errorf("%s%s %v: %v", name, ext, shape, err)
					continue
				}
				if shape == nil {
					p.Input.Shape = imageShape(&p) // which the first layer says
				}
				if !reflect.DeepEqual(got.Layers, p.Layers) || !reflect.DeepEqual(got.Input, p.Input) {
					t.Errorf("%s%s %v: got\n%+v, want\n%+v", name, ext, shape, got.Network(), p.Network())
				}
				got.Source, got.Input.Shape = posterior.Source{}, shape
				if err := write(&two, got); err != nil || !bytes.Equal(one.Bytes(), two.Bytes()) {
					t.Errorf("%s: written again it is another file: %v", name, err)
				}
			}
		}
	}
}
