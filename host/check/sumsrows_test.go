package check

import (
	"testing"

	net "psafe/host/network"
	"psafe/host/posterior"
	"psafe/host/property"
)

// TestSumsOfRows: what rows fail by is added. An output that is N(0, 1) leaves [-1, 1] on
// either side with probability 0.1587, so the bound must not be below both together.
func TestSumsOfRows(t *testing.T) {
	certain := func(mean float64) posterior.Params {
		return posterior.NewParams([]float64{mean}, []float64{0}, posterior.ScaleSD)
	}
	post := &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{
		{Layer: net.DenseLayer(1, 1, net.Activation{Kind: net.ReLU}), Weight: certain(0), Bias: certain(1)},
		{Layer: net.DenseLayer(1, 1, net.Activation{}), Weight: posterior.NewParams([]float64{0}, []float64{1}, posterior.ScaleSD), Bias: certain(0)},
	}}
	safe, _, err := property.ParseSpec("output_box:[-1,1]", 1)
	if err != nil {
		t.Fatal(err)
	}
	point := property.Box{Lo: []float64{0.5}, Hi: []float64{0.5}}
	task := &property.Task{T: []property.Box{point}, Inner: []property.Box{point}, S: safe}
	fail, err := sumsFailUp(t.Context(), post, task, []int{-1}, anyFail)
	if err != nil || fail < 0.31731 || fail > 0.33 {
		t.Errorf("the output is outside with probability 0.31731, bounded by %v, %v", fail, err)
	}
}
