package fallback_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// rationed is a device whose allocation number failAt fails; it counts arrays that
// are alive.
type rationed struct {
	bound.Device
	calls, failAt, alive int
}

var errFull = errors.New("full")

func (r *rationed) NewArray(n int) (bound.Array, error) {
	r.calls++
	if r.calls == r.failAt {
		return nil, errFull
	}
	r.alive++
	return r.Device.NewArray(n)
}

func (r *rationed) Release(a bound.Array) {
	if a != nil {
		r.alive--
	}
	r.Device.Release(a)
}

// TestNoArrayIsLost: whichever allocation fails, every array of a job is given
// back; and so it is when none fails.
func TestNoArrayIsLost(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	gaussian := func(n int) posterior.Params {
		v := make([]float64, n)
		for i := range v {
			v[i] = rng.Float64()
		}
		return posterior.NewParams(v, v, posterior.ScaleSD)
	}
	post := &posterior.Posterior{Scale: posterior.ScaleSD}
	in := 3
	for _, n := range []int{3, 4, 2} {
		l := posterior.Layer{Layer: network.DenseLayer(in, n, network.Activation{Kind: network.Tanh}), Weight: gaussian(in * n), Bias: gaussian(n)}
		post.Layers, in = append(post.Layers, l), n
	}
	post.Layers[2].Activation = network.Activation{}
	if err := post.Validate(); err != nil {
		t.Fatal(err)
	}
	job := func(d bound.Device) error {
		m, err := bound.NewModel(d, post, 8)
		if err != nil {
			return err
		}
		defer m.Release()
		boxes, err := m.Draw(bound.BoxSpec{Gamma: [][]float64{{1, 2}, {1, 2}, {1, 2}}})
		if err != nil {
			return err
		}
		defer m.ReleaseBoxes(boxes)
		in, err := m.UploadInputs([]property.Box{{Lo: []float64{-1, 0, 0}, Hi: []float64{1, 1, 0}}})
		if err != nil {
			return err
		}
		defer m.ReleaseInputs(in)
		rows, err := m.UploadRows([][]property.Row{property.ArgmaxIs(0, 2).Rows})
		if err != nil {
			return err
		}
		defer m.ReleaseRows(rows)
		_, err = m.Propagate(bound.Query{Propagation: bound.LBP, Boxes: boxes, Inputs: in, Rows: rows, Batch: bound.Batch{Items: 2, PerBox: 1, Inputs: 1}})
		return err
	}
	for failAt := 1; ; failAt++ {
		d := &rationed{Device: fallback.New(bound.Float32), failAt: failAt}
		err := job(d)
		if d.alive != 0 {
			t.Errorf("allocation %d failing: %d arrays are lost", failAt, d.alive)
		}
		if err == nil {
			if failAt < 40 {
				t.Fatalf("the job made only %d allocations", failAt)
			}
			return
		}
		if !errors.Is(err, errFull) {
			t.Fatalf("allocation %d failing: %v", failAt, err)
		}
	}
}
