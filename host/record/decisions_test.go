package record

import (
	"strings"
	"testing"

	"psafe/host/prove/claim"
)

// TestDecisions: shares are rounded outward, and counted by verdict; a vote needs more than half.
func TestDecisions(t *testing.T) {
	var d Decisions
	d.Add(&Record{})
	if d.Words() != "" {
		t.Errorf("%q", d.Words())
	}
	for _, r := range []*Decision{{Verdict: claim.DecisionSafe, Lower: 0.9, Vote: 0.75}, {Verdict: claim.DecisionUnsafe, Vote: 0.5}, {Verdict: claim.DecisionUnknown, Lower: 0.3, Vote: 0.51}} {
		d.Add(&Record{Decision: r})
	}
	lower, upper := d.Robust()
	if !(3*float64(lower) <= 1 && float64(lower) > 0.33333333 && 3*float64(upper) >= 2 && float64(upper) < 0.66666667) || d.Vote != 2 || d.Unknown() != 1 || d.MeanLower() > 0.4 {
		t.Errorf("%v..%v, %+v", lower, upper, d)
	}
	if got := d.Words(); !strings.Contains(got, "of 3, 1 decision_safe, 1 decision_unsafe, 1 unknown; the class has a mean probability of at least 0.39") {
		t.Error(got)
	}
}
