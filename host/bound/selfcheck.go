package bound

import (
	"fmt"
	"math"
	"math/bits"

	"psafe/host/network"
	"psafe/host/posterior"
	"psafe/host/property"
)

// Digest is a hash of the bits of one kind of bound of one self-check job.
type Digest struct {
	Name string
	Hash uint64
}

// selfJob is a small network and a batch that together reach one way through
// Propagate: the shapes of work, every activation, inputs and hidden values of one
// and of both signs, rows of points and of intervals, centred and sampled boxes,
// overflow. Sizes are no multiples of anything, and larger than a block of 32.
type selfJob struct {
	name       string
	sizes      []int
	activation network.Activation
	scale      float64 // of the weights
	signed     bool    // inputs of both signs
	wideRows   bool    // coefficients of rows are intervals
	sampled    bool
	batch      Batch
}

func selfJobs(p Precision) []selfJob {
	relu, leaky := network.Activation{Kind: ReLU}, network.Activation{Kind: LeakyReLU, Slope: 0.125}
	tanh, sigmoid := network.Activation{Kind: Tanh}, network.Activation{Kind: Sigmoid}
	grid, pairs, many := Batch{4, 4, 4}, Batch{4, 1, 4}, Batch{5, 1, 1}
	return []selfJob{
		{"one box", []int{67, 70, 3}, relu, 0.125, false, false, false, grid},
		{"pairs", []int{67, 70, 3}, relu, 0.125, false, false, false, pairs},
		{"deep", []int{35, 66, 33, 4}, relu, 0.25, true, false, true, many},
		{"deep, shared", []int{35, 66, 33, 4}, relu, 0.25, true, false, false, Batch{7, 3, 3}},
		{"tanh", []int{5, 37, 20, 3}, tanh, 1, true, true, true, many},
		{"tanh, shared", []int{5, 37, 20, 3}, tanh, 0.25, true, false, false, grid},
		{"leaky relu", []int{5, 9, 6, 2}, leaky, 1, true, false, true, pairs},
		{"sigmoid", []int{4, 33, 2}, sigmoid, 2, false, true, false, many},
		{"overflow", []int{3, 5, 2}, relu, p.Max() * 0x1p-10, true, false, false, pairs},
		// Enough items for the tiles in which a GPU shares a weight box; the first
		// layer of the first box has gamma 0, so there are two.
		{"many inputs", []int{20, 40, 2}, relu, 0.125, false, false, false, Batch{47, 27, 27}},
		{"many inputs, signed", []int{42, 28, 2}, relu, 0.125, true, false, false, Batch{51, 50, 50}},
	}
}

// SelfCheck runs a few small jobs on a device by IBP, LBP and CLBP and returns digests of
// every bound. On every device of a precision they are the same: what package
// gpu compares at start with a table made by the fallback.
func SelfCheck(dev Device) ([]Digest, error) {
	var all []Digest
	for i, j := range selfJobs(dev.Precision()) {
		digests, err := j.run(dev, uint32(i))
		if err != nil {
			return nil, fmt.Errorf("self-check %q: %w", j.name, err)
		}
		all = append(all, digests...)
	}
	return all, nil
}

func (j *selfJob) run(dev Device, seed uint32) ([]Digest, error) {
	numbers := selfNumbers{seed: seed}
	m, err := NewModel(dev, j.posterior(&numbers), 8)
	if err != nil {
		return nil, err
	}
	defer m.Release()
	spec := BoxSpec{Sampled: j.sampled, Seed: 1<<40 + uint64(seed), First: 1<<32 - 2}
	for k := range m.layers {
		gamma := make([]float64, j.batch.Boxes())
		for b := range gamma {
			gamma[b] = float64(b+k) / 8
		}
		spec.Gamma = append(spec.Gamma, gamma)
	}
	boxes, err := m.Draw(spec)
	if err != nil {
		return nil, err
	}
	defer m.ReleaseBoxes(boxes)
	regions, rows := j.questions(&numbers)
	in, err := m.UploadInputs(regions)
	if err != nil {
		return nil, err
	}
	defer m.ReleaseInputs(in)
	dr, err := m.UploadRows(rows)
	if err != nil {
		return nil, err
	}
	defer m.ReleaseRows(dr)
	var digests []Digest
	for _, method := range []Method{IBP, LBP} {
		d := Digest{fmt.Sprintf("%s by %v", j.name, method), 0xcbf29ce484222325}
		_, err := m.Propagate(Job{Method: method, Boxes: boxes, Inputs: in, Rows: dr, Batch: j.batch,
			Observe: func(_ string, _ int, a Array) error { return d.add(dev, a) }})
		if err != nil {
			return nil, err
		}
		digests = append(digests, d)
	}
	if j.name == "overflow" {
		return digests, nil // its squares do not fit
	}
	d, err := j.clbp(m, seed, regions, dr)
	return append(digests, d), err
}

// clbp digests what PropagateCLBP makes of the job's inputs.
func (j *selfJob) clbp(m *Model, seed uint32, regions []property.Box, rows *Rows) (Digest, error) {
	d := Digest{j.name + " by clbp", 0xcbf29ce484222325}
	var moments Moments
	numbers := selfNumbers{seed: 1 << 20}
	for _, l := range m.layers {
		absMean := make([]float64, l.in*l.out)
		for i := range absMean {
			absMean[i] = math.Abs(numbers.number())
		}
		moments.AbsMean = append(moments.AbsMean, absMean)
	}
	again := selfNumbers{seed: seed}
	c, err := m.NewDeviations(j.posterior(&again), moments)
	if err != nil {
		return d, err
	}
	defer c.Release()
	in, err := m.UploadNoisy(regions)
	if err != nil {
		return d, err
	}
	defer m.ReleaseNoisy(in)
	q := Quantiles{Single: 2, Radius: 1.5}
	for k := range m.layers {
		q.Many = append(q.Many, 2+float64(k)/4)
	}
	_, err = c.PropagateCLBP(CLBPJob{Inputs: in, Rows: rows, Quantiles: q,
		Observe: func(_ string, _ int, a Array) error { return d.add(m.dev, a) }})
	return d, err
}

// add hashes the bits of an array, NaN being one number.
func (d *Digest) add(dev Device, a Array) error {
	v := make([]float64, a.Len())
	if err := dev.Read(v, a); err != nil {
		return err
	}
	for _, x := range v {
		if x != x {
			x = math.NaN()
		}
		d.Hash = bits.RotateLeft64(d.Hash^math.Float64bits(x), 23) * 0x9e3779b97f4a7c15
	}
	return nil
}

// selfNumbers are multiples of 1/64 in [-1, 1), the same everywhere.
type selfNumbers struct{ seed, next uint32 }

func (n *selfNumbers) number() float64 {
	n.next++
	return float64(int32(Philox([4]uint32{n.next}, [2]uint32{n.seed})[0])>>25) / 64
}

func (j *selfJob) posterior(n *selfNumbers) *posterior.Posterior {
	p := &posterior.Posterior{Scale: posterior.ScaleSD}
	gaussian := func(size int) posterior.Params {
		mean, sd := make([]float64, size), make([]float64, size)
		for i := range mean {
			mean[i], sd[i] = n.number()*j.scale, math.Abs(n.number())*j.scale/4
		}
		return posterior.NewParams(mean, sd, posterior.ScaleSD)
	}
	for k := 1; k < len(j.sizes); k++ {
		l := posterior.Layer{Layer: network.DenseLayer(j.sizes[k-1], j.sizes[k], j.activation)}
		if k == len(j.sizes)-1 {
			l.Activation = network.Activation{}
		}
		l.Weight, l.Bias = gaussian(l.Inputs()*l.Outputs()), gaussian(l.Outputs())
		p.Layers = append(p.Layers, l)
	}
	return p
}

// questions are input boxes, one of them a point, and property rows.
func (j *selfJob) questions(n *selfNumbers) ([]property.Box, [][]property.Row) {
	var regions []property.Box
	var rows [][]property.Row
	outputs := j.sizes[len(j.sizes)-1]
	for x := range j.batch.Inputs {
		var b property.Box
		for range j.sizes[0] {
			lo := n.number()
			if !j.signed {
				lo = math.Abs(lo)
			}
			b.Lo, b.Hi = append(b.Lo, lo), append(b.Hi, lo+float64(x)/16)
		}
		set := property.ArgmaxIs(x%outputs, outputs).Rows
		if j.wideRows {
			for r := range set {
				set[r] = property.Row{D: n.number()}
				for range outputs {
					c := n.number()
					set[r].CLo, set[r].CHi = append(set[r].CLo, c), append(set[r].CHi, c+0.125)
				}
			}
		}
		regions, rows = append(regions, b), append(rows, set)
	}
	return regions, rows
}
