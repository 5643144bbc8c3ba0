// Package selfcheck runs small jobs on a device and hashes what every operation writes, to see
// whether the device does what the fallback does.
package selfcheck

import (
	"fmt"
	"math"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// job is a small network and a batch that together reach one way through
// Propagate: the shapes of work, every activation, inputs and hidden values of one
// and of both signs, rows of points and of intervals, centred and sampled boxes,
// overflow. Sizes are no multiples of anything, and larger than a block of 32.
type job struct {
	name       string
	sizes      []int
	activation network.Activation
	scale      float64 // of the weights
	batch      bound.Batch
	options    options
}

// options tell what else a query is about.
type options uint

const (
	signed   options = 1 << iota // inputs of both signs
	wideRows                     // coefficients of rows are intervals
	sampled                      // boxes are round samples, not round the means
	noisy                        // concentration LBP as well
	apart                        // of that, each input has quantiles of its own
	shared                       // and the operations of weights in several places
	brief                        // the query is one of Brief
)

func jobs(p bound.Precision) []job {
	relu, tanh := network.Activation{Kind: network.ReLU}, network.Activation{Kind: network.Tanh}
	of := func(items, perBox, inputs int) bound.Batch {
		return bound.Batch{Items: items, PerBox: perBox, Inputs: inputs}
	}
	grid, pairs, many := of(4, 4, 4), of(4, 1, 4), of(5, 1, 1)
	jobs := []job{
		{"one box", []int{67, 70, 3}, relu, 0.125, grid, noisy | shared | brief},
		{"pairs", []int{67, 70, 3}, relu, 0.125, pairs, brief},
		{"deep", []int{35, 66, 33, 4}, relu, 0.25, many, signed | sampled},
		{"deep, shared", []int{35, 66, 33, 4}, relu, 0.25, of(7, 3, 3), signed | noisy | apart},
		{"signed", []int{5, 37, 20, 3}, tanh, 1, many, signed | wideRows | sampled},
		{"signed, shared", []int{5, 37, 20, 3}, tanh, 0.25, grid, signed | noisy | apart | brief},
		{"overflow", []int{3, 5, 2}, relu, p.Max() * 0x1p-10, pairs, signed},
		// Enough items for the tiles in which a GPU shares a weight box; the first
		// layer of the first box has gamma 0, so there are two.
		{"many inputs", []int{20, 40, 2}, relu, 0.125, of(47, 27, 27), noisy | brief},
		{"many inputs, signed", []int{42, 28, 2}, relu, 0.125, of(51, 50, 50), signed | noisy | brief},
	}
	// Every kind that there is: a device that lacks one is not to be trusted.
	for kind := range network.Kind(network.Kinds) {
		a := network.Activation{Kind: kind}
		if a.Check() != nil { // it has a slope
			a.Slope = 0.1
		}
		jobs = append(jobs,
			job{a.String(), []int{5, 37, 3}, a, 2, many, signed | wideRows | sampled | noisy},
			job{a.String() + ", overflow", []int{3, 5, 2}, a, p.Max() * 0x1p-10, pairs, signed},
		)
	}
	return jobs
}

// directJobs call operations one by one, without a network.
var directJobs = []struct {
	name  string
	run   func(dev bound.Device, seed uint32) error
	brief bool
}{
	{"images", images, true},
	{forGraphs, graphs, false}, // more launches than all others together
	{"splits", splits, true},
	{"pools", func(dev bound.Device, _ uint32) error { return pooled(dev) }, true},
}

// forGraphs is the job of networks that are no chains of dense layers.
const forGraphs = "graph"

// Full runs a few small jobs on a device by LBP, which has all of IBP in it, and some by CLBP, and
// returns what every operation wrote, as hashes. On every device of a precision they are the same: what
// package gpu compares at start with a table made by the fallback. It is an error if
// the jobs leave an operation of bound.Device out, as nothing would be known of it.
func Full(dev bound.Device) ([]Trace, error) {
	return traces(dev, func(string, bool) bool { return true })
}

// Chains is Full without what only networks need that are no chains of dense layers: it has every
// operation all the same. Graphs is the rest of Full.
func Chains(dev bound.Device) ([]Trace, error) {
	return traces(dev, func(name string, _ bool) bool { return name != forGraphs })
}

// Brief is Full of a few jobs that have every operation between them, and every
// shape of work, but not every branch: for a device that has passed Full, to see whether it
// still does what it did.
func Brief(dev bound.Device) ([]Trace, error) {
	return traces(dev, func(_ string, brief bool) bool { return brief })
}

// Graphs is what Chains leaves out of Full.
func Graphs(dev bound.Device) ([]Trace, error) {
	return some(dev, func(name string, _ bool) bool { return name == forGraphs })
}

// traces is some of jobs that have every operation between them.
func traces(dev bound.Device, wanted func(name string, brief bool) bool) ([]Trace, error) {
	all, err := some(dev, wanted)
	if err != nil {
		return nil, err
	}
	called := map[string]bool{}
	for _, t := range all {
		for _, c := range t.Calls {
			called[c.Operation] = true
		}
	}
	return all, unchecked(bound.Operations(), called)
}

// some runs the jobs that are wanted.
func some(dev bound.Device, wanted func(name string, brief bool) bool) (all []Trace, err error) {
	seed := uint32(0)
	run := func(name string, brief bool, query func(dev bound.Device, seed uint32) error) error {
		seed++
		if !wanted(name, brief) {
			return nil
		}
		r := &recorder{Device: dev, trace: Trace{Job: name}}
		if err := query(r, seed-1); err != nil {
			return fmt.Errorf("self-check %q: %w", name, err)
		}
		all = append(all, r.trace)
		return nil
	}
	for _, j := range jobs(dev.Precision()) {
		if err := run(j.name, j.options&brief != 0, j.run); err != nil {
			return nil, err
		}
	}
	for _, j := range directJobs {
		if err := run(j.name, j.brief, j.run); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// unchecked is the error of operations that no query calls.
func unchecked(operations []string, called map[string]bool) error {
	for _, op := range operations {
		if !called[op] {
			return fmt.Errorf("selfcheck: no query of the self-check calls %s: add one to host/bound/selfcheck", op)
		}
	}
	return nil
}

// run does everything that a query is for on a device.
func (j *job) run(dev bound.Device, seed uint32) error {
	numbers := numbers{seed: seed}
	post := j.posterior(&numbers)
	m, err := bound.NewModel(dev, post, 8)
	if err != nil {
		return err
	}
	spec := bound.BoxSpec{Sampled: j.options&sampled != 0, Seed: 1<<40 + uint64(seed), First: 1<<32 - 2}
	for k := range post.Layers {
		gamma := make([]float64, j.batch.Boxes())
		for b := range gamma {
			gamma[b] = float64(b+k) / 8
		}
		spec.Gamma = append(spec.Gamma, gamma)
	}
	return j.asks(m, spec, &numbers, func(q bound.Query, regions []property.Box) error {
		if _, err := m.Propagate(q); err != nil || j.options&noisy == 0 {
			return err
		}
		if err := crossed(dev, &numbers); err != nil {
			return err
		}
		if j.options&shared != 0 {
			if err := sharedWeights(dev, &numbers); err != nil {
				return err
			}
		}
		return noisyPass(m, post, regions, q.Rows, j.options&apart != 0)
	})
}

// asks has f work on a query about boxes of a model, which it releases in the end.
func (j *job) asks(m *bound.Model, spec bound.BoxSpec, n *numbers, f func(q bound.Query, regions []property.Box) error) error {
	defer m.Release()
	boxes, err := m.Draw(spec)
	if err != nil {
		return err
	}
	defer m.ReleaseBoxes(boxes)
	regions, sets := j.questions(n)
	in, err := m.UploadInputs(regions)
	if err != nil {
		return err
	}
	defer m.ReleaseInputs(in)
	rows, err := m.UploadRows(sets)
	if err != nil {
		return err
	}
	defer m.ReleaseRows(rows)
	return f(bound.Query{Propagation: bound.LBP, Boxes: boxes, Inputs: in, Rows: rows, Batch: j.batch}, regions)
}

// crossed intersects bounds of which many are empty, and some infinite.
func crossed(dev bound.Device, numbers *numbers) error {
	const n = 37
	s := arrays{dev: dev, numbers: numbers}
	defer s.release()
	bounds := func(i, size int) bound.Array {
		return s.of(size, func(k int) float64 {
			x := numbers.number() + float64(i%2)/2
			switch k {
			case 9 - i:
				return math.Inf(1)
			case 12 + 2*i:
				return math.Inf(-1)
			}
			return x
		})
	}
	s.do(bound.Intersect{Pre: bound.Interval{Lo: bounds(0, n), Hi: bounds(1, n)}, Bound: bounds(2, 2*n), P: 1, N: n})
	return s.err
}

// momentsOf are moments that belong to no posterior.
func momentsOf(post *posterior.Posterior) bound.Moments {
	var moments bound.Moments
	numbers := numbers{seed: 1 << 20}
	for _, l := range post.Layers {
		absMean := make([]float64, l.Weights())
		for i := range absMean {
			absMean[i] = math.Abs(numbers.number())
		}
		moments.AbsMean = append(moments.AbsMean, absMean)
	}
	return moments
}

func (j *job) posterior(n *numbers) *posterior.Posterior {
	p := &posterior.Posterior{Scale: posterior.ScaleSD}
	for k := 1; k < len(j.sizes); k++ {
		l := posterior.Layer{Layer: network.DenseLayer(j.sizes[k-1], j.sizes[k], j.activation)}
		if k == len(j.sizes)-1 {
			l.Activation = network.Activation{}
		}
		l.Weight, l.Bias = j.gaussian(n, l.Inputs()*l.Outputs()), j.gaussian(n, l.Outputs())
		p.Layers = append(p.Layers, l)
	}
	return p
}

// gaussian are size parameters.
func (j *job) gaussian(n *numbers, size int) posterior.Params {
	mean, sd := make([]float64, size), make([]float64, size)
	for i := range mean {
		mean[i], sd[i] = n.number()*j.scale, math.Abs(n.number())*j.scale/4
	}
	return posterior.NewParams(mean, sd, posterior.ScaleSD)
}

// questions are input boxes, one of them a point, and property rows.
func (j *job) questions(n *numbers) ([]property.Box, [][]property.Row) {
	var regions []property.Box
	var rows [][]property.Row
	outputs := j.sizes[len(j.sizes)-1]
	for x := range j.batch.Inputs {
		var b property.Box
		for range j.sizes[0] {
			lo := n.number()
			if j.options&signed == 0 {
				lo = math.Abs(lo)
			}
			b.Lo, b.Hi = append(b.Lo, lo), append(b.Hi, lo+float64(x)/16)
		}
		set := property.ArgmaxIs(x%outputs, outputs).Rows
		if j.options&wideRows != 0 {
			for r := range set {
				set[r] = property.Row{D: n.number() / 3}
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
