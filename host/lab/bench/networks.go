package bench

import (
	"math"
	"math/rand/v2"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/engine"
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
	rng := rand.New(rand.NewPCG(2, 2))
	t := &task{post: randomPosterior(rng, sizes)}
	safe := property.ArgmaxIs(1, sizes[len(sizes)-1])
	for range inputs {
		b := property.Box{}
		for range sizes[0] {
			lo := rng.Float64() + first
			b.Lo, b.Hi = append(b.Lo, lo), append(b.Hi, lo+0.1*rng.Float64())
		}
		t.regions, t.rows = append(t.regions, b), append(t.rows, safe.Rows)
	}
	return t
}

// randomPosterior has layers of the given sizes, ReLU between.
func randomPosterior(rng *rand.Rand, sizes []int) *posterior.Posterior {
	gaussian := func(n int, scale float64) posterior.Params {
		mean, sd := make([]float64, n), make([]float64, n)
		for i := range mean {
			mean[i], sd[i] = float64(float32(rng.NormFloat64()*scale)), float64(float32(0.01*scale))
		}
		return posterior.NewParams(mean, sd, posterior.ScaleSD)
	}
	p := &posterior.Posterior{Scale: posterior.ScaleSD}
	for k := 1; k < len(sizes); k++ {
		l := posterior.Layer{Layer: network.DenseLayer(sizes[k-1], sizes[k], network.Activation{Kind: network.ReLU})}
		l.Weight, l.Bias = gaussian(l.Inputs()*l.Outputs(), 1/math.Sqrt(float64(l.Inputs()))), gaussian(l.Outputs(), 0.1)
		if k == len(sizes)-1 {
			l.Activation = network.Activation{}
		}
		p.Layers = append(p.Layers, l)
	}
	return p
}

// clbp bounds many inputs of a whole network by concentration LBP.
func clbp(sizes []int, inputs int) prepare {
	return func(d bound.Device) (func() error, func(), error) {
		t := newTask(sizes, inputs, 0)
		m, err := bound.NewModel(d, t.post, 4)
		if err != nil {
			return nil, nil, err
		}
		trial, err := m.NewCLBPTrial(t.post, engine.NoiseMoments(t.post), t.regions, t.rows)
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

// chunk is how many sampled boxes suit the device.
func (b *boxed) chunk(d bound.Device) int {
	perBox, perItem := b.model.Footprint(b.job.Propagation, b.rows)
	if s, ok := d.(interface{ PreferredBatchBytes() int64 }); ok {
		return int(max(1, s.PreferredBatchBytes()/(perBox+perItem)))
	}
	return 512
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
