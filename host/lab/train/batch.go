package train

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
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
	// drawn is nil where all layers are dense; else of pass there is only what goes in and
	// comes out.
	drawn *drawn
	// delta is the gradient with respect to the outputs of the layer at hand;
	// spare is the next one, of which second is a part.
	delta, spare, second []float64
	// square and turned are room for squares of inputs and transposed weights.
	square, turned []float64
}

// layerPass holds what one layer knows of a minibatch.
type layerPass struct {
	// z are the inputs of the layer, noise its standard normal draws, pre its
	// pre-activations mean + sd * noise and sd their standard deviations.
	z, noise, pre, sd []float64
}

// newBatch makes room for up to size examples.
func (net *variational) newBatch(size int) *batch {
	if net.graph != nil {
		return net.newGraphBatch(size)
	}
	b := &batch{net: net, pass: make([]layerPass, len(net.layers))}
	widest, most := 0, 0
	for k, l := range net.layers {
		b.pass[k] = layerPass{
			z: make([]float64, size*l.in), noise: make([]float64, size*l.out),
			pre: make([]float64, size*l.out), sd: make([]float64, size*l.out),
		}
		widest, most = max(widest, l.in, l.out), max(most, l.in*l.out)
	}
	for _, list := range []*[]float64{&b.delta, &b.spare, &b.second, &b.square} {
		*list = make([]float64, size*widest)
	}
	b.turned = make([]float64, most)
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
	if b.drawn != nil {
		b.drawn.drawNoise(rng, b.n)
		return
	}
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
	if b.drawn != nil {
		b.forwardDrawn()
		return b.loss()
	}
	for k := range b.net.layers {
		l, p := &b.net.layers[k], &b.pass[k]
		b.affine(k)
		if k+1 == len(b.net.layers) {
			continue
		}
		for i, t := range p.pre[:b.n*l.out] {
			b.pass[k+1].z[i] = l.activation.Approx(t)
		}
	}
	return b.loss()
}

// loss returns the loss of the outputs; it leaves its gradient in delta.
func (b *batch) loss() float64 {
	if b.task == Regression {
		return b.squareLoss()
	}
	return b.softmaxLoss()
}

// affine draws the pre-activations of layer k. Given the inputs z, they are independent
// normals with the mean and variance that the products sum.
func (b *batch) affine(k int) {
	l, p := &b.net.layers[k], &b.pass[k]
	for e := range b.n {
		copy(p.pre[e*l.out:], b.net.param[l.bias:l.bias+l.out])
		copy(p.sd[e*l.out:], b.net.variance[l.bias:l.bias+l.out])
	}
	z, pre, sd := matrix(p.z, b.n, l.in), matrix(p.pre, b.n, l.out), matrix(p.sd, b.n, l.out)
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, z, l.weights(b.net.param), 1, pre)
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, b.squares(z), l.weights(b.net.variance), 1, sd)
	for i := range pre.Data {
		sd.Data[i] = math.Sqrt(sd.Data[i] + varianceFloor)
		pre.Data[i] += float64(sd.Data[i] * p.noise[i])
	}
}

// matrix is the first rows of a list, cols numbers each.
func matrix(v []float64, rows, cols int) blas64.General {
	return blas64.General{Rows: rows, Cols: cols, Stride: cols, Data: v[:rows*cols]}
}

// weights is a layer's part of a list over all parameters, (in, out).
func (l *layer) weights(list []float64) blas64.General { return matrix(list[l.weight:], l.in, l.out) }

// squares is the squares of a matrix, in square.
func (b *batch) squares(z blas64.General) blas64.General {
	zz := matrix(b.square, z.Rows, z.Cols)
	floats.MulTo(zz.Data, z.Data, z.Data)
	return zz
}

// backward makes net.grad the gradient of what forward returned.
func (b *batch) backward() {
	if b.drawn != nil {
		b.backwardDrawn()
		return
	}
	clear(b.net.grad)
	for k := len(b.net.layers) - 1; k >= 0; k-- {
		b.affineBack(k)
		if k == 0 {
			break
		}
		below := b.net.layers[k-1].activation
		pre, z := b.pass[k-1].pre, b.pass[k].z
		for i := range b.n * b.net.layers[k].in {
			b.spare[i] *= below.DerivativeApprox(pre[i], z[i])
		}
		b.delta, b.spare = b.spare, b.delta
	}
	// So far the second half holds derivatives by the variance sd^2.
	for i, s := range b.net.slope {
		b.net.grad[b.net.half+i] *= 2 * b.net.sd[i] * s
	}
}

// affineBack adds to the gradients of layer k, from delta, and leaves the gradient with
// respect to its inputs in spare. The second half of net.grad collects derivatives by
// variances.
func (b *batch) affineBack(k int) {
	l, p, half := &b.net.layers[k], &b.pass[k], b.net.half
	delta, byVariance := matrix(b.delta, b.n, l.out), matrix(p.sd, b.n, l.out)
	// d pre / d variance = noise / (2 sd).
	for i, d := range delta.Data {
		byVariance.Data[i] = d * p.noise[i] / (2 * byVariance.Data[i])
	}
	for e := range b.n {
		floats.Add(b.net.grad[l.bias:l.bias+l.out], delta.Data[e*l.out:(e+1)*l.out])
		floats.Add(b.net.grad[half+l.bias:half+l.bias+l.out], byVariance.Data[e*l.out:(e+1)*l.out])
	}
	z := matrix(p.z, b.n, l.in)
	blas64.Gemm(blas.Trans, blas.NoTrans, 1, z, delta, 1, l.weights(b.net.grad))
	blas64.Gemm(blas.Trans, blas.NoTrans, 1, b.squares(z), byVariance, 1, l.weights(b.net.grad[half:]))
	// Through the mean z mu and through the variance z^2 sd^2.
	first, second := matrix(b.spare, b.n, l.in), matrix(b.second, b.n, l.in)
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, delta, b.transposed(l.weights(b.net.param)), 0, first)
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, byVariance, b.transposed(l.weights(b.net.variance)), 0, second)
	for i, s := range second.Data {
		first.Data[i] += float64(2 * z.Data[i] * s)
	}
}

// transposed copies a matrix: so the sums over it run in the order of its columns, one
// after the other, on every processor.
func (b *batch) transposed(m blas64.General) blas64.General {
	t := matrix(b.turned, m.Cols, m.Rows)
	for i := range m.Rows {
		for j := range m.Cols {
			t.Data[j*m.Rows+i] = m.Data[i*m.Cols+j]
		}
	}
	return t
}
