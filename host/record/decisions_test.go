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
	if got := d.Words(); !strings.Contains(got, "of 3, 1 decision_safe, 1 decision_unsafe, 1 unknown; the probability of the class is at least 0.39") {
		t.Error(got)
	}
	// With a threshold the decision that is safe may be to abstain, which is no class.
	var rejecting Decisions
	for action, upper := range []Up{0.2, 0.2, 0.95} {
		rejecting.Add(&Record{Label: new(1), Flags: "--target decision --reject 0.9", Decision: &Decision{Verdict: claim.DecisionSafe, RivalUpper: upper, Action: new(action)}})
	}
	if got, want := rejecting.Words(), "; the class itself is taken everywhere for 1 of those that are safe, and no other class for 2 of all; for 1 none is taken anywhere: abstained"; !strings.HasSuffix(got, want) {
		t.Errorf("%q does not end with %q", got, want)
	}
	// To abstain is no class, and so no robust accuracy: of four that are safe, one is of another class or abstains.
	rejecting.Add(&Record{Label: new(1), Flags: "--target decision --reject 0.9", Decision: &Decision{Verdict: claim.DecisionUnknown, RivalUpper: 1, Action: new(1)}})
	if lower, upper := rejecting.Robust(); lower != 0.25 || upper != 0.5 || rejecting.Safe != 3 {
		t.Errorf("robust %v..%v of %+v", lower, upper, rejecting)
	}
	// Shares are those of a data set as long as no input comes again, and no other radius.
	for _, c := range []struct {
		second Record
		want   bool
	}{{Record{Eps: "0.1", Index: 1}, true}, {Record{Eps: "0.1"}, false}, {Record{Eps: "0.2", Index: 1}, false}} {
		var d Decisions
		for _, r := range []Record{{Eps: "0.1"}, c.second} {
			r.Decision = &Decision{Verdict: claim.DecisionSafe}
			d.Add(&r)
		}
		if d.DataSet() != c.want {
			t.Errorf("%+v: %v", c.second, d.DataSet())
		}
	}
}

// TestOutputMeans: verdicts about means are told beside those about P_safe.
func TestOutputMeans(t *testing.T) {
	var tally Tally
	tally.Add(&Record{})
	if got := tally.Beside(); len(got) != 0 {
		t.Errorf("%q", got)
	}
	for _, verdict := range []string{claim.MeanSafe, claim.MeanSafe, claim.MeanUnsafe, "unknown"} {
		tally.Add(&Record{OutputMean: &OutputMean{Verdict: verdict}})
	}
	if got := tally.Beside(); len(got) != 1 || !strings.Contains(got[0], "of 4, 2 mean_safe, 1 mean_unsafe, 1 unknown") {
		t.Errorf("%q", got)
	}
}
