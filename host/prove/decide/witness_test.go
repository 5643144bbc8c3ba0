package decide

import (
	"context"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
)

// TestConvict: of networks that are accused only those are ruled unsafe whose rows are surely
// negative all over the suspect's box.
func TestConvict(t *testing.T) {
	one, none := posterior.NewParams([]float64{1}, []float64{0}, posterior.ScaleSD), posterior.NewParams([]float64{0}, []float64{0}, posterior.ScaleSD)
	post := &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{
		{Layer: network.DenseLayer(1, 1, network.Activation{Kind: network.ReLU}), Weight: one, Bias: none},
		{Layer: network.DenseLayer(1, 1, network.Activation{}), Weight: one, Bias: none},
	}}
	e, err := engine.New(fallback.New(bound.Float32), nil, post, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	// max(x, 0) >= 0.5
	task := property.Task{S: property.Safe{Rows: []property.Row{{CLo: []float64{1}, CHi: []float64{1}, D: -0.5, DHi: -0.5}}, Any: [][]int{{0}}}}
	interval := func(lo, hi float64) property.Box { return property.Box{Lo: []float64{lo}, Hi: []float64{hi}} }
	for _, c := range []struct {
		box    property.Box
		unsafe bool
	}{{interval(0.1, 0.2), true}, {interval(0.4, 0.6), false}, {interval(0.5, 0.5), false}, {interval(0.8, 0.9), false}} {
		for _, method := range []bound.Propagation{bound.IBP, bound.LBP} {
			d := &decision{e: e, nets: []drawn{meansOf(post)}, tasks: []property.Task{task}, rulings: make([]decided, 1)}
			s := suspect{box: c.box}
			left, err := d.convict(context.Background(), method, []*suspect{&s})
			if err != nil {
				t.Fatal(err)
			}
			if got := d.rulings[0].ruling == provedUnsafe; got != c.unsafe || (len(left) == 0) != c.unsafe {
				t.Errorf("%v by %v: ruled unsafe: %v, %d left", c.box, method, got, len(left))
			}
		}
	}
}
