package prove_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/prove/decide"
	"psafe/host/read/property"
	"psafe/internal/testkit/provetest"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// TestDecisionByProbit: no bound of the probit rule is beyond its values on a grid of T and at the witness,
// of any covariance of the last layer; at a point they are met. Where the rule and the average differ, the
// record is about the rule.
func TestDecisionByProbit(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 43))
	safe, unsafe, tight := 0, 0, 0
	cases := testscale.Cases(t, 160)
	for n := range cases {
		sizes := [][]int{{2, 5, 3}, {1, 4, 4, 2}, {3, 4}}[n%3]
		sd := []float64{0.05, 0.4, 2}[n/3%3]
		post := sumtest.RandomOnTop(r, network.Activation{Kind: network.ReLU}, sd, sizes...)
		if post.Networks() != nil || post.OnTop() != nil {
			continue
		}
		x := make([]float64, post.Inputs())
		for j := range x {
			x[j] = r.NormFloat64()
		}
		pi := sumtest.Probit(post, x)
		width := []float64{0, 0.02, 0.3}[n/2%3]
		task := property.Task{Index: n, Label: slices.Index(pi, slices.Max(pi)), T: []property.Box{provetest.BoxAround(x, width)}}
		if n%4 == 0 {
			task.Label = r.IntN(post.Outputs())
		}
		task.S, task.Inner = property.ArgmaxIs(task.Label, post.Outputs()), task.T
		cfg := prove.Config{Method: prove.CLBP, Decision: true, NoUpper: true, Cells: 1 + n%4, Rule: decide.Rule{Probit: true}}
		d := run(t, []bound.Precision{bound.Float32, bound.Float64}[n%2], post, cfg, task)[0].Decision
		switch d.Verdict() {
		case claim.DecisionSafe:
			safe++
		case claim.DecisionUnsafe:
			unsafe++
		}
		slack := slices.Repeat([]float64{1e-9}, post.Outputs())
		points := pointsOf(r, &task, d)
		for p, at := range points {
			pi := sumtest.Probit(post, at)
			against(t, "probit", &task, d, pi, slack, 1, 0)
			if w := d.Proof.Witness; w != nil && p == len(points)-1 {
				if k := *d.Proof.Rival; d.RivalGap > pi[k]-pi[task.Label]+1e-9 {
					t.Errorf("%d: rival_gap %v, it is %v", n, d.RivalGap, pi[k]-pi[task.Label])
				}
			}
		}
		if width == 0 && n%2 == 1 && d.Lower > 0 {
			if tight++; pi[task.Label]-d.Lower > 0.01+slackOf(pi[task.Label]) {
				t.Errorf("%d: at a point the probability is %v, lower %v", n, pi[task.Label], d.Lower)
			}
		}
	}
	if t.Logf("%d safe, %d unsafe, %d points", safe, unsafe, tight); safe == 0 && cases > 20 {
		t.Errorf("only %d are safe", safe)
	}
	post := provetest.Noisy(r, 0.1, false, 2, 4, 2)
	if err := prove.DecidesByProbit(post); err == nil || !strings.Contains(err.Error(), "last layer alone") {
		t.Errorf("a posterior that is random everywhere: %v", err)
	}
}

// TestNoDecisionOfLinearised: nothing is known of the predictive of linearised networks, which cannot be drawn either.
func TestNoDecisionOfLinearised(t *testing.T) {
	post, err := provetest.Noisy(rand.New(rand.NewPCG(99, 1)), 0.1, false, 2, 4, 2).Linearised()
	if err != nil {
		t.Fatal(err)
	}
	if err := prove.Decides(post); err == nil || !strings.Contains(err.Error(), "linearised") {
		t.Errorf("%v", err)
	}
}

// slackOf returns what certify keeps of a probability for check.
func slackOf(p float64) float64 { return (1 - p) / 256 }
