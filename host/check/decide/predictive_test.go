package decide

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/bound"
	"psafe/host/check/cases"
	"psafe/host/check/noise"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/prove/decide"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// TestPredictiveOfKinds: what certify claims of decisions where weights depend on each other, or are dropped, is
// proved again, at the witness too.
func TestPredictiveOfKinds(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 61))
	verdicts := map[string]map[string]int{}
	const all, leastShare = 400, 221 // the case of which the law of a row with the least share is not that of the best gap
	cases := testscale.Costly(t, all)
	for i := range max(cases, leastShare+1) {
		sizes := [][]int{{2, 4, 3}, {1, 4, 4, 2}, {2, 3, 3, 3}}[i%3]
		act := net.Activation{Kind: []net.Kind{net.ReLU, net.ReLU, net.Tanh}[i/4%3]}
		sd := []float64{0.01, 0.1}[rng.IntN(2)]
		var post *posterior.Posterior
		switch i % 4 {
		case 0:
			post = sumtest.RandomSWAG(rng, act, sd, sizes...)
		case 1:
			post = sumtest.RandomCorrelated(rng, act, sd, sizes...)
		default:
			post = sumtest.RandomMasked(rng, act, rng.IntN(len(sizes)-1), sizes...)
		}
		kind := []string{"swag", "covariances", "dropout", "dropout"}[i%4]
		var b property.Box
		eps := []float64{0, 0.02, 0.1}[rng.IntN(3)]
		for range post.Inputs() {
			x := rng.NormFloat64()
			b.Lo, b.Hi = append(b.Lo, x-eps), append(b.Hi, x+eps)
		}
		y := post.LogitsApprox(b.CentreApprox())
		task := property.Task{Label: slices.Index(y, slices.Max(y)), T: []property.Box{b}}
		if rng.IntN(3) == 0 {
			task.Label = rng.IntN(len(y))
		}
		task.S, task.Inner = property.ArgmaxIs(task.Label, post.Outputs()), task.T
		cfg := prove.Config{Method: prove.CLBP, Decision: true, Cells: 1 + i%3}
		if i%3 == 1 {
			costs, err := property.RejectBelow("0.7", post.Outputs())
			if err != nil {
				t.Fatal(err)
			}
			cfg.Rule = decide.Rule{Costs: costs}
		}
		if i >= cases && i != leastShare {
			continue
		}
		r := checktest.Certified(t, []bound.Precision{bound.Float64, bound.Float32}[i%2], post, cfg, []property.Task{task})[0]
		if said := provedAgain(t, post, &task, cfg.Rule.Costs, r); said != "" {
			t.Errorf("%d, %s: %s", i, post.Describe(), said)
		}
		if verdicts[kind] == nil {
			verdicts[kind] = map[string]int{}
		}
		verdicts[kind][r.Decision.Verdict()]++
	}
	t.Log(verdicts)
	for kind, of := range verdicts {
		if testscale.Deep(t) && (of[claim.DecisionSafe] == 0 || of[claim.DecisionUnsafe] == 0) {
			t.Errorf("%s: %v", kind, of)
		}
	}
}

// provedAgain proves a decision, and that of its witness, and says what is not.
func provedAgain(t *testing.T, post *posterior.Posterior, task *property.Task, costs *property.Costs, r *claim.Result) string {
	t.Helper()
	n, err := noise.New(post)
	if err != nil {
		t.Fatal(err)
	}
	d := r.Decision
	asks := func(task *property.Task, action int, reference *int) *Asked {
		if costs == nil {
			return &Asked{Task: task}
		}
		of, err := PricedTask(task, costs, action, reference)
		if err != nil {
			t.Fatal(err)
		}
		return of
	}
	action := 0
	if d.Action != nil {
		action = *d.Action
	}
	cells, err := cases.CellsOf(task.T, d.Proof.Cells)
	if err != nil {
		t.Fatal(err)
	}
	enough := func(p *Predictive) bool {
		return d.Lower <= p.Lower && d.RivalUpper >= p.MostRival() && d.Gap <= p.LeastGap() && d.Vote <= max(p.Vote, r.Lower())
	}
	all, err := OfNoise(n)(t.Context(), asks(task, action, d.Proof.Reference), cells, d.Proof.Tau, enough)
	if err != nil || !enough(all) {
		return fmt.Sprintf("lower %v, rival %v, gap %v, vote %v; proved are %v, %v, %v, %v, %v",
			d.Lower, d.RivalUpper, d.Gap, d.Vote, all.Lower, all.MostRival(), all.LeastGap(), all.Vote, err)
	}
	if d.Proof.Witness == nil {
		return ""
	}
	own, rival := task.Label, *d.Proof.Rival
	swapped := *task
	if costs != nil {
		own = action
	} else {
		swapped.S, swapped.Label = property.ArgmaxIs(rival, post.Outputs()), rival
	}
	holds := func(p *Predictive) bool { return d.RivalGap <= p.Gaps[RowOf(rival, own)] }
	at := []property.Box{checktest.WitnessOf(t, r.Task, *d.Proof.Witness)}
	p, err := OfNoise(n)(t.Context(), asks(&swapped, rival, d.Proof.WitnessReference), at, []float64{d.Proof.WitnessTau}, holds)
	if err != nil || !holds(p) {
		return fmt.Sprintf("rival_gap %v, proved is %v, %v", d.RivalGap, p.Gaps, err)
	}
	return ""
}
