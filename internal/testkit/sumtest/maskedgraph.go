package sumtest

import (
	"math/rand/v2"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
)

// MaskOf is a layer behind which nothing is but dropout of what it gives: a batch norm with gains of 1, of
// whole channels of an image, or of its numbers one by one.
func MaskOf(shape network.Image, channels bool) network.Conv {
	if !channels {
		shape = network.Image{Height: 1, Width: 1, Channels: shape.Len()}
	}
	unit := network.Window{Size: [2]int{1, 1}, Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}}
	return network.Conv{In: shape, Window: unit, Filters: shape.Channels, Groups: shape.Channels}
}

// RandomMaskedGraph is a posterior of dropout of a small network of convolutions, pools and joins, with masks
// in front of any layers, at most 9 in all. Rates are multiples of 1/16. Each layer has one of these activations.
func RandomMaskedGraph(rng *rand.Rand, acts ...network.Activation) *posterior.Posterior {
	var layers []posterior.Layer
	var rates []float64
	shape := network.Image{Height: 2 + rng.IntN(2), Width: 2, Channels: 1 + rng.IntN(2)}
	left := 9
	add := func(m network.Map, a network.Activation, rate float64, sources ...int) {
		l := posterior.Layer{Layer: network.Layer{Map: m, Activation: a, Sources: sources}}
		mean := func(n int, size float64) posterior.Params {
			list := make([]float64, n)
			for i := range list {
				list[i] = size * rng.NormFloat64()
			}
			return posterior.NewParams(list, make([]float64, n), posterior.ScaleSD)
		}
		l.Weight, l.Bias = mean(m.Weights(), 0.9), mean(m.Biases(), 0.5)
		layers, rates = append(layers, l), append(rates, rate)
	}
	mask := func() {
		m := MaskOf(shape, rng.IntN(2) == 0)
		if m.Filters > left || rng.IntN(4) == 0 {
			return
		}
		left -= m.Filters
		add(m, network.Activation{Kind: network.Identity}, float64(1+rng.IntN(9))/16)
		l := &layers[len(layers)-1]
		if rng.IntN(3) > 0 { // else a batch norm of its own
			for i := range l.Weight.Mean {
				l.Weight.Mean[i], l.Bias.Mean[i] = 1, 0
			}
		}
	}
	identity := network.Activation{Kind: network.Identity}
	if rng.IntN(4) == 0 {
		mask()
	}
	for range 1 + rng.IntN(3) {
		from, act := len(layers)-1, acts[rng.IntN(len(acts))]
		w := network.Window{Size: [2]int{2, 2}, Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}, Before: [2]int{rng.IntN(2), rng.IntN(2)}}
		c := network.Conv{In: shape, Window: w, Filters: 1 + rng.IntN(2), Groups: 1}
		if c.Check() != nil || c.Out().Len() > 12 {
			c.Window.Size, c.Window.Before = [2]int{1, 1}, [2]int{}
		}
		pool := network.MaxPool{In: c.Out(), Window: network.Window{Size: [2]int{1, 2}, Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}}}
		before := shape
		switch kind := rng.IntN(4); {
		case kind == 0 && pool.Check() == nil:
			add(c, identity, 0)
			add(pool, act, 0)
			shape = pool.Out()
		case kind == 1 && pool.Check() == nil:
			add(c, act, 0)
			add(network.AvgPool{In: c.Out(), Window: network.Window{Size: [2]int{1, 2}, Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}, After: [2]int{0, 1}}}, identity, 0)
			shape = c.Out()
		default:
			add(c, act, 0)
			shape = c.Out()
		}
		mask()
		if at := len(layers) - 1; from >= 0 && shape == before && rng.IntN(2) == 0 {
			add(network.Add{N: shape.Len(), Terms: 2}, identity, 0, at, from)
			mask()
		}
	}
	rate := 0.0
	if n := shape.Len(); n <= left && rng.IntN(2) == 0 {
		rate, left = float64(1+rng.IntN(9))/16, left-n
	}
	if out := 2 + rng.IntN(2); rng.IntN(2) == 0 {
		add(network.Dense{In: shape.Len(), Out: out}, identity, rate)
	} else {
		add(network.Dense{In: shape.Len(), Out: 3}, acts[0], rate)
		rate = 0
		if left >= 3 {
			rate = 0.25
		}
		add(network.Dense{In: 3, Out: out}, identity, rate)
	}
	if post, err := posterior.FromDropout(layers, rates); err != nil {
		panic(err)
	} else if _, err := post.Masked(); err == nil {
		return post
	}
	return RandomMaskedGraph(rng, acts...) // nothing is dropped
}

// RandomDropConnect is a posterior of DropConnect of a dense network of one hidden layer of two neurons: each
// weight is a gain of an input of its own, which may be dropped, and a convolution adds them up.
func RandomDropConnect(rng *rand.Rand, act network.Activation) *posterior.Posterior {
	var layers []posterior.Layer
	var rates []float64
	add := func(m network.Map, a network.Activation, rate float64, weight func() float64) {
		l := posterior.Layer{Layer: network.Layer{Map: m, Activation: a}}
		l.Weight.Mean, l.Bias.Mean = make([]float64, m.Weights()), make([]float64, m.Biases())
		for i := range l.Weight.Mean {
			l.Weight.Mean[i] = weight()
		}
		layers, rates = append(layers, l), append(rates, rate)
	}
	one := func() float64 { return 1 }
	identity := network.Activation{Kind: network.Identity}
	for k, out := range []int{2, 2} {
		const in = 2
		order := network.Reorder{In: in}
		for e := range in * out {
			order.Order = append(order.Order, int32(e/out))
		}
		of := network.Image{Height: 1, Width: in, Channels: out}
		w := network.Window{Size: [2]int{1, in}, Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}}
		add(order, identity, 0, nil)
		add(MaskOf(of, false), identity, float64(1+rng.IntN(7))/16, rng.NormFloat64)
		add(network.Conv{In: of, Window: w, Filters: out, Groups: out}, []network.Activation{act, identity}[k], 0, one)
		for o := range out {
			layers[len(layers)-1].Bias.Mean[o] = rng.NormFloat64()
		}
	}
	add(network.Dense{In: 2, Out: 2}, identity, 0, one)
	copy(layers[len(layers)-1].Weight.Mean, []float64{1, 0, 0, 1})
	post, err := posterior.FromDropout(layers, rates)
	if err != nil {
		panic(err)
	}
	return post
}

// SharedMasks are networks whose output is 2 m/(1-rate) for one mask m at one x: of a channel of an image that
// is averaged, and of a number that three windows of a convolution see.
func SharedMasks(rate float64) (list []*posterior.Posterior, at [][]float64) {
	identity := network.Activation{Kind: network.Identity}
	layer := func(m network.Map, weight ...float64) posterior.Layer {
		l := posterior.Layer{Layer: network.Layer{Map: m, Activation: identity}}
		l.Weight.Mean, l.Bias.Mean = weight, make([]float64, m.Biases())
		return l
	}
	window := func(height, width int) network.Window {
		return network.Window{Size: [2]int{height, width}, Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}}
	}
	image, line := network.Image{Height: 4, Width: 4, Channels: 1}, network.Image{Height: 1, Width: 5, Channels: 1}
	for _, layers := range [][]posterior.Layer{
		{layer(MaskOf(image, true), 1), layer(network.AvgPool{In: image, Window: window(4, 4)}), layer(network.Dense{In: 1, Out: 1}, 2)},
		{layer(MaskOf(line, false), 1, 1, 1, 1, 1), layer(network.Conv{In: line, Window: window(1, 3), Filters: 1, Groups: 1}, 0.5, 0.5, 0.5),
			layer(network.Dense{In: 3, Out: 1}, 4/3., 4/3., 4/3.)},
	} {
		post, err := posterior.FromDropout(layers, []float64{rate, 0, 0})
		if err != nil {
			panic(err)
		}
		list = append(list, post)
	}
	ones := make([]float64, 16)
	for i := range ones {
		ones[i] = 1
	}
	return list, [][]float64{ones, {0, 0, 1, 0, 0}}
}
