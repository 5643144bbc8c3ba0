package noise

import (
	"math"
	"testing"

	"psafe/host/model/posterior"
	"psafe/host/prove/claim"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testkit/sumtest"
)

// againstDraws: what certify claims is proved again, and as many of some drawn networks as can be are within
// the bounds of both. It says which bounds there are.
func againstDraws(t *testing.T, i int, post *posterior.Posterior, task *property.Task, r *claim.Result, draws int) (lower, upper bool) {
	t.Helper()
	n, err := New(post)
	if err != nil {
		t.Fatal(err)
	}
	slack := func(p float64) float64 {
		p = min(p, 0.5)
		return 4.5*math.Sqrt(p*(1-p)/float64(draws)) + 4.0/float64(draws)
	}
	at := task.T[0].Lo
	if u := r.Proof.Upper; u != nil {
		box := checktest.WitnessOf(t, r.Task, u.Witness)
		at, upper = box.Lo, u.Method == "clbp"
		if got, err := n.SafeUp(t.Context(), r.Task, box, u.Tau, checktest.AtMost(r.Upper())); upper && (err != nil || got > r.Upper()) {
			t.Errorf("%d %v %v: p_upper %v, certify says %v, %v", i, post.Network(), post.Describe(), got, r.Upper(), err)
		}
	}
	somewhere, here := sumtest.DrawnUnsafe(post, task, at, draws)
	if fail := 1 - r.Lower(); somewhere > fail+slack(fail) {
		t.Errorf("%d %v %v: %v of networks are unsafe, p_lower is %v", i, post.Network(), post.Describe(), somewhere, r.Lower())
	}
	if 1-here > r.Upper()+slack(r.Upper()) {
		t.Errorf("%d %v %v: %v of networks are safe at a point, p_upper is %v", i, post.Network(), post.Describe(), 1-here, r.Upper())
	}
	if r.Lower() == 0 {
		return false, upper
	}
	enough := -math.Expm1(r.LogP)
	fail, err := n.FailUp(t.Context(), asProved(t, r), r.Proof.Cells, r.Proof.Tau, checktest.AtMost(enough))
	if err != nil || fail > enough {
		t.Errorf("%d %v %v: fails %v (%.3g more), certify says %v, %v", i, post.Network(), post.Describe(), fail, fail/enough-1, enough, err)
	}
	if somewhere > fail+slack(fail) {
		t.Errorf("%d: %v of networks are unsafe, check says %v", i, somewhere, fail)
	}
	return true, upper
}
