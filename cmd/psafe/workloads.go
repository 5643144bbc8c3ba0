package main

import (
	"math"
	"math/rand/v2"

	"psafe/host/bound"
	"psafe/host/certify"
	"psafe/host/network"
	"psafe/host/posterior"
	"psafe/host/property"
)

// workload is one thing that bench measures.
type workload struct {
	name string
	// bytes is the number of end-points read at least once, flops the floating-
	// point operations; 0 where there is no one number.
	bytes, flops float64
	// prepare returns what to time, and what to do when done.
	prepare func(bound.Device) (run func() error, done func(), err error)
}

// workloads are the two shapes of work, operation by operation and end to end.
func workloads(small bool) []workload {
	in, out, boxes, inputs, samples := 784, 512, 64, 100, 10500
	if small {
		in, out, boxes, inputs, samples = 96, 64, 4, 8, 100
	}
	weights, end := float64(in*out), "784x512"
	list := []workload{
		{"affine, many boxes x 1 input, " + end, 2 * weights * float64(boxes), 4 * weights * float64(boxes), func(d bound.Device) (func() error, func(), error) {
			return affineWork(d, in, out, bound.Batch{Items: boxes, PerBox: 1, Inputs: 1})
		}},
		{"affine, 1 box x 100 inputs, " + end, 0, 4 * weights * float64(inputs), func(d bound.Device) (func() error, func(), error) {
			return affineWork(d, in, out, bound.Batch{Items: inputs, PerBox: inputs, Inputs: inputs})
		}},
		{"backsubstitute, 1 box x 100 inputs, 256 rows, 784x128", 0, 2 * 256 * float64(in*128*inputs), func(d bound.Device) (func() error, func(), error) {
			return backSubstituteWork(d, in, 128, 256, inputs)
		}},
		{"ibp 784-128-128-10, 1 box x 100 inputs, end to end", 0, 4 * float64(inputs*(in*128+128*128)), func(d bound.Device) (func() error, func(), error) {
			return networkWork(d, bound.IBP, []int{in, 128, 128, 10}, 0, inputs)
		}},
		{"lbp 784-128-128-10, 1 box x 100 inputs, end to end", 0, 2 * 256 * float64(in*128*inputs), func(d bound.Device) (func() error, func(), error) {
			return networkWork(d, bound.LBP, []int{in, 128, 128, 10}, 0, inputs)
		}},
		// The rows of means, and as many of squares.
		{"clbp 784-128-128-10, 100 inputs, one tau, end to end", 0, 4 * 256 * float64(in*128*inputs), func(d bound.Device) (func() error, func(), error) {
			return clbpWork(d, []int{in, 128, 128, 10}, inputs)
		}},
	}
	for _, m := range []bound.Method{bound.IBP, bound.LBP} {
		list = append(list, workload{m.String() + " 4-512-9, 10500 sampled boxes x 1 input, end to end", 2 * 7177 * float64(samples), 0,
			func(d bound.Device) (func() error, func(), error) {
				return networkWork(d, m, []int{4, 512, 9}, samples, 1)
			}})
	}
	return list
}

// bench is one workload's memory on a device.
type bench struct {
	dev    bound.Device
	arrays []bound.Array
	rng    *rand.Rand
	err    error
}

func newBench(d bound.Device) *bench { return &bench{dev: d, rng: rand.New(rand.NewPCG(1, 1))} }

func (b *bench) release() {
	for _, a := range b.arrays {
		b.dev.Release(a)
	}
}

// array has n random numbers in [lo, hi), of the device's precision.
func (b *bench) array(n int, lo, hi float64) bound.Array {
	if b.err != nil {
		return nil
	}
	a, err := b.dev.NewArray(n)
	if err != nil {
		b.err = err
		return nil
	}
	b.arrays = append(b.arrays, a)
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(float32(lo + (hi-lo)*b.rng.Float64()))
	}
	b.err = b.dev.Write(a, v)
	return a
}

// weights is an interval around 0 with ends in (-1, 0.5) and (0.5, 1).
func (b *bench) weights(n int) bound.Interval {
	return bound.Interval{Lo: b.array(n, -1, 0.5), Hi: b.array(n, 0.5, 1)}
}

// positive is an interval in [0, 2).
func (b *bench) positive(n int) bound.Interval {
	return bound.Interval{Lo: b.array(n, 0, 1), Hi: b.array(n, 1, 2)}
}

// wait makes run wait until the device is done with what wrote a.
func (b *bench) wait(a bound.Array, run func() error) func() error {
	v := make([]float64, a.Len())
	return func() error {
		if err := run(); err != nil {
			return err
		}
		return b.dev.Read(v, a)
	}
}

func affineWork(d bound.Device, in, out int, batch bound.Batch) (func() error, func(), error) {
	b := newBench(d)
	p := d.Precision()
	n := batch.Items * out
	push, mag := p.AffineRounding(in)
	a := bound.Affine{
		Pre: bound.Interval{Lo: b.array(n, 0, 1), Hi: b.array(n, 0, 1)}, Mag: b.array(n, 0, 1),
		W: b.weights(batch.Boxes() * in * out), B: b.weights(batch.Boxes() * out), Z: b.positive(batch.Inputs * in), NonNeg: true,
		Push: push, MagRound: mag, Batch: batch, In: in, Out: out,
	}
	if b.err != nil {
		b.release()
		return nil, nil, b.err
	}
	return b.wait(a.Mag, func() error { return d.Affine(a) }), b.release, nil
}

func backSubstituteWork(d bound.Device, in, out, rows, items int) (func() error, func(), error) {
	b := newBench(d)
	a := bound.BackSubstitute{
		S: bound.Interval{Lo: b.array(items*in*rows, 0, 1)}, C: b.array(items*rows, 0, 1),
		A: b.array(items*out*rows, -1, 1), CIn: b.array(items*rows, -1, 1),
		W: b.weights(in * out), B: b.weights(out), PerBox: items, P: items, R: rows, In: in, Out: out,
	}
	if b.err != nil {
		b.release()
		return nil, nil, b.err
	}
	return b.wait(a.C, func() error { return d.BackSubstitute(a) }), b.release, nil
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

// clbpWork bounds a whole network by concentration LBP.
func clbpWork(d bound.Device, sizes []int, inputs int) (func() error, func(), error) {
	rng := rand.New(rand.NewPCG(2, 2))
	post := randomPosterior(rng, sizes)
	var regions []property.Box
	var rows [][]property.Row
	safe := property.ArgmaxIs(1, sizes[len(sizes)-1])
	for range inputs {
		b := property.Box{}
		for range sizes[0] {
			lo := rng.Float64()
			b.Lo, b.Hi = append(b.Lo, lo), append(b.Hi, lo+0.1*rng.Float64())
		}
		regions, rows = append(regions, b), append(rows, safe.Rows)
	}
	m, err := bound.NewModel(d, post, 4)
	if err != nil {
		return nil, nil, err
	}
	t, err := m.NewCLBPTrial(post, certify.NoiseMoments(post), regions, rows)
	if err != nil {
		m.Release()
		return nil, nil, err
	}
	return func() error { return t.Run(nil) }, func() { t.Release(); m.Release() }, nil
}

// networkWork bounds a whole network: samples drawn boxes x one input, in batches
// that suit the device, or (samples 0) one box x many inputs.
func networkWork(d bound.Device, method bound.Method, sizes []int, samples, inputs int) (func() error, func(), error) {
	rng := rand.New(rand.NewPCG(2, 2))
	post := randomPosterior(rng, sizes)
	m, err := bound.NewModel(d, post, 8)
	if err != nil {
		return nil, nil, err
	}
	var regions []property.Box
	var rows [][]property.Row
	safe := property.ArgmaxIs(1, sizes[len(sizes)-1])
	for range inputs {
		b := property.Box{}
		for range sizes[0] {
			lo := rng.Float64()
			if samples > 0 {
				lo -= 0.5 // as in airborne collision avoidance, inputs of both signs
			}
			b.Lo, b.Hi = append(b.Lo, lo), append(b.Hi, lo+0.1*rng.Float64())
		}
		regions, rows = append(regions, b), append(rows, safe.Rows)
	}
	in, err := m.UploadInputs(regions)
	if err != nil {
		return nil, nil, err
	}
	dr, err := m.UploadRows(rows)
	if err != nil {
		return nil, nil, err
	}
	done := func() { m.ReleaseInputs(in); m.ReleaseRows(dr); m.Release() }
	job := bound.Job{Method: method, Inputs: in, Rows: dr, Batch: bound.Batch{Items: inputs, PerBox: inputs, Inputs: inputs}}
	if samples == 0 {
		return func() error { return drawAndPropagate(m, job, len(sizes)-1, bound.BoxSpec{}, 1) }, done, nil
	}
	chunk := batchOf(m, d, method, len(safe.Rows))
	return func() error {
		for first := 0; first < samples; first += chunk {
			n := min(chunk, samples-first)
			job.Batch = bound.Batch{Items: n, PerBox: 1, Inputs: 1}
			if err := drawAndPropagate(m, job, len(sizes)-1, bound.BoxSpec{Sampled: true, First: uint64(first)}, n); err != nil {
				return err
			}
		}
		return nil
	}, done, nil
}

// batchOf is how many sampled boxes suit the device.
func batchOf(m *bound.Model, d bound.Device, method bound.Method, rows int) int {
	perBox, perItem := m.Footprint(method, rows)
	if s, ok := d.(interface{ PreferredBatchBytes() int64 }); ok {
		return int(max(1, s.PreferredBatchBytes()/(perBox+perItem)))
	}
	return 512
}

// drawAndPropagate draws n boxes of half-width 2.5 and bounds the job's margins.
func drawAndPropagate(m *bound.Model, job bound.Job, layers int, spec bound.BoxSpec, n int) error {
	gamma := make([]float64, n)
	for i := range gamma {
		gamma[i] = 2.5
	}
	for range layers {
		spec.Gamma = append(spec.Gamma, gamma)
	}
	boxes, err := m.Draw(spec)
	if err != nil {
		return err
	}
	defer m.ReleaseBoxes(boxes)
	job.Boxes = boxes
	_, err = m.Propagate(job)
	return err
}
