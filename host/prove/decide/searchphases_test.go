package decide

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/branch"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/internal/testkit/provetest"
)

// TestPhasesStopped: a device whose answer an attack cut short, or that is asked again after the
// attack has ended, is not dropped for it.
func TestPhasesStopped(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 6))
	post := provetest.RandomNet(r, network.ReLU, 9, 16, 16, 2)
	safe, box := property.ArgmaxIs(0, 2), provetest.BoxAround(make([]float64, 9), 0.2)
	asked, whole := 0, 0
	for at := 0; ; at++ { // the call from which on it is said to stop
		dev := func() bound.Device { return fallback.New(bound.Float32) }
		e, err := engine.New(dev(), dev, post, 1)
		if err != nil {
			t.Fatal(err)
		}
		e.Recheck(engine.Recheck{Share: 1, Tell: func(d *engine.Dropped) { t.Errorf("stopped at call %d: %v", at, d) }})
		asked = 0
		found, err := provePhases(t.Context(), e, post.Mean(), &branch.Task{Box: box, Safe: &safe, Most: 64, Stop: func() bool { asked++; return asked > at }})
		e.Close()
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Numbers) > 0 {
			whole++
		}
		if asked <= at {
			break
		}
	}
	if asked < 3 || whole != 1 {
		t.Errorf("%d answers are whole, after %d calls", whole, asked)
	}
}

// TestCellsOfAlternatives: before cells are cut, rows of a set with alternatives are bounded each by itself. One that
// holds is worth more than mixtures where another is far from that.
func TestCellsOfAlternatives(t *testing.T) {
	relu, post := network.Activation{Kind: network.ReLU}, &posterior.Posterior{Scale: posterior.ScaleSD}
	add := func(l network.Layer, biases ...float64) {
		post.Layers = append(post.Layers, posterior.Layer{Layer: l, Weight: provetest.Fixed(make([]float64, l.Weights())...), Bias: provetest.Fixed(biases...)})
	}
	one, channels := [2]int{1, 1}, 1
	for _, filters := range []int{64, 512, 512} {
		in := network.Image{Height: 3, Width: 3, Channels: channels}
		l := network.Layer{Map: network.Conv{In: in, Window: network.Window{Size: one, Stride: one, Dilation: one}, Filters: filters, Groups: 1}, Activation: relu}
		add(l, slices.Repeat([]float64{1}, filters)...)
		channels = filters
	}
	add(network.DenseLayer(9*channels, 2, network.Activation{}), 0.01, -1000)
	e := engineOf(t, bound.Float32, post.Layers...)
	if !branch.CutsBox(e.Normal.Network()) {
		t.Fatal("no box is cut")
	}
	task := property.Task{T: []property.Box{provetest.BoxAround(make([]float64, 9), 0.2)}, S: property.Safe{Any: [][]int{{0}, {1}}}}
	for _, c := range [][]float64{{1, 0}, {0, 1}} {
		task.S.Rows = append(task.S.Rows, property.Row{CLo: c, CHi: c})
	}
	found, err := (&Search{Engine: e, Weights: post.Mean(), Tasks: []property.Task{task}, Cells: 1, Try: func(int, []float64) bool { return false }}).Run(t.Context())
	if err != nil || !found.Safe {
		t.Errorf("%v, found %+v", err, found)
	}
}

// TestAttacksGoOn: attacks leave time to phases only as long as these are at work.
func TestAttacksGoOn(t *testing.T) {
	r := &search{phased: make(chan struct{})}
	close(r.phased)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if r.rest(ctx, time.Hour); ctx.Err() != nil {
		t.Error("phases are over, and attacks wait")
	}
}
