package prove_test

import (
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/property"
)

// TestDecideOverflow: a network whose outputs are no float64 numbers is undecided; nothing panics.
func TestDecideOverflow(t *testing.T) {
	post := &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{
		{Layer: network.DenseLayer(1, 1, network.Activation{Kind: network.ReLU}), Weight: normal(1e200, 0), Bias: normal(0, 0)},
		{Layer: network.DenseLayer(1, 2, network.Activation{}), Weight: normal(1e200, 0, 0, 0), Bias: normal(0, 0, 0, 0)}}}
	for _, c := range [][]float64{{0, 1}, {1, 0}, {-1, 0}} {
		row := property.Row{CLo: c, CHi: c, D: -1, DHi: -1}
		task := inner(safeOn(property.Safe{Rows: []property.Row{row}, Any: [][]int{{0}}}, interval(0.5, 1)))
		one := prove.Config{Method: prove.Finite, Cells: 4}
		if r := run(t, bound.Float64, post, one, task)[0]; r.Lower() != 0 || r.Upper() != 1 {
			t.Errorf("row %v: %v to %v", c, r.Lower(), r.Upper())
		}
	}
}

// TestPhasesOverflow: networks whose rows overflow float32 on their way down, with gradients that are
// NaN, are tried by phases without a panic.
func TestPhasesOverflow(t *testing.T) {
	for i := range 12 {
		size := []float64{1e12, 1e20, 1e30, 1e37}[i%4]
		r := rand.New(rand.NewPCG(uint64(i/4*5), 1)) // of 0 and 5 attacks find nothing
		sizes := []int{10, 6, 6, 6, 2}
		post := &posterior.Posterior{Scale: posterior.ScaleSD}
		draw := func(n int) posterior.Params {
			var v []float64
			for range n {
				v = append(v, size*r.NormFloat64(), 0)
			}
			return normal(v...)
		}
		for k := range len(sizes) - 1 {
			l := posterior.Layer{Layer: network.DenseLayer(sizes[k], sizes[k+1], network.Activation{}), Weight: draw(sizes[k] * sizes[k+1]), Bias: draw(sizes[k+1])}
			if k < len(sizes)-2 {
				l.Activation = network.Activation{Kind: network.ReLU}
			}
			post.Layers = append(post.Layers, l)
		}
		box := property.Box{}
		for range sizes[0] {
			x := r.NormFloat64()
			box.Lo, box.Hi = append(box.Lo, x-1), append(box.Hi, x+1)
		}
		task := inner(safeOn(property.Safe{Rows: []property.Row{{CLo: []float64{1, -1}, CHi: []float64{1, -1}, D: 1, DHi: 1}}, Any: [][]int{{0}}}, box))
		s := run(t, bound.Float32, post, prove.Config{Method: prove.Statistical, Samples: 2, Confidence: 0.9, NoUpper: true}, task)[0].Statistic
		if s.Safe != 0 {
			t.Errorf("size %v: %d of 2 networks are proved safe", size, s.Safe)
		}
	}
}
