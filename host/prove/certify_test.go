package prove_test

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	"psafe/fallback"
	"psafe/host/arith"
	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/read/format"
	"psafe/host/read/property"
)

func read(t testing.TB, name string) *posterior.Posterior {
	t.Helper()
	p, err := format.Read(filepath.Join("..", "..", "testdata", name), format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func run(t testing.TB, p bound.Precision, post *posterior.Posterior, cfg prove.Config, tasks ...property.Task) []*claim.Result {
	t.Helper()
	eng, err := engine.New(fallback.New(p), nil, post, math.Max(12, cfg.Gamma))
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	return runOn(t, []*engine.Engine{eng}, cfg, tasks...)
}

func runOn(t testing.TB, engines []*engine.Engine, cfg prove.Config, tasks ...property.Task) []*claim.Result {
	t.Helper()
	var results []*claim.Result
	if err := prove.Run(context.Background(), engines, cfg, tasks, nil, func(r *claim.Result) error {
		results = append(results, r)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(results) != len(tasks) {
		t.Fatalf("%d results for %d tasks", len(results), len(tasks))
	}
	return results
}

func interval(lo, hi float64) property.Box {
	return property.Box{Lo: []float64{lo}, Hi: []float64{hi}}
}

// atLeast is the safe set y >= a of a network with one output.
func atLeast(a float64) property.Safe {
	return property.Safe{Rows: []property.Row{{CLo: []float64{1}, CHi: []float64{1}, D: -a, DHi: -a}}, Any: [][]int{{0}}}
}

func phi(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// integrate is the midpoint rule over mean +- 9 sd of a normal density times f.
func integrate(mean, sd float64, f func(w float64) float64) float64 {
	const n = 200000
	sum := 0.0
	for i := range n {
		z := -9 + 18*(float64(i)+0.5)/n
		sum += math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) * 18 / n * f(mean+sd*z)
	}
	return sum
}

// quadrature cases: posteriors of one and two weights whose P_safe has a formula.
type quadrature struct {
	name string
	file string
	task property.Task
	// truth is P_safe within 1e-9.
	truth float64
}

func quadratures(t *testing.T) []quadrature {
	one := read(t, "one-weight.npz")
	w := one.Layers[0].Weight
	// f(x) = w x >= 0.2 for x in [0.5, 2]: w >= 0.4.
	oneTruth := phi((w.Mean[0] - 0.4) / w.SdHi[0])
	two := read(t, "two-weights.npz").Layers[0]
	// f(x) = w x + b >= -1 for x in [-1, 2]: linear in x, so at both ends.
	twoTruth := integrate(two.Weight.Mean[0], two.Weight.SdHi[0], func(w float64) float64 {
		worst := math.Min(-w, 2*w)
		return phi((two.Bias.Mean[0] + worst + 1) / two.Bias.SdHi[0])
	})
	product := read(t, "two-weights-product.npz")
	a, v := product.Layers[0].Weight, product.Layers[1].Weight
	// f(x) = v max(w x, 0) >= -1 for x in [0, 1]: safe if w <= 0 or v w >= -1.
	productTruth := integrate(a.Mean[0], a.SdHi[0], func(w float64) float64 {
		if w <= 0 {
			return 1
		}
		return phi((v.Mean[0] + 1/w) / v.SdHi[0])
	})
	task := func(b property.Box, a float64) property.Task {
		return property.Task{Label: -1, T: []property.Box{b}, S: atLeast(a)}
	}
	return []quadrature{
		{"one weight", "one-weight.npz", task(interval(0.5, 2), 0.2), oneTruth},
		{"two weights", "two-weights.npz", task(interval(-1, 2), -1), twoTruth},
		{"product", "two-weights-product.npz", task(interval(0, 1), -1), productTruth},
	}
}

// TestQuadrature: certified bounds of posteriors small enough for quadrature are
// never above the truth.
func TestQuadrature(t *testing.T) {
	for _, q := range quadratures(t) {
		post := read(t, q.file)
		for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
			for _, m := range []prove.Method{prove.IBP, prove.LBP} {
				for _, c := range []struct {
					cfg   prove.Config
					share float64 // of the truth that must be proved
				}{
					{prove.Config{Method: m, Samples: 200, Gamma: 0.3, Seed: 7}, 0.5},
				} {
					got := math.Exp(run(t, p, post, c.cfg, q.task)[0].LogP)
					if got > q.truth+1e-9 || got < c.share*q.truth {
						t.Errorf("%s, %v %v %+v: p_lower %v, truth %v: must be between %v of it and it", q.name, p, m, c.cfg, got, q.truth, c.share)
					}
				}
			}
		}
	}
}

// TestUnionOfRegions: safe on a union means safe on each box with the same
// weights, so the bound is at most that of either box.
func TestUnionOfRegions(t *testing.T) {
	post := read(t, "two-weights.npz")
	a, b := interval(-1, -0.5), interval(0.5, 2)
	tasks := []property.Task{
		{Label: -1, T: []property.Box{a}, S: atLeast(-1.5)},
		{Label: -1, T: []property.Box{b}, S: atLeast(-1.5)},
		{Label: -1, T: []property.Box{a, b}, S: atLeast(-1.5)},
	}
	for _, cfg := range []prove.Config{{Method: prove.CLBP}, {Method: prove.LBP, Samples: 300, Gamma: 0.4}} {
		r := run(t, bound.Float64, post, cfg, tasks...)
		if r[2].LogP > math.Min(r[0].LogP, r[1].LogP) || math.IsInf(r[2].LogP, -1) {
			t.Errorf("%+v: union %v, boxes %v and %v", cfg, r[2].LogP, r[0].LogP, r[1].LogP)
		}
	}
}

// TestSampledCeiling: what drawn boxes prove is never above N erf^d.
func TestSampledCeiling(t *testing.T) {
	post := read(t, "tiny-2-3-2-tanh.npz")
	task := property.Task{Label: -1, T: []property.Box{{Lo: []float64{-1, -1}, Hi: []float64{1, 1}}},
		S: property.Safe{Rows: []property.Row{{CLo: []float64{1, 0}, CHi: []float64{1, 0}, D: 1e6, DHi: 1e6}}, Any: [][]int{{0}}}}
	r := run(t, bound.Float32, post, prove.Config{Method: prove.IBP, Samples: 5, Gamma: 1}, task)[0]
	if r.SafeBoxes != 5 {
		t.Fatalf("%d of 5 boxes safe for a property that always holds", r.SafeBoxes)
	}
	if ten := arith.Log10Down(r.LogP); !(ten <= r.CeilingLog10) || math.IsInf(ten, -1) {
		t.Errorf("log10 p %v, ceiling %v", ten, r.CeilingLog10)
	}
}

// TestDisjunction: argmax-is-never is proved where one fixed alternative works.
func TestDisjunction(t *testing.T) {
	post := read(t, "glyphs-64-32-10.npz")
	points, err := property.ReadPoints(filepath.Join("..", "..", "testdata", "glyphs-test-images-idx3-ubyte.gz"), property.InputOptions{})
	if err != nil {
		t.Fatal(err)
	}
	region, err := property.ReadRegion(property.RegionText{Eps: "0.01"}, points.Dim)
	if err != nil {
		t.Fatal(err)
	}
	box, err := points.Around(0, region)
	if err != nil {
		t.Fatal(err)
	}
	never := func(c int) property.Task {
		return property.Task{Label: c, T: []property.Box{box}, S: property.ArgmaxIsNever(c, 10)}
	}
	r := run(t, bound.Float32, post, prove.Config{Method: prove.CLBP}, never(5), never(0))
	if !(math.Exp(r[0].LogP) > 0.9) {
		t.Errorf("an image of a 0 is never a 5: p_lower %v", math.Exp(r[0].LogP))
	}
	if !math.IsInf(r[1].LogP, -1) {
		t.Errorf("an image of a 0 is never a 0: p_lower %v, must be nothing", math.Exp(r[1].LogP))
	}
}

// TestReproducible: two runs with one seed agree, another seed draws other boxes.
func TestReproducible(t *testing.T) {
	post := read(t, "two-weights-product.npz")
	task := property.Task{Label: -1, T: []property.Box{interval(0, 1)}, S: atLeast(-1)}
	cfg := prove.Config{Method: prove.LBP, Samples: 700, Gamma: 0.2, Seed: 3}
	a := run(t, bound.Float32, post, cfg, task)[0]
	b := run(t, bound.Float32, post, cfg, task)[0]
	if a.LogP != b.LogP || a.SafeBoxes != b.SafeBoxes || a.Margin != b.Margin {
		t.Errorf("two runs differ: %+v, %+v", a, b)
	}
	other := cfg
	other.Seed = 4
	if c := run(t, bound.Float32, post, other, task)[0]; c.LogP == a.LogP {
		t.Errorf("another seed gives the same %v", c.LogP)
	}
}
