package bench

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/clbp"
	"psafe/host/read/property"
)

// task is a random posterior, and input boxes with the rows of a property.
type task struct {
	post    *posterior.Posterior
	regions []property.Box
	rows    [][]property.Row
}

// newTask draws them. The coordinates of input boxes are around [first, first+1].
func newTask(sizes []int, inputs int, first float64) *task {
	return around(randomPosterior(rand.New(rand.NewPCG(2, 2)), sizes), inputs, first)
}

// around draws the inputs of a task.
func around(post *posterior.Posterior, inputs int, first float64) *task {
	rng := rand.New(rand.NewPCG(2, 3))
	t := &task{post: post}
	safe := property.ArgmaxIs(1, post.Outputs())
	for range inputs {
		b := property.Box{}
		for range post.Inputs() {
			lo := rng.Float64() + first
			b.Lo, b.Hi = append(b.Lo, lo), append(b.Hi, lo+0.1*rng.Float64())
		}
		t.regions, t.rows = append(t.regions, b), append(t.rows, safe.Rows)
	}
	return t
}

// gaussian draws means, with deviations of a hundredth.
func gaussian(rng *rand.Rand, n int, scale float64) posterior.Params {
	mean, sd := make([]float64, n), make([]float64, n)
	for i := range mean {
		mean[i], sd[i] = float64(float32(rng.NormFloat64()*scale)), float64(float32(0.01*scale))
	}
	return posterior.NewParams(mean, sd, posterior.ScaleSD)
}

// randomPosterior has layers of the given sizes, ReLU between.
func randomPosterior(rng *rand.Rand, sizes []int) *posterior.Posterior {
	p := &posterior.Posterior{Scale: posterior.ScaleSD}
	for k := 1; k < len(sizes); k++ {
		l := posterior.Layer{Layer: network.DenseLayer(sizes[k-1], sizes[k], network.Activation{Kind: network.ReLU})}
		l.Weight, l.Bias = gaussian(rng, l.Inputs()*l.Outputs(), 1/math.Sqrt(float64(l.Inputs()))), gaussian(rng, l.Outputs(), 0.1)
		if k == len(sizes)-1 {
			l.Activation = network.Activation{}
		}
		p.Layers = append(p.Layers, l)
	}
	return p
}

// convolutions are networks with random weights on images of one channel: four convolutions of
// 3 x 3, the second of stride 2, and the same with a shortcut past the last two.
func convolutions(size, filters int) iter.Seq2[string, *posterior.Posterior] {
	return func(yield func(string, *posterior.Posterior) bool) {
		for _, residual := range []bool{false, true} {
			rng, p := rand.New(rand.NewPCG(4, 4)), &posterior.Posterior{Scale: posterior.ScaleSD}
			relu, shape := network.Activation{Kind: network.ReLU}, network.Image{Height: size, Width: size, Channels: 1}
			conv := func(stride int, act network.Activation) {
				two := func(n int) [2]int { return [2]int{n, n} }
				c := network.Conv{In: shape, Window: network.Window{Size: two(3), Stride: two(stride), Dilation: two(1), Before: two(1), After: two(1)}, Filters: filters, Groups: 1}
				p.Layers = append(p.Layers, posterior.Layer{
					Layer:  network.Layer{Map: c, Activation: act},
					Weight: gaussian(rng, c.Weights(), 0.5/math.Sqrt(float64(9*shape.Channels))), Bias: gaussian(rng, filters, 0.1),
				})
				shape = c.Out()
			}
			conv(1, relu)
			conv(2, relu)
			conv(1, relu)
			name := fmt.Sprintf("4 convolutions %dx%d", size, size)
			if residual {
				conv(1, network.Activation{})
				none := posterior.NewParams(nil, nil, posterior.ScaleSD)
				p.Layers = append(p.Layers, posterior.Layer{Layer: network.Layer{Map: network.Add{N: shape.Len(), Terms: 2}, Sources: []int{3, 1}, Activation: relu}, Weight: none, Bias: none})
				name += " with a shortcut"
			} else {
				conv(1, relu)
			}
			last := network.DenseLayer(shape.Len(), 10, network.Activation{})
			p.Layers = append(p.Layers, posterior.Layer{Layer: last, Weight: gaussian(rng, 10*shape.Len(), 1/math.Sqrt(float64(shape.Len()))), Bias: gaussian(rng, 10, 0.1)})
			if !yield(name, p) {
				return
			}
		}
	}
}

// concentration bounds the inputs of a task by concentration LBP.
func concentration(t *task) prepare {
	return func(d bound.Device) (func() error, func(), error) {
		m, err := bound.NewModel(d, t.post, 4)
		if err != nil {
			return nil, nil, err
		}
		trial, err := m.NewCLBPTrial(t.post, clbp.NoiseMoments(t.post), t.regions, t.rows)
		if err != nil {
			m.Release()
			return nil, nil, err
		}
		return func() error { return trial.Run(nil) }, func() { trial.Release(); m.Release() }, nil
	}
}

// oneBox bounds many inputs of a whole network for one weight box.
func oneBox(method bound.Propagation, sizes []int, inputs int) prepare {
	return func(d bound.Device) (func() error, func(), error) {
		b, err := newBoxed(d, method, newTask(sizes, inputs, 0))
		if err != nil {
			return nil, nil, err
		}
		b.job.Batch = bound.Batch{Items: inputs, PerBox: inputs, Inputs: inputs}
		return func() error { return b.drawAndPropagate(bound.BoxSpec{}, 1) }, b.release, nil
	}
}

// manyBoxes bounds one input of a whole network for boxes round samples, in batches that
// suit the device. Inputs are of both signs, as in airborne collision avoidance.
func manyBoxes(method bound.Propagation, sizes []int, samples int) prepare {
	return func(d bound.Device) (func() error, func(), error) {
		b, err := newBoxed(d, method, newTask(sizes, 1, -0.5))
		if err != nil {
			return nil, nil, err
		}
		chunk := b.chunk(d)
		return func() error {
			for first := 0; first < samples; first += chunk {
				n := min(chunk, samples-first)
				b.job.Batch = bound.Batch{Items: n, PerBox: 1, Inputs: 1}
				if err := b.drawAndPropagate(bound.BoxSpec{Sampled: true, First: uint64(first)}, n); err != nil {
					return err
				}
			}
			return nil
		}, b.release, nil
	}
}

// boxed is a task on a device, with weight boxes to be drawn in every run.
type boxed struct {
	model  *bound.Model
	job    bound.Query
	layers int
	// rows is how many the property has.
	rows int
}

func newBoxed(d bound.Device, method bound.Propagation, t *task) (*boxed, error) {
	b := &boxed{layers: len(t.post.Layers), rows: len(t.rows[0])}
	b.job.Propagation = method
	var err error
	if b.model, err = bound.NewModel(d, t.post, 8); err != nil {
		return nil, err
	}
	if b.job.Inputs, err = b.model.UploadInputs(t.regions); err == nil {
		b.job.Rows, err = b.model.UploadRows(t.rows)
	}
	if err != nil {
		b.release()
		return nil, err
	}
	return b, nil
}

func (b *boxed) release() {
	if b.job.Inputs != nil {
		b.model.ReleaseInputs(b.job.Inputs)
	}
	if b.job.Rows != nil {
		b.model.ReleaseRows(b.job.Rows)
	}
	b.model.Release()
}

// chunk returns how many sampled boxes suit the device.
func (b *boxed) chunk(d bound.Device) int {
	perBox, perItem := b.model.Footprint(b.job.Propagation, b.rows)
	return int(max(1, bound.BatchBytes(d)/(perBox+perItem)))
}

// drawAndPropagate draws n boxes of half-width 2.5 and bounds the job's margins.
func (b *boxed) drawAndPropagate(spec bound.BoxSpec, n int) error {
	gamma := make([]float64, n)
	for i := range gamma {
		gamma[i] = 2.5
	}
	for range b.layers {
		spec.Gamma = append(spec.Gamma, gamma)
	}
	boxes, err := b.model.Draw(spec)
	if err != nil {
		return err
	}
	defer b.model.ReleaseBoxes(boxes)
	b.job.Boxes = boxes
	_, err = b.model.Propagate(b.job)
	return err
}
