package certify

import (
	"context"
	"math"
	"testing"

	"psafe/host/bound"
	"psafe/host/network"
	"psafe/host/posterior"
	"psafe/host/property"
)

// TestGrids: where cells show nothing, neuronsum takes a grid, and its planes and mixtures are in the
// proof. f = (y, -y) with y ~ N(0, 2^2) times max(0, t): y + 1 or -y + 1 is always positive, which
// no single row shows.
func TestGrids(t *testing.T) {
	g := posterior.NewParams
	e := engineOf(t, bound.Float64,
		posterior.Layer{Layer: network.DenseLayer(1, 1, network.Activation{Kind: network.ReLU}), Weight: g([]float64{1}, []float64{1}, posterior.ScaleSD), Bias: g([]float64{0}, []float64{0.5}, posterior.ScaleSD)},
		posterior.Layer{Layer: network.DenseLayer(1, 1, network.Activation{}), Weight: g([]float64{0}, []float64{20}, posterior.ScaleSD), Bias: g([]float64{0}, []float64{0.1}, posterior.ScaleSD)})
	row := func(c float64) property.Row {
		return property.Row{CLo: []float64{c}, CHi: []float64{c}, D: 0.5, DHi: 0.5}
	}
	task := property.Task{T: []property.Box{{Lo: []float64{-1}, Hi: []float64{1}}}, S: property.Safe{Rows: []property.Row{row(1), row(-1)}, Any: [][]int{{0}, {1}}}}
	task.Inner = task.T
	var got []*Result
	take := func(r *Result) error { got = append(got, r); return nil }
	for _, s := range []Strategy{NeuronSums} {
		if err := Run(context.Background(), []*Engine{e}, Config{Strategy: s, Cells: 2}, []property.Task{task}, nil, take); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range got {
		t.Logf("p_lower %v, %d cells, %+v", r.Lower(), r.Cells, r.Proof)
		if p := r.Proof; r.Method == "neuronsum" && r.Lower() > 0 && len(p.Grids) > 0 && (p.Cells != nil || len(p.Grids) != 1 || len(p.Grids[0]) != 1 || len(p.Mixtures) != 1) {
			t.Errorf("the proof is %+v", p)
		}
		if r.Lower() < 0.999 || math.IsNaN(r.Lower()) {
			t.Errorf("p_lower %v", r.Lower())
		}
	}
}
