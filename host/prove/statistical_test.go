package prove_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/prove/probability"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// TestStatisticalCoverage: f(x) = w x >= 0.2 has a known probability; limits from a
// few draws miss it no more often than they say, on either side.
func TestStatisticalCoverage(t *testing.T) {
	post := read(t, "one-weight.npz")
	w := post.Layers[0].Weight
	runs := testscale.Cases(t, 600)
	for _, c := range []struct {
		z, confidence float64
		samples       int
	}{{1.2, 0.9, 25}, {-0.3, 0.8, 12}, {2.2, 0.95, 40}, {0, 0.5, 7}} {
		// w x >= a on [0.5, 2] if 0.5 w >= a > 0.
		a := 0.5 * (w.Mean[0] - c.z*w.SdHi[0])
		box := interval(0.5, 2)
		if a < 0 {
			box = interval(2, 2)
			a *= 4
		}
		truth, task := phi(c.z), inner(safeOn(atLeast(a), box))
		above, below, sum := 0, 0, 0
		cfg := prove.Config{Method: prove.Statistical, Samples: c.samples, Confidence: c.confidence, NoUpper: true}
		for seed := range runs {
			cfg.Seed = uint64(seed)
			r := run(t, bound.Float64, post, cfg, task)[0]
			st := r.Statistic
			if st.Safe+st.Unsafe != c.samples || st.Samples != c.samples || st.Confidence != c.confidence || r.Lower() != 0 || r.Upper() != 1 {
				t.Fatalf("%+v of %+v", st, r)
			}
			alpha := (1 - c.confidence) / 2
			if lo, hi := probability.ClopperPearsonDown(st.Safe, st.Samples, alpha), probability.ClopperPearsonUp(st.Samples-st.Unsafe, st.Samples, alpha); st.Lower != lo || st.Upper != hi {
				t.Fatalf("limits %v to %v of %+v, want %v to %v", st.Lower, st.Upper, st, lo, hi)
			}
			sum += st.Safe
			if st.Lower > truth {
				above++
			}
			if st.Upper < truth {
				below++
			}
		}
		n, alpha := float64(runs), (1-c.confidence)/2
		most := n*alpha + 5*math.Sqrt(n*alpha*(1-alpha))
		if float64(above) > most || float64(below) > most {
			t.Errorf("z %v: of %d intervals %d are above and %d below P_safe, at most %v of each", c.z, runs, above, below, n*alpha)
		}
		draws := n * float64(c.samples)
		if got := float64(sum) / draws; math.Abs(got-truth) > 5*math.Sqrt(truth*(1-truth)/draws) {
			t.Errorf("z %v: %v of networks are safe, P_safe is %v", c.z, got, truth)
		}
	}
}

// sameResults compares results but for what says who made them and when.
func sameResults(a, b []*claim.Result) string {
	if len(a) != len(b) {
		return fmt.Sprintf("%d and %d results", len(a), len(b))
	}
	for i := range a {
		x, y := *a[i], *b[i]
		x.Seconds, y.Seconds, x.Device, y.Device = 0, 0, "", ""
		x.Task, y.Task = nil, nil
		for _, r := range []*claim.Result{&x, &y} { // NaN is not equal to itself
			if math.IsNaN(r.Margin) {
				r.Margin = 0
			}
		}
		if !reflect.DeepEqual(x, y) || a[i].Task.Index != b[i].Task.Index {
			return fmt.Sprintf("task %d: %+v and %+v", i, x, y)
		}
	}
	return ""
}

// manyTasks are tasks of random T and S for a posterior, numbered.
func manyTasks(seed uint64, post *posterior.Posterior, n int) []property.Task {
	r := rand.New(rand.NewPCG(seed, 11))
	var tasks []property.Task
	for i := range n {
		box := randomBox(r, post.Inputs())
		net := &testNet{layers: post.Layers, weights: meansOf(post)}
		s := property.Safe{Any: [][]int{nil}}
		y := net.logits(box.Lo)
		for o := range post.Outputs() {
			row := property.Row{CLo: make([]float64, post.Outputs()), D: 0.2*r.NormFloat64() + 0.3}
			row.CLo[o] = float64(1 - 2*r.IntN(2))
			row.D -= row.CLo[o] * y[o]
			row.CHi, row.DHi = row.CLo, row.D
			s.Any[0] = append(s.Any[0], o)
			s.Rows = append(s.Rows, row)
		}
		task := inner(safeOn(s, box))
		task.Index = i
		tasks = append(tasks, task)
	}
	return tasks
}

// meansOf is the mean network as posterior.Draw lays networks out.
func meansOf(post *posterior.Posterior) (w [][]float64) {
	for _, l := range post.Layers {
		w = append(w, slices.Clone(l.Weight.Mean), slices.Clone(l.Bias.Mean))
	}
	return w
}

// TestResultsOfAnyEngines: neither how many engines there are nor which tasks are
// certified together matters.
func TestResultsOfAnyEngines(t *testing.T) {
	tiny := read(t, "tiny-2-3-2-tanh.npz")
	for _, c := range testscale.Few(t, []struct {
		post *posterior.Posterior
		cfg  prove.Config
	}{
		{tiny, prove.Config{Method: prove.Statistical, Samples: 40, Seed: 3, Confidence: 0.99}},
		{tiny, prove.Config{Method: prove.CLBP, Cells: fewCells(t), Samples: 20, Confidence: 0.9}},
		{twoHidden(), autoOfCells},
		{tiny, autoOfCells}, // seconds for sums of neurons
	}, 3) {
		post, cfg, tasks := c.post, c.cfg, manyTasks(5, c.post, 10/testscale.By(t, 2))
		for _, p := range testscale.Few(t, []bound.Precision{bound.Float32, bound.Float64}, 1) {
			want := run(t, p, post, cfg, tasks...)
			for n := 2; n <= 3; n++ {
				var engines []*engine.Engine
				for range n {
					eng, err := engine.New(fallback.New(p), nil, post, 12)
					if err != nil {
						t.Fatal(err)
					}
					engines = append(engines, eng)
				}
				if diff := sameResults(runOn(t, engines, cfg, tasks...), want); diff != "" {
					t.Errorf("%+v %v: %d engines and one: %s", cfg, p, n, diff)
				}
				for _, e := range engines {
					e.Close()
				}
			}
			var alone []*claim.Result
			for _, task := range tasks {
				alone = append(alone, run(t, p, post, cfg, task)...)
			}
			if diff := sameResults(alone, want); diff != "" {
				t.Errorf("%+v %v: tasks alone and together: %s", cfg, p, diff)
			}
		}
	}
}

// redrawn is a draw of a posterior of another kind, made here from its definition.
func redrawn(r *rand.Rand, post *posterior.Posterior) [][]float64 {
	w := meansOf(post)
	if s := post.SWAG(); s != nil {
		column := make([]float64, s.Rank)
		for k := range column {
			column[k] = r.NormFloat64() / math.Sqrt(2*float64(s.Rank-1))
		}
		for a := range w {
			for e := range w[a] {
				w[a][e] += s.Sd[a][e] * r.NormFloat64() / math.Sqrt2
				for k, z := range column {
					w[a][e] += s.Deviation[a][k*len(w[a])+e] * z
				}
			}
		}
	}
	for k, rate := range post.Dropout() {
		l := post.Layers[k]
		for j := range l.Inputs() {
			factor := 1 / (1 - rate)
			if r.Float64() < rate {
				factor = 0
			}
			for i := range l.Outputs() {
				w[2*k][j*l.Outputs()+i] *= factor
			}
		}
	}
	return w
}

// TestOtherKindsStatistically: limits for SWAG and dropout agree with networks drawn
// from the definitions of these posteriors.
func TestOtherKindsStatistically(t *testing.T) {
	for _, name := range []string{"swag-2-8-3.npz", "dropout-2-8-3.npz"} {
		post := read(t, name)
		r := rand.New(rand.NewPCG(1, 17))
		tasks := manyTasks(2, post, 12)
		cfg := prove.Config{Method: prove.Statistical, Samples: 300, Seed: 5, Confidence: 1 - 2*sureness, Cells: 64}
		between := 0
		for i, res := range run(t, bound.Float32, post, cfg, tasks...) {
			points := gridOf(7, tasks[i].T...)
			n, not := 1000, 0
			for range n {
				net := &testNet{layers: post.Layers, weights: redrawn(r, post)}
				if m, slack := net.worst(&tasks[i].S, points); m >= -slack {
					not++
				}
			}
			st := res.Statistic
			// The grid may miss unsafe points, but hardly many: 0.02 of the networks.
			lo, hi := probability.ClopperPearsonDown(not, n, sureness)-0.02, probability.ClopperPearsonUp(not, n, sureness)
			if st.Lower > hi || st.Upper < lo || res.Lower() != 0 || res.Upper() < lo {
				t.Errorf("%s task %d: %+v, by simulation %v to %v; certified %v to %v", name, i, st, lo, hi, res.Lower(), res.Upper())
			}
			if st.Safe+st.Unsafe < st.Samples*9/10 {
				t.Errorf("%s task %d: %d of %d networks are undecided", name, i, st.Samples-st.Safe-st.Unsafe, st.Samples)
			}
			if not > n/50 && not < n-n/50 {
				between++
			}
		}
		if between < 4 {
			t.Errorf("%s: P_safe is neither 0 nor 1 in %d tasks only", name, between)
		}
	}
}
