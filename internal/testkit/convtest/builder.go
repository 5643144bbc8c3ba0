package convtest

import (
	"psafe/host/model/network"
	"psafe/host/model/posterior"
)

// builder puts layers one after the other. Its methods return the layer's number, from which
// others can go on.
type builder struct {
	post *posterior.Posterior
	// shape is that of the last layer's outputs; from(k) goes back to layer k.
	shape  network.Image
	shapes []network.Image
	next   []int
}

// put adds a layer.
func (b *builder) put(m network.Map, out network.Image, weight, bias posterior.Params) int {
	l := posterior.Layer{Layer: network.Layer{Map: m, Sources: b.next}, Weight: weight, Bias: bias}
	b.post.Layers, b.next = append(b.post.Layers, l), nil
	b.shape, b.shapes = out, append(b.shapes, out)
	return len(b.post.Layers) - 1
}

// from makes layer k feed the next one.
func (b *builder) from(k int) { b.shape, b.next = b.shapes[k], []int{k} }

// relu gives the last layer its activation.
func (b *builder) relu() int {
	last := len(b.post.Layers) - 1
	b.post.Layers[last].Activation = relu
	return last
}

// square is a window of size x size.
func square(size, stride, pad int) network.Window {
	two := func(n int) [2]int { return [2]int{n, n} }
	return network.Window{Size: two(size), Stride: two(stride), Dilation: two(1), Before: two(pad), After: two(pad)}
}

func certain(mean ...float64) posterior.Params {
	return posterior.NewParams(mean, make([]float64, len(mean)), posterior.ScaleSD)
}

// conv is a convolution with made weights, (rows, columns, channels, filters).
func (b *builder) conv(seed uint64, size, filters, pad int, scale, sd float64) int {
	return b.window(seed, square(size, 1, pad), filters, scale, sd)
}

// strided is a convolution padded as Keras pads "same": what is odd goes after.
func (b *builder) strided(seed uint64, size, filters, stride int, scale, sd float64) int {
	w := square(size, stride, 1)
	if stride == 2 {
		w.Before = [2]int{}
	}
	return b.window(seed, w, filters, scale, sd)
}

func (b *builder) shortcut(seed uint64, filters, stride int, scale, sd float64) int {
	return b.window(seed, square(1, stride, 0), filters, scale, sd)
}

func (b *builder) window(seed uint64, w network.Window, filters int, scale, sd float64) int {
	c := network.Conv{In: b.shape, Window: w, Filters: filters, Groups: 1}
	return b.put(c, c.Out(), made(seed, c.Weights(), scale, sd), made(seed+1, filters, scale/2, sd))
}

// dense is a dense layer with made weights.
func (b *builder) dense(seed uint64, out int, scale, sd float64) int {
	d := network.Dense{In: b.shape.Len(), Out: out}
	return b.put(d, network.Image{Height: 1, Width: 1, Channels: out}, made(seed, d.Weights(), scale, sd), made(seed+1, out, scale/2, sd))
}

// norm is a batch norm of which everything is certain.
func (b *builder) norm(gain, shift []float64) int {
	c := network.Conv{In: b.shape, Window: square(1, 1, 0), Filters: len(gain), Groups: len(gain)}
	return b.put(c, b.shape, certain(gain...), certain(shift...))
}

func (b *builder) maxPool(size, stride int) int {
	m := network.MaxPool{In: b.shape, Window: square(size, stride, 0)}
	return b.put(m, m.Out(), certain(), certain())
}

func (b *builder) avgPool(size int) int {
	a := network.AvgPool{In: b.shape, Window: square(size, size, 0)}
	return b.put(a, a.Out(), certain(), certain())
}

// add is the sum of two layers.
func (b *builder) add(one, two int) int {
	b.next = []int{one, two}
	return b.put(network.Add{N: b.shapes[one].Len(), Terms: 2}, b.shapes[one], certain(), certain())
}
