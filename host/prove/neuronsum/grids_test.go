package neuronsum

import (
	"context"
	"testing"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testkit/sumtest"
)

// TestGridMixture: rows x >= -2 and -x >= -2 as alternatives never fail together; each fails alone,
// and mixed half and half the noise is gone.
func TestGridMixture(t *testing.T) {
	g := posterior.NewParams
	p := &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{
		{Layer: network.DenseLayer(1, 1, network.Activation{Kind: network.ReLU}), Weight: g([]float64{1}, []float64{1}, posterior.ScaleSD), Bias: g([]float64{0}, []float64{0.5}, posterior.ScaleSD)},
		{Layer: network.DenseLayer(1, 1, network.Activation{}), Weight: g([]float64{0}, []float64{2}, posterior.ScaleSD), Bias: g([]float64{0}, []float64{0.1}, posterior.ScaleSD)},
	}}
	one := func(c float64) property.Row { return property.Row{CLo: []float64{c}, CHi: []float64{c}, D: 1, DHi: 1} }
	s := &property.Safe{Rows: []property.Row{one(1), one(-1)}, Any: [][]int{{0}, {1}}}
	cover, err := newSum(t, p).Grids(context.Background(), []property.Box{sumtest.Interval(-1, 1)}, s, 8)
	if err != nil || cover.FailUp > 1e-6 || len(cover.Theta) != 1 || cover.Theta[0][0] != 0.5 || cover.Theta[0][1] != 0.5 {
		t.Errorf("%+v, %v", cover, err)
	}
}

// TestGridStops: an ended context says nothing, and so does a budget that the box's corners exceed.
func TestGridStops(t *testing.T) {
	n := newSum(t, sumtest.Linear(network.Activation{Kind: network.ReLU}, 0.1))
	s := sumtest.Single(property.Row{CLo: []float64{1}, CHi: []float64{1}, D: 5, DHi: 5})
	box := []property.Box{{Lo: []float64{-0.2, -0.2}, Hi: []float64{0.2, 0.2}}}
	if c, err := n.Grids(context.Background(), box, s, 4); err != nil || !(c.FailUp < 0.1) {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err := n.Grids(context.Background(), box, s, 3); err != nil || c.FailUp != 1 {
		t.Errorf("budget 3: %+v, %v", c, err)
	}
	ended, end := context.WithCancel(context.Background())
	end()
	if c, err := n.Grids(ended, box, s, 9); err == nil || c.FailUp != 1 {
		t.Errorf("ended: %+v, %v", c, err)
	}
}
