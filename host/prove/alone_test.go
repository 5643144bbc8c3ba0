package prove_test

import (
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// TestAlone: a task has the same bound, bit for bit, alone and together with others: among them
// points, boxes without negative numbers and boxes with some.
func TestAlone(t *testing.T) {
	between := 0
	for seed := range testscale.Costly(t, 150/testscale.By(t, 2)) {
		r := rand.New(rand.NewPCG(uint64(seed), 40))
		post := &posterior.Posterior{Scale: posterior.ScaleSD}
		sizes := [][]int{{2, 5, 4, 3}, {2, 7, 3}, {3, 6, 6, 4, 3}}[seed%3]
		for k := range len(sizes) - 1 {
			in, out := sizes[k], sizes[k+1]
			params := func(n int) posterior.Params {
				mean, sd := make([]float64, n), make([]float64, n)
				for i := range mean {
					mean[i], sd[i] = r.NormFloat64(), 0.3*r.Float64()
				}
				return posterior.NewParams(mean, sd, posterior.ScaleSD)
			}
			act := network.Activation{Kind: network.ReLU}
			if k == len(sizes)-2 {
				act = network.Activation{}
			}
			post.Layers = append(post.Layers, posterior.Layer{Layer: network.DenseLayer(in, out, act), Weight: params(in * out), Bias: params(out)})
		}
		var tasks []property.Task
		for i := range 6 {
			var b property.Box
			for range sizes[0] {
				x := r.NormFloat64()
				if i%2 == 0 {
					x = 0.3 + r.Float64()
				}
				b.Lo, b.Hi = append(b.Lo, x-0.3), append(b.Hi, x+0.3)
			}
			if i == 5 {
				b.Hi = b.Lo
			}
			var s property.Safe
			for k := range 1 + r.IntN(3) {
				row := property.Row{CLo: []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}, D: 1 + 6*r.Float64()}
				row.CHi, row.DHi = row.CLo, row.D
				s.Rows = append(s.Rows, row)
				s.Any = append(s.Any, nil)
				s.Any[0] = append(s.Any[0], k)
			}
			s.Any = s.Any[:1]
			tasks = append(tasks, property.Task{Index: i, Label: -1, T: []property.Box{b}, Inner: []property.Box{b}, S: s})
		}
		p := bound.Precision(seed % 2)
		cfg := prove.Config{Method: prove.CLBP, Cells: 8}
		for i, together := range run(t, p, post, cfg, tasks...) {
			alone := run(t, p, post, cfg, tasks[i])[0]
			if together.LogP != alone.LogP || together.UnsafeDown != alone.UnsafeDown || together.Tau != alone.Tau {
				t.Errorf("seed %d task %d: %v, %v at %v together, %v, %v at %v alone", seed, i, together.LogP, together.UnsafeDown, together.Tau, alone.LogP, alone.UnsafeDown, alone.Tau)
			}
			if together.Lower() > 0 && together.Lower() < 0.9999 {
				between++
			}
		}
	}
	if between == 0 {
		t.Error("no bound is between 0 and 1")
	}
	t.Logf("%d bounds between 0 and 1", between)
}
