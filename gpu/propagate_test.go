package gpu

import (
	"fmt"
	"math"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/read/property"
	"psafe/internal/testkit/networktest"
	"psafe/kernels"
)

// seen is one array that a propagation observed.
type seen struct {
	what  string
	layer int
	v     []float64
}

// propagation is a whole job: a network, weight boxes, inputs, rows.
type propagation struct {
	activation network.Activation
	sizes      []int
	batch      bound.Batch
	method     bound.Propagation
	signed     bool // inputs of both signs
	depth      int
}

func (j propagation) String() string {
	return fmt.Sprintf("%v kind %d %v %+v signed %v depth %d", j.method, j.activation.Kind, j.sizes, j.batch, j.signed, j.depth)
}

// propagations are networks of awkward sizes with every activation and every
// shape of batch.
func propagations() []propagation {
	var jobs []propagation
	shapes := []bound.Batch{
		{Items: 3, PerBox: 1, Inputs: 1}, {Items: 11, PerBox: 11, Inputs: 11},
		{Items: 6, PerBox: 3, Inputs: 3}, {Items: 4, PerBox: 1, Inputs: 4},
	}
	sizes := [][]int{{4, 65, 9}, {33, 31, 8, 9, 1}, {8, 63, 33, 3}, {1, 1, 2}}
	kinds := networktest.Activations(0.25)
	for i, k := range kinds {
		for b, s := range shapes {
			jobs = append(jobs, propagation{k, sizes[(i+b)%len(sizes)], s, bound.LBP, i%2 == 0, b % 2})
		}
	}
	return jobs
}

// run propagates on dev and returns everything observed.
func (j propagation) run(dev bound.Device) (all []seen, err error) {
	post := gaussianNet(7, j.sizes...)
	for k := range len(post.Layers) - 1 {
		post.Layers[k].Activation = j.activation
	}
	m, err := bound.NewModelOfDepth(dev, post, 3, j.depth)
	if err != nil {
		return nil, err
	}
	defer m.Release()
	n := post.Layers[0].Inputs()
	var inputs []property.Box
	var rows [][]property.Row
	for x := range j.batch.Inputs {
		b := property.Box{Lo: make([]float64, n), Hi: make([]float64, n)}
		for i := range n {
			b.Lo[i] = float64((i*7+x*3)%11) / 11
			if j.signed {
				b.Lo[i] -= 0.5
			}
			b.Hi[i] = b.Lo[i] + float64(i%3)/16
		}
		inputs, rows = append(inputs, b), append(rows, netRowsFor(x, post.Outputs()))
	}
	in, err := m.UploadInputs(inputs)
	if err != nil {
		return nil, err
	}
	defer m.ReleaseInputs(in)
	set, err := m.UploadRows(rows)
	if err != nil {
		return nil, err
	}
	defer m.ReleaseRows(set)
	spec := bound.BoxSpec{Sampled: true, Seed: 99, First: 1<<32 - 2}
	for range post.Layers {
		gamma := make([]float64, j.batch.Boxes())
		for b := range gamma {
			gamma[b] = float64(b) / 2
		}
		spec.Gamma = append(spec.Gamma, gamma)
	}
	boxes, err := m.Draw(spec)
	if err != nil {
		return nil, err
	}
	defer m.ReleaseBoxes(boxes)
	margins, err := m.Propagate(bound.Query{Propagation: j.method, Boxes: boxes, Inputs: in, Rows: set, Batch: j.batch,
		Observe: func(what string, layer int, a bound.Array) error {
			v := make([]float64, a.Len())
			all = append(all, seen{what, layer, v})
			return dev.Read(v, a)
		}})
	if err != nil {
		return nil, err
	}
	return append(all, seen{"IBP", 0, margins.IBP}, seen{"LBP", 0, margins.LBP}), nil
}

// netRowsFor are the rows of "output x is the largest", or one row for networks
// with one output.
func netRowsFor(x, outputs int) []property.Row {
	if outputs > 1 {
		return property.ArgmaxIs(x%outputs, outputs).Rows
	}
	return []property.Row{{CLo: []float64{1}, CHi: []float64{1.25}, D: 0.5, DHi: 0.5}}
}

// differs returns the first difference of two propagations, or "".
func differs(got, want []seen) string {
	for i, w := range want {
		for k, x := range w.v {
			if y := got[i].v[k]; math.Float64bits(x) != math.Float64bits(y) {
				return fmt.Sprintf("%s of layer %d, entry %d of %d: %x (%v), fallback %x (%v)", w.what, w.layer, k, len(w.v), y, y, x, x)
			}
		}
	}
	return ""
}

// TestPropagate: everything that a propagation observes has the fallback's bits.
func TestPropagate(t *testing.T) {
	onDevices(t, func(t *testing.T, info Info, p bound.Precision) {
		d := keep(t, info, p, kernels.Shape{}, "")
		for _, j := range propagations() {
			want, err := j.run(fallback.New(p))
			check(t, err)
			got, err := j.run(d)
			check(t, err)
			if diff := differs(got, want); diff != "" {
				t.Errorf("%v: %s", j, diff)
			}
		}
	})
}
