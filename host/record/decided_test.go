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
