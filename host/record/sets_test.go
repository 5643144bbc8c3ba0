package record

import (
	"strings"
	"testing"

	"psafe/host/read/property"
)

// TestSets: records of finite sets are summed up as such, and intervals for what is behind them as
// statistical.
func TestSets(t *testing.T) {
	var sets Sets
	var tally Tally
	add := func(r *Record) { sets.Add(r); tally.Add(r) }
	one := func(networks int) *Record {
		return &Record{Method: "samples", Networks: networks, PUpper: 1, Verdict: Unknown, Require: property.MustExact("0.9"),
			Parent: &Parent{Of: "a guide", Confidence: 0.99, Lower: 0.95, Upper: 0.99}}
	}
	add(one(100))
	if got := sets.Words(); got != "the 100 networks of this file" || !strings.Contains(tally.Summary(), "P_safe is a share of "+got) {
		t.Errorf("%q, %s", got, tally.Summary())
	}
	if got := tally.Parents(); !strings.HasPrefix(got, "statistical, not certified: ") || !strings.Contains(got, "(a guide), 1 intervals of confidence 0.99 each, on average 0.9499..0.9900; 1 from") {
		t.Errorf("%q", got)
	}
	if sets.Some() != "" {
		t.Errorf("%q of all", sets.Some())
	}
	add(one(7))
	if got := sets.Words(); got != "the networks of each file (7 to 100)" {
		t.Errorf("%q", got)
	}
	add(&Record{PUpper: 1, Verdict: Unknown, Require: property.MustExact("0.9")})
	if got := sets.Words(); got != "the networks of a finite set, in 2 of 3 records," {
		t.Errorf("%q", got)
	}
	if got := sets.Some(); got != "2 of 3 records" {
		t.Errorf("%q", got)
	}
	if sets.Features() != "" || strings.Contains(tally.Summary(), "features") {
		t.Errorf("features of nothing: %q", sets.Features())
	}
	head := &Record{FeaturesOf: "Res\x1bNet", PUpper: 1, Verdict: Unknown, Require: property.MustExact("0.9")}
	add(head)
	if got := sets.Features(); got != `T is a set of features of Res\x1bNet in 1 of 4 records, and says nothing of inputs` || !strings.HasSuffix(tally.Summary(), got) {
		t.Errorf("%q, %s", got, tally.Summary())
	}
	var heads, others Sets
	heads.Add(head)
	if got := heads.Features(); got != `T is a set of features of Res\x1bNet, and says nothing of inputs` {
		t.Errorf("%q", got)
	}
	heads.Join(new(Sets))
	others.Join(&heads)
	if others.Features() != heads.Features() {
		t.Errorf("%q, %q", others.Features(), heads.Features())
	}
	others.Add(&Record{FeaturesOf: "another"})
	if got := others.Features(); got != "T is a set of features, and says nothing of inputs" {
		t.Errorf("%q", got)
	}
	if (&Tally{}).Parents() != "" || new(Sets).Words() != "" {
		t.Error("words about nothing")
	}
}
