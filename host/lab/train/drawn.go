package train

import (
	"math/rand/v2"

	"psafe/host/model/network"
)

// drawn evaluates networks of any maps: one draw of all weights for each example, mu + sd * noise
// (Blundell et al.). Pre-activations of a convolution share weights, so that they cannot be drawn
// by themselves as those of dense layers are.
type drawn struct {
	pass *network.Pass
	// weight is the network that was drawn for an example, grad the gradient there; lists are
	// parts of grad, as a Pass has them. noise are standard normal, [examples x parameters].
	weight, grad, noise []float64
	lists               [][]float64
}

// newDrawn makes room for up to size examples.
func (net *variational) newDrawn(size int) *drawn {
	d := &drawn{weight: make([]float64, net.half), grad: make([]float64, net.half), noise: make([]float64, size*net.half)}
	d.lists = net.lists(d.grad)
	d.pass = net.graph.NewPass(net.lists(d.weight))
	return d
}

// lists cuts a list over all parameters by layers, as a Pass has them.
func (net *variational) lists(all []float64) [][]float64 {
	var lists [][]float64
	for _, l := range net.layers {
		lists = append(lists, all[l.weight:l.bias], all[l.bias:l.bias+l.biases])
	}
	return lists
}

func (d *drawn) drawNoise(rng *rand.Rand, n int) {
	for i := range d.noise[:n*len(d.weight)] {
		d.noise[i] = rng.NormFloat64()
	}
}

// forward evaluates the network that was drawn for example e at z.
func (d *drawn) forward(net *variational, e int, z []float64) []float64 {
	for i, n := range d.noise[e*net.half : (e+1)*net.half] {
		d.weight[i] = net.param[i] + float64(net.sd[i]*n)
	}
	return d.pass.Forward(z)
}

// backward adds to net.grad the gradient of example e, whose logits have the gradient delta.
func (d *drawn) backward(net *variational, e int, z, delta []float64) {
	d.forward(net, e, z)
	d.pass.Back(delta)
	clear(d.grad)
	for k := range net.graph {
		d.pass.AddParameterGradient(k, d.lists[2*k], d.lists[2*k+1])
	}
	for i, n := range d.noise[e*net.half : (e+1)*net.half] {
		net.grad[i] += d.grad[i]
		net.grad[net.half+i] += float64(d.grad[i] * n * net.slope[i])
	}
}

// newGraphBatch is newBatch for networks that are drawn.
func (net *variational) newGraphBatch(size int) *batch {
	b := &batch{net: net, pass: make([]layerPass, len(net.layers)), drawn: net.newDrawn(size)}
	out := b.outputs()
	b.pass[0].z = make([]float64, size*net.graph.Inputs())
	b.pass[len(b.pass)-1].pre = make([]float64, size*out)
	b.delta = make([]float64, size*out)
	return b
}

// forwardDrawn writes the logits of all examples.
func (b *batch) forwardDrawn() {
	in, out := b.net.graph.Inputs(), b.outputs()
	for e := range b.n {
		copy(b.pass[len(b.pass)-1].pre[e*out:(e+1)*out], b.drawn.forward(b.net, e, b.pass[0].z[e*in:(e+1)*in]))
	}
}

// backwardDrawn makes net.grad the gradient of what forward returned.
func (b *batch) backwardDrawn() {
	clear(b.net.grad)
	in, out := b.net.graph.Inputs(), b.outputs()
	for e := range b.n {
		b.drawn.backward(b.net, e, b.pass[0].z[e*in:(e+1)*in], b.delta[e*out:(e+1)*out])
	}
}
