package check

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"psafe/host/job/certify"
	net "psafe/host/model/network"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// TestProbitBounds: nothing that the checker proves of the probit rule is beyond its values at points of
// the cell.
func TestProbitBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 44))
	told := 0
	cases := testscale.Cases(t, 200)
	for i := range cases {
		post := sumtest.RandomOnTop(rng, net.Activation{Kind: net.ReLU}, []float64{0.05, 0.4, 2}[rng.IntN(3)], [][]int{{2, 5, 3}, {1, 4, 4, 2}, {3, 4}}[i%3]...)
		n, err := newNoisy(post)
		if err != nil {
			t.Fatal(err)
		}
		if n.top == nil {
			continue
		}
		x, width := make([]float64, post.Inputs()), []float64{0, 0.02, 0.3}[i/2%3]
		var cell property.Box
		for j := range x {
			x[j] = rng.NormFloat64()
			cell.Lo, cell.Hi = append(cell.Lo, x[j]-width), append(cell.Hi, x[j]+width)
		}
		class := rng.IntN(post.Outputs())
		is := n.newTopPass(cell, uint64(i%2)).probit(class)
		for range 6 {
			pi := sumtest.Probit(post, x)
			if is.lower > pi[class]+1e-9 {
				t.Errorf("%d: lower %v, at %v it is %v", i, is.lower, x, pi[class])
			}
			for k, p := range slices.Delete(slices.Clone(pi), class, class+1) {
				if is.rivals[k] < p-1e-9 || is.gaps[k] > pi[class]-p+1e-9 {
					t.Errorf("%d: rival %v and gap %v, they are %v and %v", i, is.rivals[k], is.gaps[k], p, pi[class]-p)
				}
			}
			if width == 0 && pi[class]-is.lower < 1e-6 {
				told++
			}
			for j := range x {
				x[j] = []float64{cell.Lo[j], cell.Hi[j], cell.Lo[j] + rng.Float64()*(cell.Hi[j]-cell.Lo[j])}[rng.IntN(3)]
			}
		}
	}
	if told == 0 && cases > 20 {
		t.Error("at no point the probability was found")
	}
}

// TestCheckProbit: records of the probit rule are proved again. Of one of it and one of the average that
// which claims more is refused where it says to be the other.
func TestCheckProbit(t *testing.T) {
	job := decisionJobs(t)["float64 a covariance"]
	byProbit := *job
	byProbit.Method.Link = certify.LinkProbit
	average, probit := written(t, job), written(t, &byProbit)
	var c Checker
	refused := 0
	for i := range average {
		if v, err := c.Check(t.Context(), probit[i], false); err != nil || v.Refused != nil {
			t.Fatalf("%v, %v: %s", err, v.Refused, probit[i])
		}
		for _, line := range [][]byte{changed(t, probit[i], ` --link probit`, ``), changed(t, average[i], `--target decision`, `--target decision --link probit`)} {
			v, err := c.Check(t.Context(), line, false)
			if err != nil {
				t.Fatal(err)
			}
			if v.Refused != nil && strings.HasPrefix(v.Refused.Error(), "decision: ") { // the other one claims less
				refused++
			}
		}
	}
	if refused < len(average) {
		t.Errorf("only %d of %d are refused for what they claim", refused, 2*len(average))
	}
	other := file("tiny-2-3-2-tanh.npz", "", certify.Method{By: new(prove.CLBP), Decision: true}, 0)
	other.Tasks = job.Tasks
	line := changed(t, written(t, other)[0], `--target decision`, `--target decision --link probit`)
	if v, err := c.Check(t.Context(), line, false); err != nil || v.Refused == nil || !strings.Contains(v.Refused.Error(), "last layer that alone is random") {
		t.Errorf("a posterior that is random everywhere: %v, %v", err, v.Refused)
	}
}
