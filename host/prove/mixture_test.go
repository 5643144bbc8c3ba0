package prove_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// eitherOfTwo is y_0 >= 0 or y_1 >= 0.
func eitherOfTwo() property.Safe {
	return property.Safe{
		Rows: []property.Row{{CLo: []float64{1, 0}, CHi: []float64{1, 0}}, {CLo: []float64{0, 1}, CHi: []float64{0, 1}}},
		Any:  [][]int{{0}, {1}},
	}
}

// turning is y_0 = w_0 x + 1/2, y_1 = w_1 x + 1/2 with w_0 ~ N(1, sd^2) and w_1 ~ N(-1, sd^2): for
// x near -1 y_0 is below 0, and for x near 1 y_1 is.
func turning(sd float64) *posterior.Posterior {
	return &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{
		{Layer: network.DenseLayer(1, 2, network.Activation{}), Weight: normal(1, sd, -1, sd), Bias: normal(0.5, 0, 0.5, 0)}}}
}

// TestMixtureWhereNoRowDoes: no row holds on all of T = [-1, 1], and half of both does unless
// |w_0 + w_1| > 1. Both are below 0 somewhere exactly if w_0 and w_1 are below -1/2, or above 1/2.
func TestMixtureWhereNoRowDoes(t *testing.T) {
	safe, tt := eitherOfTwo(), interval(-1, 1)
	for _, c := range []struct {
		name string
		cfg  prove.Config
		// least is what must be proved for sd = 1/4.
		least float64
	}{
		{"clbp", prove.Config{Method: prove.CLBP, Cells: 1}, 0.97},
		{"auto", prove.Config{Method: prove.Auto, Cells: 1}, 0.97},
		{"drawn boxes", prove.Config{Method: prove.LBP, Samples: 60, Gamma: 1, Seed: 5}, 0.8},
	} {
		for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
			for _, sd := range []float64{0.25, 0.5, 1} {
				truth := 1 - 2*phi(-1.5/sd)*phi(0.5/sd)
				task := inner(safeOn(safe, tt))
				r := run(t, p, turning(sd), c.cfg, task)[0]
				if lo := r.Lower(); lo > truth || r.Upper() < truth || sd == 0.25 && lo < c.least {
					t.Errorf("%s %v sd %v: %v to %v, P_safe is %v", c.name, p, sd, lo, r.Upper(), truth)
				}
				mixed := r.Proof.Mixtures != nil
				if mixed != (r.LogP > math.Inf(-1)) {
					t.Errorf("%s %v sd %v: p_lower %v, mixtures %v: no single row proves anything", c.name, p, sd, r.Lower(), r.Proof.Mixtures)
				}
				if len(r.Task.S.Any) != 2 {
					t.Errorf("%s: the result is of a task with %d alternatives", c.name, len(r.Task.S.Any))
				}
			}
		}
	}
}

// TestMixtureOfOneAlternative: nothing is mixed where S is a conjunction, or where a row alone
// does as well.
func TestMixtureOfOneAlternative(t *testing.T) {
	one := interval(1, 1)
	post := chain(relu, normal(1, 1), none)
	for name, s := range map[string]property.Safe{"a row": rows(true, 1, 0), "two of them": rows(true, 1, 0, -1, 5), "one is enough": rows(false, 1, 0, 1, -1)} {
		for _, cfg := range []prove.Config{viaCLBP, {Method: prove.Auto}, {Method: prove.IBP, Samples: 20, Gamma: 0.5}} {
			if r := run(t, bound.Float64, post, cfg, safeOn(s, one))[0]; r.Proof.Mixtures != nil || !(r.Lower() > 0) {
				t.Errorf("%s, %v: p_lower %v with mixtures %v", name, cfg.Method, r.Lower(), r.Proof.Mixtures)
			}
		}
	}
}

// TestMixturesSimulated: what mixtures prove of random networks and safe sets, of alternatives
// with one or two rows, is what draws say.
func TestMixturesSimulated(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 31))
	used := 0
	for round := range testscale.Cases(t, 60) {
		post := spread(r, 0.02+0.2*r.Float64(), 2, 6, 3)
		var boxes []property.Box
		for range 1 + r.IntN(2) {
			x := []float64{r.NormFloat64(), r.NormFloat64()}
			boxes = append(boxes, property.Box{Lo: []float64{x[0] - 0.2, x[1] - 0.2}, Hi: []float64{x[0] + 0.2, x[1] + 0.2}})
		}
		net, points := &testNet{layers: post.Layers}, gridOf(7, boxes...)
		task := safeOn(mixable(r, post, points), boxes...)
		s := simulate(r, net, &task, points, 600)
		for name, cfg := range map[string]prove.Config{
			"clbp": {Method: prove.CLBP, Cells: 2}, "lbp": {Method: prove.LBP, Samples: 50, Gamma: 0.3},
		} {
			got := run(t, bound.Float64, post, cfg, task)[0]
			if got.Proof.Mixtures != nil {
				used++
			}
			if got.Lower() > s.upper() {
				t.Errorf("round %d, %s: p_lower %v with mixtures %v, of %d draws %d are not unsafe on a grid", round, name, got.Lower(), got.Proof.Mixtures, s.n, s.notUnsafe)
			}
		}
	}
	t.Logf("%d bounds by mixtures", used)
	if used == 0 {
		t.Error("no bound is by a mixture")
	}
}

// spread is a random ReLU network of these sizes, all weights of which have this deviation.
func spread(r *rand.Rand, sd float64, sizes ...int) *posterior.Posterior {
	post := &posterior.Posterior{Scale: posterior.ScaleSD}
	list := func(n int, size float64) posterior.Params {
		var meanSD []float64
		for range n {
			meanSD = append(meanSD, size*r.NormFloat64(), sd)
		}
		return normal(meanSD...)
	}
	for k := 1; k < len(sizes); k++ {
		l := posterior.Layer{Layer: network.DenseLayer(sizes[k-1], sizes[k], network.Activation{})}
		if k+1 < len(sizes) {
			l.Activation = relu
		}
		l.Weight, l.Bias = list(sizes[k-1]*sizes[k], 1), list(sizes[k], 0.3)
		post.Layers = append(post.Layers, l)
	}
	return post
}

// mixable is a safe set of two or three alternatives of one or two rows, which holds for the mean
// network at most points, by different alternatives.
func mixable(r *rand.Rand, post *posterior.Posterior, points [][]float64) property.Safe {
	s := property.Safe{}
	for range 2 + r.IntN(2) {
		var all []int
		for range 1 + r.IntN(2) {
			row := property.Row{}
			for range post.Outputs() {
				row.CLo = append(row.CLo, r.NormFloat64())
			}
			y := post.LogitsApprox(points[r.IntN(len(points))])
			row.CHi, row.D = row.CLo, 0.3*r.Float64()
			for i, c := range row.CLo {
				row.D -= c * y[i]
			}
			row.DHi = row.D
			all, s.Rows = append(all, len(s.Rows)), append(s.Rows, row)
		}
		s.Any = append(s.Any, all)
	}
	return s
}
