package noise

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/arith"
	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testkit/convtest"
	"psafe/internal/testscale"
)

// TestGraphGenuine: what certify claims of networks that are graphs by concentration LBP is
// proved again.
func TestGraphGenuine(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 1))
	lower, upper, retried := 0, 0, 0
	names := []string{}
	for kind := range checktest.Sketches {
		names = append(names, kind)
	}
	slices.Sort(names)
	for i := range testscale.Cases(t, 300) {
		var post *posterior.Posterior
		sd := []float64{1.0 / 256, 1.0 / 64, 1.0 / 16}[rng.IntN(3)]
		kind := names[i%len(names)]
		if i%3 == 0 {
			kind, post = "random", convtest.Random(rng, convtest.Shape{Blocks: 1 + rng.IntN(4), Spread: sd, Outputs: 3})
		} else {
			post = checktest.Sketched(rng, kind, checktest.Activations[1+rng.IntN(len(checktest.Activations)-1)], sd)
		}
		task := checktest.KeptClass(rng, post, []float64{0, 1.0 / 256, 1.0 / 32}[rng.IntN(3)])
		n, err := New(post)
		if err != nil {
			t.Fatal(err)
		}
		n.Graph.Depth = i / 3 % 3
		for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
			for _, r := range checktest.CertifiedTo(t, n.Graph.Depth, p, post, prove.Config{Method: prove.CLBP, Cells: []int{0, 1, 4}[i%3]}, []property.Task{task}) {
				if r.Lower() > 0 {
					lower++
					enough := -math.Expm1(r.LogP)
					fail, err := n.FailUp(t.Context(), r.Task, r.Proof.Cells, r.Proof.Tau, checktest.AtMost(arith.Inf))
					if err != nil {
						t.Fatal(err)
					}
					if fail > enough {
						retried++
						before := fail
						fail, _ = n.FailUp(t.Context(), r.Task, r.Proof.Cells, r.Proof.Tau, checktest.AtMost(enough))
						t.Logf("%d %s %v: fail %v, retried %v, claimed %v", i, kind, p, before, fail, enough)
					}
					if fail > enough {
						t.Errorf("%d %s %v: fails %v (%.3g more), certify says %v (%d cells)", i, kind, p, fail, fail/enough-1, enough, r.Cells)
					}
				}
				if u := r.Proof.Upper; u != nil && u.Method == "clbp" {
					upper++
					got, err := n.SafeUp(t.Context(), r.Task, checktest.WitnessOf(t, r.Task, u.Witness), u.Tau, checktest.AtMost(r.Upper()))
					if err != nil || got > r.Upper() {
						t.Errorf("%d %s %v: p_upper %v, certify says %v, %v", i, kind, p, got, r.Upper(), err)
					}
				}
			}
		}
	}
	t.Logf("%d lower, %d upper bounds, %d retried", lower, upper, retried)
	if testscale.Factor(t) >= 0.1 && (lower == 0 || upper == 0) {
		t.Error("certify claims nothing")
	}
}
