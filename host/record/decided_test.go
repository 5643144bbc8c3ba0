package record

import (
	"strings"
	"testing"
)

// TestDecisionsContradict: a decision that is proved at a radius at which, or at a smaller one, it is
// refuted contradicts that; so it is for one class of one input, whatever the method, and not the
// other way round.
func TestDecisionsContradict(t *testing.T) {
	rival := Down(0.1)
	class := func(c int) *int { return &c }
	at := func(line int, eps string, index, label int, safe bool) *Placed {
		r := &Record{Index: index, Eps: eps, Label: class(label), Flags: "--method auto --target decision", Decision: &Decision{Verdict: DecisionUnsafe, Gap: -1, RivalGap: &rival}, PUpper: 1}
		if safe {
			r.Flags, r.Decision = "--method clbp --target decision", &Decision{Verdict: DecisionSafe, Gap: 0.2}
		}
		return &Placed{Record: r, File: "r.jsonl", Line: line}
	}
	for _, c := range []struct {
		what    string
		records []*Placed
		want    string
	}{
		{"one radius", []*Placed{at(1, "0.1", 0, 3, true), at(2, "0.10", 0, 3, false)}, "r.jsonl: line 1: the decision is proved, and refuted by r.jsonl: line 2"},
		{"a smaller radius refutes", []*Placed{at(1, "0.2", 0, 3, true), at(2, "0.1", 0, 3, false)}, "r.jsonl: line 1 (eps 0.2): the decision is proved, and refuted by r.jsonl: line 2 (eps 0.1)"},
		{"a larger radius refutes", []*Placed{at(1, "0.1", 0, 3, true), at(2, "0.2", 0, 3, false)}, ""},
		{"another input", []*Placed{at(1, "0.1", 0, 3, true), at(2, "0.1", 1, 3, false)}, ""},
		{"another class", []*Placed{at(1, "0.1", 0, 3, true), at(2, "0.1", 0, 2, false)}, ""},
		{"both proved", []*Placed{at(1, "0.1", 0, 3, true), at(2, "0.2", 0, 3, true)}, ""},
	} {
		var q Questions
		for _, p := range c.records {
			q.Add(p)
		}
		found := q.Contradictions()
		if c.want == "" && len(found) != 0 || c.want != "" && (len(found) != 1 || !found[0].Certified || !strings.HasPrefix(found[0].Words, c.want)) {
			t.Errorf("%s: %+v, want %q", c.what, found, c.want)
		}
	}
}

// TestActionsContradict: what is proved of one action is not refuted of another, and no two actions are
// both the only one that is taken.
func TestActionsContradict(t *testing.T) {
	rival := Down(0.1)
	at := func(line int, eps string, action int, safe bool) *Placed {
		d := &Decision{Verdict: DecisionUnsafe, Gap: -1, RivalGap: &rival, Action: &action}
		if safe {
			d = &Decision{Verdict: DecisionSafe, Gap: 0.2, Action: &action}
		}
		return &Placed{Record: &Record{Eps: eps, Flags: "--method clbp --target decision --reject 0.9", Decision: d, PUpper: 1}, File: "r.jsonl", Line: line}
	}
	for _, c := range []struct {
		records []*Placed
		want    string
	}{
		{[]*Placed{at(1, "0.1", 0, true), at(2, "0.1", 1, false)}, ""},
		{[]*Placed{at(1, "0.1", 0, true), at(2, "0.1", 0, false)}, "line 1: the decision is proved, and refuted by r.jsonl: line 2"},
		{[]*Placed{at(1, "0.1", 2, true), at(2, "0.2", 1, true)}, "line 2 (eps 0.2): action 1 is the only one that is taken, and action 2 by r.jsonl: line 1 (eps 0.1)"},
		{[]*Placed{at(1, "0.1", 2, true), at(2, "0.2", 2, true)}, ""},
	} {
		contradicted(t, c.records, c.want)
	}
}

// contradicted holds what records contradict against what a message has to say, or none.
func contradicted(t *testing.T, records []*Placed, want string) {
	t.Helper()
	var q Questions
	for _, p := range records {
		q.Add(p)
	}
	found := q.Contradictions()
	if want == "" && len(found) != 0 || want != "" && (len(found) != 1 || !found[0].Certified || !strings.Contains(found[0].Words, want)) {
		t.Errorf("%+v, want %q", found, want)
	}
}

// TestMeansContradict: bounds of means and deviations exclude each other at any two radii, as they hold
// at every point; and means that are in their box are not refuted at the same or a smaller radius.
func TestMeansContradict(t *testing.T) {
	at := func(line int, eps string, m OutputMean) *Placed {
		return &Placed{Record: &Record{Eps: eps, Flags: "--method clbp --target mean", Property: "output_box:[0,1]", OutputMean: &m, PUpper: 1}, File: "r.jsonl", Line: line}
	}
	of := func(verdict string, lower, upper, sdLower, sdUpper float64) OutputMean {
		return OutputMean{Verdict: verdict, Lower: []Down{0, Down(lower)}, Upper: []Up{9, Up(upper)}, SDLower: []Down{0, Down(sdLower)}, SDUpper: []Up{9, Up(sdUpper)}}
	}
	noisy := func(lower, upper float64) OutputMean {
		m := of("unknown", 0, 1, 0, 9)
		m.TotalSDLower, m.TotalSDUpper = []Down{Down(lower)}, []Up{Up(upper)}
		return m
	}
	other := at(2, "0.2", of("unknown", -1, 0.25, 0, 1))
	other.Flags = "--method clbp --target mean --noise 2"
	for _, c := range []struct {
		records []*Placed
		want    string
	}{
		{[]*Placed{at(1, "0.1", of("unknown", 0.5, 1, 0, 1)), at(2, "0.2", of("unknown", -1, 0.25, 0, 1))}, "line 1 (eps 0.1): the mean of output 1 is at least 0.5, and at most 0.25 by r.jsonl: line 2 (eps 0.2)"},
		{[]*Placed{at(1, "0.2", of("unknown", 0.5, 1, 0, 1)), at(2, "0.1", of("unknown", -1, 0.25, 0, 1))}, "line 1 (eps 0.2): the mean of output 1"},
		{[]*Placed{at(1, "0.1", of("unknown", 0, 1, 0.5, 1)), at(2, "0.2", of("unknown", 0, 1, 0, 0.25))}, "the standard deviation of output 1 is at least 0.5"},
		{[]*Placed{at(1, "0.1", noisy(3, 4)), at(2, "0.1", noisy(1, 2))}, "the standard deviation with the noise of output 0 is at least 3, and at most 2"},
		{[]*Placed{at(1, "0.1", of("unknown", 0.25, 1, 0.25, 1)), at(2, "0.2", of("unknown", -1, 0.25, 0, 0.25))}, ""},
		{[]*Placed{at(1, "0.1", of("unknown", 0.5, 1, 0, 1)), other}, ""},
		{[]*Placed{at(1, "0.2", of("mean_safe", 0, 1, 0, 1)), at(2, "0.1", of("mean_unsafe", 0, 1, 0, 1))}, "line 1 (eps 0.2): the means are proved to be in their box, and refuted by r.jsonl: line 2 (eps 0.1)"},
		{[]*Placed{at(1, "0.1", of("mean_safe", 0, 1, 0, 1)), at(2, "0.2", of("mean_unsafe", 0, 1, 0, 1))}, ""},
	} {
		contradicted(t, c.records, c.want)
	}
}
