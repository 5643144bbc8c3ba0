package noise

import (
	"math/rand/v2"
	"testing"

	"psafe/host/arith"
	"psafe/host/bound"
	"psafe/host/check/cases"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// TestPointGenuine: what certify claims of the worst point is proved again, and not much more; as many of some drawn
// networks as can be are safe at points. Of the cells, in either order, the worst one counts.
func TestPointGenuine(t *testing.T) {
	rng := rand.New(rand.NewPCG(47, 1))
	above := 0
	for i := range testscale.Costly(t, 240) {
		act := checktest.Activations[i%len(checktest.Activations)]
		sd := []float64{0.01, 0.1, 0.3}[rng.IntN(3)]
		var post *posterior.Posterior
		switch i % 6 {
		case 0:
			post = sumtest.RandomCorrelated(rng, act, sd, 2, 5, 3)
		case 1:
			post = []func(*rand.Rand, int) *posterior.Posterior{
				func(r *rand.Rand, _ int) *posterior.Posterior { return sumtest.RandomSWAG(r, act, sd, 2, 5, 4, 3) },
				func(r *rand.Rand, _ int) *posterior.Posterior { return sumtest.RandomJoint(r, act, sd, 2, 5, 4, 3) },
				func(r *rand.Rand, _ int) *posterior.Posterior { return sumtest.RandomOnTop(r, act, sd, 2, 5, 3) },
			}[i/6%3](rng, 0)
		default:
			post = sumtest.RandomNoisy(rng, act, sd, [][]int{{3, 4, 3}, {2, 8, 6, 3}, {2, 3}, {1, 6, 2}}[rng.IntN(4)]...)
		}
		n, err := New(post)
		if err != nil {
			t.Fatal(err)
		}
		task := checktest.RandomTask(rng, post, 0)
		for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
			r := checktest.Certified(t, p, post, prove.Config{Method: prove.CLBP, Each: true, NoUpper: true, Cells: []int{0, 1, 10}[i%3]}, []property.Task{task})[0]
			if r.Proof.Each == nil {
				continue
			}
			above++
			cells, err := cases.CellsOf(task.T, r.Proof.Each.Cells)
			if err != nil {
				t.Fatal(err)
			}
			enough := 1 - r.Each.Lower
			fail, err := n.PointFailUp(t.Context(), &task.S, cells, r.Proof.Each.Tau, checktest.AtMost(enough))
			if err != nil || fail > enough {
				t.Errorf("%d %v: fails %v (%.3g more), certify says %v, %v", i, post.Describe(), fail, fail/enough-1, enough, err)
			}
			if fail, _ = n.PointFailUp(t.Context(), &task.S, cells, r.Proof.Each.Tau, checktest.AtMost(arith.Inf)); p == bound.Float64 && fail < 0.9*enough-1e-6*float64(len(task.S.Rows)) {
				t.Errorf("%d %v: fails %v, certify says %v, much more", i, post.Describe(), fail, enough)
			}
			const draws = 400
			for _, cell := range cells {
				if _, here := sumtest.DrawnUnsafe(post, &task, cell.Hi, draws); int(here*draws+0.5) > checktest.Allows(fail, draws) {
					t.Errorf("%d %v: %v of networks are unsafe at %v, proved is %v", i, post.Describe(), here, cell.Hi, fail)
				}
			}
		}
	}
	if t.Logf("%d above p_lower", above); above == 0 && testscale.Factor(t) >= 0.1 {
		t.Error("no bound is above p_lower")
	}
}

// TestWorstCell: of two cells the worse counts, in either order.
func TestWorstCell(t *testing.T) {
	post := sumtest.OneNeuron(network.Activation{Kind: network.ReLU}, []float64{1}, []float64{0.3}, 0, 0.1, 1)
	n, err := New(post)
	if err != nil {
		t.Fatal(err)
	}
	s := property.Safe{Rows: []property.Row{{CLo: []float64{1}, CHi: []float64{1}, D: -0.125, DHi: -0.125}}, Any: [][]int{{0}}}
	good, bad := sumtest.Interval(2, 2.5), sumtest.Interval(0.5, 2.5)
	up := func(cells ...property.Box) float64 {
		fail, err := n.PointFailUp(t.Context(), &s, cells, []float64{1e-6}, checktest.AtMost(1))
		if err != nil {
			t.Fatal(err)
		}
		return fail
	}
	if a, b := up(good), up(bad); !(a < b && b < 1) || up(good, bad) != b || up(bad, good) != b {
		t.Errorf("%v and %v, of both %v and %v", a, b, up(good, bad), up(bad, good))
	}
}
