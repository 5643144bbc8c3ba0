package bench

import (
	"psafe/host/bound"
	"psafe/host/prove/engine"
)

// workload is one thing that bench measures.
type workload struct {
	name string
	// ends is the number of end-points read at least once, flops the floating-point
	// operations; 0 where there is no one number.
	ends, flops float64
	prepare     prepare
}

// prepare uploads what a workload needs and returns what to time, and what to do when done.
type prepare func(bound.Device) (once func() error, done func(), err error)

// workloads are the two shapes of work, operation by operation and end to end.
func workloads(small bool) []workload {
	in, out, boxes, inputs, samples := 784, 512, 64, 100, 10500
	if small {
		in, out, boxes, inputs, samples = 96, 64, 4, 8, 100
	}
	weights, sizes := float64(in*out), []int{in, 128, 128, 10}
	back := 256 * float64(in*128*inputs)
	list := []workload{
		{"affine, many boxes x 1 input, 784x512", 2 * weights * float64(boxes), 4 * weights * float64(boxes),
			affine(in, out, bound.Batch{Items: boxes, PerBox: 1, Inputs: 1})},
		{"affine, 1 box x 100 inputs, 784x512", 0, 4 * weights * float64(inputs),
			affine(in, out, bound.Batch{Items: inputs, PerBox: inputs, Inputs: inputs})},
		{"backsubstitute, 1 box x 100 inputs, 256 rows, 784x128", 0, 2 * back, backSubstitute(in, 128, 256, inputs)},
		{"ibp 784-128-128-10, 1 box x 100 inputs, end to end", 0, 4 * float64(inputs*(in*128+128*128)), oneBox(bound.IBP, sizes, inputs)},
		{"lbp 784-128-128-10, 1 box x 100 inputs, end to end", 0, 2 * back, oneBox(bound.LBP, sizes, inputs)},
		// The rows of means, and as many of squares.
		{"clbp 784-128-128-10, 100 inputs, one tau, end to end", 0, 4 * back, concentration(newTask(sizes, inputs, 0))},
	}
	images, size, filters := 8, 28, 16
	if small {
		images, size, filters = 2, 8, 4
	}
	for name, post := range convolutions(size, filters) {
		// As many as there are for rows over whole images.
		flops := 8 * engine.PassCost(post) * float64(images)
		list = append(list, workload{"clbp " + name + ", 8 images, one tau, end to end", 0, flops, concentration(around(post, images, 0))})
	}
	for _, m := range []bound.Propagation{bound.IBP, bound.LBP} {
		list = append(list, workload{m.String() + " 4-512-9, 10500 sampled boxes x 1 input, end to end", 2 * 7177 * float64(samples), 0,
			manyBoxes(m, []int{4, 512, 9}, samples)})
	}
	return list
}

// affine is one call of Affine.
func affine(in, out int, batch bound.Batch) prepare {
	return func(d bound.Device) (func() error, func(), error) {
		b := newMemory(d)
		n := batch.Items * out
		push, mag := d.Precision().AffineRounding(in)
		a := bound.Affine{
			Pre: bound.Interval{Lo: b.array(n, 0, 1), Hi: b.array(n, 0, 1)}, Mag: b.array(n, 0, 1),
			W: b.weights(batch.Boxes() * in * out), B: b.weights(batch.Boxes() * out), Z: b.positive(batch.Inputs * in), NonNeg: true,
			Push: push, MagRound: mag, Batch: batch, In: in, Out: out,
		}
		return b.ready(a.Mag, func() error { return d.Do(a) })
	}
}

// backSubstitute is one call of BackSubstitute.
func backSubstitute(in, out, rows, items int) prepare {
	return func(d bound.Device) (func() error, func(), error) {
		b := newMemory(d)
		a := bound.BackSubstitute{
			S: bound.Interval{Lo: b.array(items*in*rows, 0, 1)}, C: b.array(items*rows, 0, 1),
			A: b.array(items*out*rows, -1, 1), CIn: b.array(items*rows, -1, 1),
			W: b.weights(in * out), B: b.weights(out), PerBox: items, P: items, R: rows, In: in, Out: out,
		}
		return b.ready(a.C, func() error { return d.Do(a) })
	}
}
