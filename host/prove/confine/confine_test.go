package confine

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/internal/testkit/provetest"
	"psafe/internal/testscale"
)

// caseOf is a random posterior of these layers, and tasks that keep the class of points, on boxes
// of this radius.
func caseOf(r *rand.Rand, sd, radius float64, sizes ...int) (*posterior.Posterior, []property.Task) {
	post := provetest.Noisy(r, sd, false, sizes...)
	var tasks []property.Task
	for n := range 4 {
		box, x := property.Box{}, make([]float64, sizes[0])
		for j := range x {
			x[j] = r.NormFloat64()
			box.Lo, box.Hi = append(box.Lo, x[j]-radius), append(box.Hi, x[j]+radius)
		}
		y := post.LogitsApprox(x)
		label := slices.Index(y, slices.Max(y))
		tasks = append(tasks, property.Task{Index: n, Label: label, T: []property.Box{box}, Inner: []property.Box{box}, S: property.ArgmaxIs(label, len(y))})
	}
	return post, tasks
}

func engineOf(t *testing.T, p bound.Precision, post *posterior.Posterior) *engine.Engine {
	t.Helper()
	e, err := engine.New(fallback.New(p), nil, post, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func certified(t *testing.T, p bound.Precision, post *posterior.Posterior, tasks []property.Task) []*claim.Result {
	t.Helper()
	results, err := Certify(t.Context(), engineOf(t, p, post), How{Cells: 1}, tasks)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// TestConfine: of what is proved no drawn network is unsafe at any of many points, as the
// probability of one is next to nothing; and something is proved that is not at once, and something
// not.
func TestConfine(t *testing.T) {
	proved, refused, cut := 0, 0, 0
	cases := testscale.Cases(t, 300)
	for n := range cases {
		r := rand.New(rand.NewPCG(uint64(n), 221))
		post, tasks := caseOf(r, []float64{0, 0.01, 0.03}[n%3], 0.05+0.35*r.Float64(), [][]int{{4, 12, 10, 2}, {3, 16, 2}, {4, 8, 8, 8, 2}}[n%3]...)
		for _, c := range certified(t, bound.Precision(n%2), post, tasks) {
			if math.IsInf(c.LogP, -1) {
				if refused++; c.Proof.Phases != nil || c.Proof.Tau != nil || c.Tau != 0 {
					t.Errorf("case %d: %v, and nothing is claimed", n, c.Proof)
				}
				continue
			}
			if proved++; len(c.Proof.Phases) != 1 || c.Tau != Tau || c.Method != "phases" {
				t.Errorf("case %d: %+v", n, c)
			}
			for _, tree := range c.Proof.Phases[0].Trees {
				if len(tree.Cuts) > 1 {
					cut++
				}
			}
			drawnAreSafe(t, r, post, c.Task)
		}
	}
	t.Logf("%d proved, with %d trees that are cut, %d not", proved, cut, refused)
	if cases >= 20 && (proved < 8 || refused < 8 || cut < 4) {
		t.Errorf("%d proved, with %d trees that are cut, %d not: the test misses its cases", proved, cut, refused)
	}
}

// drawnAreSafe: S holds at corners and other points of T, for many drawn networks.
func drawnAreSafe(t *testing.T, r *rand.Rand, post *posterior.Posterior, task *property.Task) {
	t.Helper()
	net, weights := post.Network(), post.Mean()
	for range 60 {
		for k := range post.Layers {
			for a, g := range []*posterior.Params{&post.Layers[k].Weight, &post.Layers[k].Bias} {
				w := make([]float64, len(g.Mean))
				for j := range w {
					w[j] = g.Mean[j] + g.SdHi[j]*r.NormFloat64()
				}
				weights[2*k+a] = w
			}
		}
		for range 30 {
			x := make([]float64, len(task.T[0].Lo))
			for j := range x {
				x[j] = task.T[0].Lo[j] + (task.T[0].Hi[j]-task.T[0].Lo[j])*[]float64{0, 1, r.Float64()}[r.IntN(3)]
			}
			y := net.OutputsApprox(weights, x)
			rows := make([]float64, len(task.S.Rows))
			for r, row := range task.S.Rows {
				rows[r] = row.D
				for i, c := range row.CLo {
					rows[r] += c * y[i]
				}
			}
			if v := task.S.MarginLo(rows); v < -1e-9 {
				t.Fatalf("proved, and the margin of a drawn network is %v at %v", v, x)
			}
		}
	}
}

// TestConfineBoxes: a T of several boxes has an event for each, and nothing is claimed if one of
// them is not proved.
func TestConfineBoxes(t *testing.T) {
	post, tasks := caseOf(rand.New(rand.NewPCG(5, 222)), 0.01, 0.01, 2, 5, 4, 2)
	one := certified(t, bound.Float64, post, tasks[:1])[0]
	twice := tasks[0]
	twice.T = []property.Box{tasks[0].T[0], tasks[0].T[0]}
	two := certified(t, bound.Float64, post, []property.Task{twice})[0]
	if fail, both := -math.Expm1(one.LogP), -math.Expm1(two.LogP); !(fail > 0 && fail < 1e-6 && math.Abs(both-2*fail) < 1e-3*fail) || len(two.Proof.Phases) != 2 {
		t.Errorf("one box fails with %v, two with %v, %d proofs", fail, both, len(two.Proof.Phases))
	}
	far := property.Box{Lo: []float64{-9, -9}, Hi: []float64{9, 9}}
	twice.T[1] = far
	if got := certified(t, bound.Float64, post, []property.Task{twice})[0]; !math.IsInf(got.LogP, -1) || got.Proof.Phases != nil {
		t.Errorf("one box of two is not proved: %v", got.LogP)
	}
}

// TestConfineCells: with few inputs T is cut into cells, as many as may be, each of which has an event; and alternatives
// are proved by mixtures of their own in every leaf. No drawn network is unsafe then.
func TestConfineCells(t *testing.T) {
	cells, mixed, cases := 0, 0, testscale.Cases(t, 40)
	for n := range cases {
		r := rand.New(rand.NewPCG(uint64(n), 223))
		post, tasks := caseOf(r, 0.01, []float64{0.3, 0.6, 1.2}[n%3], 2, 12, 10, 3)
		for k := range tasks {
			if k%2 == 0 {
				tasks[k].S = property.ArgmaxIsNever((tasks[k].Label+1)%3, 3)
			}
		}
		for _, most := range []int{1, 40} {
			results, err := Certify(t.Context(), engineOf(t, bound.Precision(n%2), post), How{Cells: most}, tasks)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range results {
				switch {
				case math.IsInf(c.LogP, -1):
					if c.Cells != 0 || c.Proof.Cells != nil {
						t.Errorf("case %d: %d cells of nothing", n, c.Cells)
					}
					continue
				case c.Cells > most || (c.Cells > 0) != (c.Proof.Cells != nil) || len(c.Proof.Phases) != max(1, c.Cells):
					t.Errorf("case %d: %d cells of at most %d, %d numbers and %d proofs", n, c.Cells, most, len(c.Proof.Cells), len(c.Proof.Phases))
				}
				noise, err := noiseOf(engineOf(t, bound.Float64, post))
				if err != nil {
					t.Fatal(err)
				}
				if fail, one := -math.Expm1(c.LogP), FailUp(noise, 2, 1); !(fail >= float64(max(1, c.Cells))*one*(1-1e-12)) {
					t.Errorf("case %d: %d cells fail with %v, one with %v", n, c.Cells, fail, one)
				}
				if c.Cells > 1 {
					cells++
				}
				if len(c.Proof.Phases[0].Trees[0].Mixtures) > 0 {
					mixed++
				}
				drawnAreSafe(t, r, post, c.Task)
			}
		}
	}
	t.Logf("%d proved by cells, %d by mixtures", cells, mixed)
	if cases >= 4 && (cells < 1 || mixed < 1) {
		t.Errorf("%d proved by cells, %d by mixtures: the test misses its cases", cells, mixed)
	}
}

// TestFits: networks that phases do not serve are refused in a line; sets are left at 0.
func TestFits(t *testing.T) {
	post, tasks := caseOf(rand.New(rand.NewPCG(6, 222)), 0.01, 0.01, 2, 5, 4, 3)
	if err := Fits(post); err != nil {
		t.Error(err)
	}
	tasks[0].S = property.Safe{Rows: tasks[0].S.Rows, Any: nil} // nothing
	if got := certified(t, bound.Float64, post, tasks[:1])[0]; !math.IsInf(got.LogP, -1) {
		t.Errorf("no alternative: %v", got.LogP)
	}
	post.Layers[0].Activation = network.Activation{Kind: network.Tanh}
	if err := Fits(post); err == nil {
		t.Error("a tanh fits")
	}
	large, _ := caseOf(rand.New(rand.NewPCG(7, 222)), 0.01, 0.01, 1, 1500, 1500, 2)
	if err := Fits(large); err == nil {
		t.Error("1500 by 1500 neurons fit")
	}
}
