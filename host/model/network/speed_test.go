package network_test

import (
	"math/rand/v2"
	"testing"

	"psafe/host/model/network"
	"psafe/internal/testkit/networktest"
)

// lenet is LeNet-5 of 28 x 28 images: 61,706 weights.
func lenet() network.Network {
	conv := func(h, c, size, filters, pad int) network.Layer {
		w := window(size, 1)
		w.Before, w.After = [2]int{pad, pad}, [2]int{pad, pad}
		return network.Layer{Map: network.Conv{In: network.Image{Height: h, Width: h, Channels: c}, Window: w, Filters: filters, Groups: 1}}
	}
	pool := func(h, c int) network.Layer {
		return network.Layer{Map: network.MaxPool{In: network.Image{Height: h, Width: h, Channels: c}, Window: window(2, 2)}, Activation: relu}
	}
	return network.Network{conv(28, 1, 5, 6, 2), pool(28, 6), conv(14, 6, 5, 16, 0), pool(10, 16),
		network.DenseLayer(400, 120, relu), network.DenseLayer(120, 84, relu), network.DenseLayer(84, 10, network.Activation{})}
}

// BenchmarkLeNet is one step of an attack on it: forward and back.
func BenchmarkLeNet(b *testing.B) {
	n := lenet()
	if err := n.Check(); err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	p := n.NewPass(networktest.Weights(r, n))
	x, _ := point(r, n.Inputs())
	c := make([]float64, 10)
	c[3] = 1
	for b.Loop() {
		p.Forward(x)
		p.Back(c)
	}
}
