package noise

import (
	"slices"
	"testing"

	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
)

// TestGlobalAverage: the mean of one weight N(1, 1/4) over 16 positions is that weight. Who takes
// positions for independent certifies 0.9999999999999993 instead of Phi(2).
func TestGlobalAverage(t *testing.T) {
	image := net.Image{Height: 4, Width: 4, Channels: 1}
	conv := net.Conv{In: image, Window: checktest.WindowOf(1, 1, 0), Filters: 1, Groups: 1}
	none := checktest.WeightsOf(0, 0, 0)
	post := checktest.OfLayers(
		posterior.Layer{Layer: net.Layer{Map: conv}, Weight: checktest.WeightsOf(1, 0.5, 1), Bias: checktest.WeightsOf(0, 0, 1)},
		posterior.Layer{Layer: net.Layer{Map: net.AvgPool{In: image, Window: checktest.WindowOf(4, 1, 0)}}, Weight: none, Bias: none},
		posterior.Layer{Layer: net.DenseLayer(1, 1, net.Activation{}), Weight: checktest.WeightsOf(1, 0, 1), Bias: checktest.WeightsOf(0, 0, 1)})
	ones := slices.Repeat([]float64{1}, 16)
	task := property.Task{T: []property.Box{{Lo: ones, Hi: ones}}, S: property.Safe{Any: [][]int{{0}}, Rows: []property.Row{{CLo: []float64{1}, CHi: []float64{1}}}}}
	n, err := New(post)
	if err != nil {
		t.Fatal(err)
	}
	fail, err := n.FailUp(t.Context(), &task, nil, []float64{1e-6}, checktest.AtMost(0))
	if err != nil || 1-fail > 0.97725 || 1-fail < 0.97724 {
		t.Errorf("p_lower %v, %v; it is Phi(2) = 0.97725", 1-fail, err)
	}
	c := n.NewCellPass(task.T[0], 1e-6, 0)
	if want := 34 * 0x1p-20; c.Events != want { // 16 units and their mean are linear: nothing needs their bounds
		t.Errorf("%v events, want %v", c.Events, want)
	}
}
