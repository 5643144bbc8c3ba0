package train

import (
	"math"
	"math/rand/v2"

	"psafe/host/network"
)

// varianceFloor is added to every variance of a pre-activation: the root of it
// is differentiated, and must not be 0. A noise of 1e-12 changes nothing else.
const varianceFloor = 1e-24

// batch is a minibatch on its way through a network: the numbers that backward
// needs from forward, [examples x width] each.
type batch struct {
	net  *variational
	n    int
	task Task
	// target or label are those of the examples.
	target []float64
	label  []int
	pass   []layerPass
	// delta is the gradient with respect to the outputs of the layer at hand;
	// spare is the next one.
	delta, spare []float64
}

// layerPass is what one layer knows of a minibatch.
type layerPass struct {
	// z are the inputs of the layer, noise its standard normal draws, pre its
	// pre-activations mean + sd * noise and sd their standard deviations.
	z, noise, pre, sd []float64
}

// newBatch makes room for up to size examples.
func (net *variational) newBatch(size int) *batch {
	b := &batch{net: net, pass: make([]layerPass, len(net.layers))}
	widest := 0
	for k, l := range net.layers {
		b.pass[k] = layerPass{
			z: make([]float64, size*l.in), noise: make([]float64, size*l.out),
			pre: make([]float64, size*l.out), sd: make([]float64, size*l.out),
		}
		widest = max(widest, l.in, l.out)
	}
	b.delta, b.spare = make([]float64, size*widest), make([]float64, size*widest)
	return b
}

// load copies the examples pick of data.
func (b *batch) load(data *Data, pick []int) {
	b.n, b.task = len(pick), data.Task
	b.target, b.label = b.target[:0], b.label[:0]
	for e, i := range pick {
		copy(b.pass[0].z[e*data.Inputs:], data.Point(i))
		if data.Task == Regression {
			b.target = append(b.target, data.Target[i*data.Outputs:(i+1)*data.Outputs]...)
		} else {
			b.label = append(b.label, data.Label[i])
		}
	}
}

// drawNoise draws what forward is random by.
func (b *batch) drawNoise(rng *rand.Rand) {
	for k, l := range b.net.layers {
		noise := b.pass[k].noise[:b.n*l.out]
		for i := range noise {
			noise[i] = rng.NormFloat64()
		}
	}
}

// forward returns the mean loss per example, without the KL term, and leaves its
// gradient with respect to the outputs of the network in delta.
func (b *batch) forward() float64 {
	for k := range b.net.layers {
		l := &b.net.layers[k]
		for e := range b.n {
			b.affine(k, e)
			if k+1 == len(b.net.layers) {
				continue
			}
			next := b.pass[k+1].z[e*l.out : (e+1)*l.out]
			for i, t := range b.pass[k].pre[e*l.out : (e+1)*l.out] {
				next[i] = l.activation.Approx(t)
			}
		}
	}
	if b.task == Regression {
		return b.squareLoss()
	}
	return b.softmaxLoss()
}

// affine draws the pre-activations of example e in layer k. Given the inputs z,
// they are independent normals with the mean and variance that the loops sum.
func (b *batch) affine(k, e int) {
	l, p := &b.net.layers[k], &b.pass[k]
	at := e * l.out
	pre, sd, noise := p.pre[at:at+l.out], p.sd[at:at+l.out], p.noise[at:at+l.out]
	copy(pre, b.net.param[l.bias:l.bias+l.out])
	copy(sd, b.net.variance[l.bias:l.bias+l.out])
	for j, z := range p.z[e*l.in : (e+1)*l.in] {
		if z == 0 {
			continue
		}
		row := l.weight + j*l.out
		mu, variance := b.net.param[row:row+l.out], b.net.variance[row:row+l.out]
		zz := z * z
		for i := range pre {
			pre[i] += float64(z * mu[i])
			sd[i] += float64(zz * variance[i])
		}
	}
	for i := range pre {
		sd[i] = math.Sqrt(sd[i] + varianceFloor)
		pre[i] += float64(sd[i] * noise[i])
	}
}

// backward makes net.grad the gradient of what forward returned.
func (b *batch) backward() {
	clear(b.net.grad)
	for k := len(b.net.layers) - 1; k >= 0; k-- {
		l := &b.net.layers[k]
		for e := range b.n {
			b.affineBack(k, e)
		}
		if k == 0 {
			break
		}
		below := b.net.layers[k-1]
		pre := b.pass[k-1].pre
		z := b.pass[k].z
		for i := range b.n * l.in {
			b.spare[i] *= derivative(below.activation, pre[i], z[i])
		}
		b.delta, b.spare = b.spare, b.delta
	}
	// So far the second half holds derivatives by the variance sd^2.
	for i, s := range b.net.slope {
		b.net.grad[b.net.half+i] *= 2 * b.net.sd[i] * s
	}
}

// affineBack adds example e to the gradients of layer k, from delta, and leaves
// the gradient with respect to its inputs in spare. The second half of net.grad
// collects derivatives by variances.
func (b *batch) affineBack(k, e int) {
	l, p := &b.net.layers[k], &b.pass[k]
	at, half := e*l.out, b.net.half
	delta := b.delta[at : at+l.out]
	// d pre / d variance = noise / (2 sd).
	byVariance := p.sd[at : at+l.out]
	for i, d := range delta {
		byVariance[i] = d * p.noise[at+i] / (2 * byVariance[i])
		b.net.grad[l.bias+i] += d
		b.net.grad[half+l.bias+i] += byVariance[i]
	}
	for j, z := range p.z[e*l.in : (e+1)*l.in] {
		row := l.weight + j*l.out
		mu, variance := b.net.param[row:row+l.out], b.net.variance[row:row+l.out]
		gradMu, gradVariance := b.net.grad[row:row+l.out], b.net.grad[half+row:half+row+l.out]
		zz := z * z
		first, second := 0.0, 0.0
		for i, d := range delta {
			v := byVariance[i]
			gradMu[i] += float64(z * d)
			gradVariance[i] += float64(zz * v)
			first += float64(mu[i] * d)
			second += float64(variance[i] * v)
		}
		b.spare[e*l.in+j] = first + float64(2*z*second)
	}
}

// derivative is that of the activation a at t, where it has the value z.
func derivative(a network.Activation, t, z float64) float64 {
	switch a.Kind {
	case network.ReLU:
		if t <= 0 {
			return 0
		}
	case network.LeakyReLU:
		if t < 0 {
			return a.Slope
		}
	case network.Tanh:
		return 1 - z*z
	case network.Sigmoid:
		return z * (1 - z)
	}
	return 1
}
