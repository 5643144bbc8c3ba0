package check

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"psafe/host/arith"
	"psafe/host/bound"
	"psafe/host/check/cases"
	"psafe/host/check/sums"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/prove/neuronsum/grid"
	"psafe/host/read/format"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// anyFail is content with every probability of failure.
func anyFail(float64) bool { return true }

// sumsProved counts how certificates by sums of neurons were proved again.
type sumsProved struct {
	lower, upper      int
	certify, check    float64 // seconds of CPU
	leastLow, leastUp float64 // least of claimed/recomputed
}

// plansOf are plans of a proof as check reads them.
func plansOf(plans []*grid.Plan) (out []*cases.Plan) {
	for _, p := range plans {
		out = append(out, &cases.Plan{Rows: p.Rows, Factors: p.Factors})
	}
	return out
}

// failAsProved returns what sums of neurons prove by the proof of r: on its cells, or on its grids.
func failAsProved(t *testing.T, post *posterior.Posterior, r *claim.Result) (float64, error) {
	task := asProved(t, r)
	if r.Proof.Grids == nil {
		cells, err := cases.CellsOf(task.T, r.Proof.Cells)
		if err != nil {
			return 1, err
		}
		plans, err := cases.PlansOf(&task.S, plansOf(r.Proof.Plans), len(cells))
		if err != nil {
			return 1, err
		}
		return sums.FailUp(t.Context(), post, cells, plans, anyFail)
	}
	n, err := sums.New(post)
	if err != nil {
		return 1, err
	}
	grids, err := sums.Grids(task.T, r.Proof.Grids, r.Proof.Centres)
	if err != nil {
		return 1, err
	}
	safe := task.S
	if r.Proof.Mixtures != nil {
		safe.Any = safe.Any[len(safe.Any)-1:]
	}
	chosen, err := cases.Chosen(&safe, r.Proof.Rows)
	if err != nil {
		return 1, err
	}
	var large [][]*sums.Large
	for _, list := range r.Proof.Large {
		var rows []*sums.Large
		for _, l := range list {
			if l == nil {
				rows = append(rows, nil)
			} else {
				rows = append(rows, &sums.Large{At: l.At, Above: l.Above})
			}
		}
		large = append(large, rows)
	}
	return n.GridsFailUp(t.Context(), grids, chosen, large, anyFail)
}

// proveSums certifies the tasks by sums of neurons and proves all claims again.
func (s *sumsProved) proveSums(t *testing.T, post *posterior.Posterior, cells int, tasks []property.Task) {
	t.Helper()
	start := cpuSeconds()
	results := checktest.Certified(t, bound.Float64, post, prove.Config{Method: prove.NeuronSum, Cells: cells}, tasks)
	s.certify += cpuSeconds() - start
	start = cpuSeconds()
	for _, r := range results {
		if r.Lower() > 0 {
			s.lower++
			claimed := -math.Expm1(r.LogP)
			fail, err := failAsProved(t, post, r)
			if err != nil || fail > claimed {
				t.Errorf("%d %s: fails %v (%.3g more), certify says %v, cells %v, %v", r.Task.Index, r.Task.Name, fail, fail/claimed-1, claimed, r.Proof.Cells, err)
			}
			s.leastLow = min(s.leastLow, claimed/fail)
		}
		if u := r.Proof.Upper; u != nil && u.Method == "neuronsum" {
			s.upper++
			rows, err := cases.RefutingOf(&r.Task.S, plansOf(u.Plans))
			if err != nil {
				t.Fatal(err)
			}
			safe, err := sums.FailUp(t.Context(), post, []property.Box{checktest.WitnessOf(t, r.Task, u.Witness)}, [][]property.Row{rows}, checktest.AtMost(r.Upper()))
			if err != nil || safe > r.Upper() {
				t.Errorf("%d %s: p_upper %v (%.3g more), certify says %v, %v", r.Task.Index, r.Task.Name, safe, safe/r.Upper()-1, r.Upper(), err)
			}
			s.leastUp = min(s.leastUp, r.Upper()/safe)
		}
	}
	s.check += cpuSeconds() - start
}

func (s *sumsProved) log(t *testing.T) {
	t.Logf("%d lower bounds (claims at least %.4g times as large), %d upper (%.4g); CPU: certify %.2f s, check %.2f s",
		s.lower, s.leastLow, s.upper, s.leastUp, s.certify, s.check)
}

// TestSumsGenuine: what certify claims of random posteriors is proved again.
func TestSumsGenuine(t *testing.T) {
	all := sumsProved{leastLow: arith.Inf, leastUp: arith.Inf}
	cases := testscale.Costly(t, 300/testscale.By(t, 2))
	for seed := range cases {
		rng := rand.New(rand.NewPCG(uint64(seed), 21))
		in := 1 + rng.IntN(3)
		post := sumtest.AnyShallow(rng, checktest.Activations[seed%len(checktest.Activations)], in, 1+rng.IntN(12), 1+rng.IntN(3))
		task := property.Task{Index: seed, Label: -1}
		for range 1 + rng.IntN(2) {
			task.T = append(task.T, sumtest.AnyCell(rng, in))
		}
		task.Inner = task.T
		if rng.IntN(3) == 0 { // real boxes of which only narrower ones are known
			task.Inner = nil
			for _, b := range task.T {
				inner := property.Box{Lo: append([]float64(nil), b.Lo...), Hi: append([]float64(nil), b.Hi...)}
				for j := range inner.Lo {
					inner.Lo[j], inner.Hi[j] = arith.Up(inner.Lo[j]), arith.Down(inner.Hi[j])
				}
				task.Inner = append(task.Inner, inner)
			}
		}
		task.S = sumtest.AnySafe(rng, post, task.T[0].Lo)
		all.proveSums(t, post, 1+rng.IntN(6), []property.Task{task})
	}
	all.log(t)
	if cases >= 10 && (all.lower == 0 || all.upper == 0) { // fewer may be of one kind
		t.Error("nothing to prove again")
	}
}

// realPosterior reads a posterior of testdata or, beside the repository, of others.
func realPosterior(t *testing.T, act []net.Activation, elem ...string) *posterior.Posterior {
	t.Helper()
	post, err := format.Read(realFile(t, elem...), format.Options{Scale: posterior.ScaleSD, Activations: act})
	if err != nil {
		t.Fatal(err)
	}
	return post
}

// realFile is a file of testdata or, beside the repository, of real data.
func realFile(t *testing.T, elem ...string) string {
	t.Helper()
	path := filepath.Join(append([]string{"..", ".."}, elem...)...)
	if elem[0] == "shared" {
		root := os.Getenv("PSAFE_SHARED")
		if root == "" {
			root = filepath.Join("..", "..", "..", "shared")
		}
		path = filepath.Join(append([]string{root}, elem[1:]...)...)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skipf("real data are absent (set PSAFE_SHARED): %v", err)
	}
	return path
}

// TestSumsTestdata: the posteriors of testdata with one hidden layer and their properties.
func TestSumsTestdata(t *testing.T) {
	within := func(x, r, lo, hi float64) property.Task {
		b := property.Box{Lo: []float64{x - r}, Hi: []float64{x + r}}
		row := func(c, d float64) property.Row {
			return property.Row{CLo: []float64{c}, CHi: []float64{c}, D: d, DHi: d}
		}
		return property.Task{T: []property.Box{b}, Inner: []property.Box{b}, S: property.Safe{
			Any: [][]int{{0, 1}}, Rows: []property.Row{row(1, -lo), row(-1, hi)}}}
	}
	for _, c := range []struct {
		file, properties string
		cells            int
		tasks            []property.Task
	}{
		{"cubic-128.npz", "cubic-property.json", 2, nil},
		{"advisory-4-32-9.npz", "advisory-property.json", 2, nil}, // 16 vertices a cell
		{"two-weights-product.npz", "", 8, []property.Task{within(1, 0.5, -3, 1), within(1, 0, -1, 0.5), within(-1, 0.1, -4, 0)}},
	} {
		t.Run(c.file, func(t *testing.T) {
			post := realPosterior(t, nil, "testdata", c.file)
			if post.Inputs() > 2 {
				testscale.DeepOnly(t) // half a minute; TestCheckSums has records of 64 inputs
			}
			tasks := c.tasks
			if c.properties != "" {
				var err error
				if tasks, err = property.ReadFile(filepath.Join("..", "..", "testdata", c.properties), post.Outputs()); err != nil {
					t.Fatal(err)
				}
			}
			all := sumsProved{leastLow: arith.Inf, leastUp: arith.Inf}
			all.proveSums(t, post, c.cells/testscale.By(t, 2), testscale.Few(t, tasks, 1))
			all.log(t)
		})
	}
}

// TestSumsReal: released posteriors with one hidden layer.
func TestSumsReal(t *testing.T) {
	testscale.DeepOnly(t) // minutes of convolutions
	relu, tanh := []net.Activation{{Kind: net.ReLU}}, []net.Activation{{Kind: net.Tanh}}
	for _, c := range []struct {
		file  string
		act   []net.Activation
		cells int
	}{
		{"VIMODEL_128_relu.net.npz", relu, 4}, {"VIMODEL.net.npz", tanh, 8},
	} {
		t.Run(c.file, func(t *testing.T) {
			post := realPosterior(t, c.act, "shared", "data", "uai2020", c.file)
			var tasks []property.Task
			for _, x := range []float64{-0.5, 0, 0.3} {
				for _, r := range []float64{0, 0.01, 0.2} {
					for _, d := range []float64{0.5, 2, 5} {
						b := property.Box{Lo: []float64{x - r}, Hi: []float64{x + r}}
						row := func(c float64) property.Row { return property.Row{CLo: []float64{c}, CHi: []float64{c}, D: d, DHi: d} }
						tasks = append(tasks, property.Task{T: []property.Box{b}, Inner: []property.Box{b}, S: property.Safe{
							Any: [][]int{{0, 1}}, Rows: []property.Row{row(1), row(-1)}}})
					}
				}
			}
			all := sumsProved{leastLow: arith.Inf, leastUp: arith.Inf}
			all.proveSums(t, post, c.cells, tasks)
			all.log(t)
		})
	}
	t.Run("VCAS", func(t *testing.T) {
		post := realPosterior(t, relu, "shared", "data", "uai2020", "VCAS_MODEL_512.net")
		tasks, err := property.ReadFile(realFile(t, "shared", "data", "uai2020", "vcas_properties.json"), post.Outputs())
		if err != nil {
			t.Fatal(err)
		}
		all := sumsProved{leastLow: arith.Inf, leastUp: arith.Inf}
		all.proveSums(t, post, 1, tasks)
		all.log(t)
	})
}
