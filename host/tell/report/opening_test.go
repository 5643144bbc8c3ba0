package report

import (
	"slices"
	"strings"
	"testing"

	"psafe/host/read/property"
	"psafe/host/record"
	"psafe/host/tell/summary"
)

// TestOpening: the first sentence says how many, of what share of which networks, and what of the rest.
func TestOpening(t *testing.T) {
	rec := func(index int, verdict, prop, eps, require string, networks int) record.Placed {
		r := &record.Record{Index: index, Verdict: verdict, Property: prop, Eps: eps, Require: property.MustExact(require), Method: "clbp", PUpper: 1, Networks: networks,
			PosteriorSHA256: "a", InputsSHA256: "b", Guarantee: record.Guarantee}
		return record.Placed{Record: r, File: "r.jsonl", Line: index + 1}
	}
	drawn := rec(0, "unknown", "argmax_is:1", "0.1", "0.9", 0)
	drawn.Method = "statistical"
	for _, c := range []struct {
		records []record.Placed
		want    string
	}{
		{[]record.Placed{rec(0, "safe", "argmax_is:1", "0.1", "0.9", 0), rec(1, "unsafe", "argmax_is:2", "0.1", "0.9", 0), rec(2, "unknown", "argmax_is:3", "0.1", "0.9", 0)},
			"For 1 of 3 questions it is proved that at least 90 % of the networks that this posterior describes keep their answer everywhere within eps 0.1; for 1 that fewer do, and for 1 neither."},
		{[]record.Placed{rec(0, "safe", "top_k:2", "0.1", "0.995", 100), rec(1, "safe", "top_k:2", "0.2", "0.995", 100)},
			"For 2 of 2 questions it is proved that at least 99.5 % of the 100 networks of this file give a safe output everywhere within eps."},
		{[]record.Placed{rec(0, "safe", "argmax_is:1", "0.1", "0.9", 0), rec(1, "safe", "argmax_is:1", "0.1", "0.9", 40)},
			"For 2 of 2 questions it is proved that at least 90 % of the networks that this posterior describes keep their answer everywhere within eps 0.1. In 1 of 2 records the networks are those of a finite set alone."},
		{[]record.Placed{rec(0, "unknown", "phi", "", "2/3", 0)},
			"For 0 of 1 questions it is proved that at least a share of 2/3 of the networks that this posterior describes give a safe output everywhere in T; for 1 neither this nor its contrary is."},
		{[]record.Placed{drawn}, "For none of 1 questions a share of networks is proved to be safe: these records have statistical intervals alone."},
	} {
		var sum summary.Summary
		for i := range c.records {
			sum.Add(&c.records[i])
		}
		if got := openingOf(c.records, sum.Result()); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
		mixed, first := strings.Contains(c.want, "finite set"), guaranteeOf(c.records)[0].Words
		if share := c.records[len(c.records)-1].Networks > 0; strings.HasPrefix(first, "the probability") != (mixed || !share) || strings.Contains(first, "share of these") != mixed {
			t.Errorf("P_safe is %s", first)
		}
	}
}

// TestEach: what is proved of worst inputs is told, explained, and a column of the table by group.
func TestEach(t *testing.T) {
	lower := record.Down(0.9375)
	r := &record.Record{Verdict: "unknown", Property: "argmax_is:1", Eps: "0.1", Require: property.MustExact("0.9"), Method: "clbp", PLower: 0.5, PUpper: 1, EachLower: &lower,
		Decision: &record.Decision{Verdict: record.DecisionSafe, Lower: 0.75}, PosteriorSHA256: "a", InputsSHA256: "b", Guarantee: record.Guarantee}
	records := []record.Placed{{Record: r, File: "r.jsonl", Line: 1}}
	var sum summary.Summary
	sum.Add(&records[0])
	result := sum.Result()
	if list := drawnOf(result); len(list) != 2 || !strings.Contains(list[0], "for 1 of 1 records it is proved") || !strings.Contains(list[0], "on average 0.9375 or more") {
		t.Errorf("%q", list)
	}
	if !slices.ContainsFunc(guaranteeOf(records), func(s sentence) bool { return s.Term == "worst input" }) {
		t.Error("each_lower is not explained")
	}
	if g := groupsOf(result); len(g.More) != 5 || !slices.Equal(g.Rows[0].More, []string{"0.9375", "1", "0", "0", "0.7500"}) {
		t.Errorf("%+v", g)
	}
}

// TestQuantile: the level and the quantile are columns of the page.
func TestQuantile(t *testing.T) {
	lower := record.Down(-0.5)
	says := map[string]string{}
	for _, c := range columnsOf([]record.Placed{{Record: &record.Record{Require: property.MustExact("2/3"), Quantile: &record.Quantile{Level: property.MustExact("1/3"), Lower: &lower}}}}) {
		says[c.Name] = strings.Join(c.Words, " ")
	}
	if says["quantile.level"] != "1/3" || says["quantile.lower"] != "-0.5" || says["require"] != "2/3" {
		t.Errorf("%q", says)
	}
}

// TestFolded: many files of one folder are one entry, and every file is in one.
func TestFolded(t *testing.T) {
	names := []string{"a.jsonl", "c/results/0-9.jsonl", "c/results/10-19.jsonl", "c/results/20-29.jsonl", "c/results/30-39.jsonl", "d/x.jsonl"}
	var words, files []string
	for _, f := range foldedOf(names) {
		words, files = append(words, f.String()), append(files, f.files...)
	}
	if !slices.Equal(words, []string{"a.jsonl", "c/results/*.jsonl (4 files)", "d/x.jsonl"}) || len(files) != len(names) {
		t.Errorf("%q of %q", words, files)
	}
	if shellPattern("c/*.jsonl") != "c/*.jsonl" || shellPattern("a b/*.jsonl") != "" || shellPattern("-c/*") == "-c/*" {
		t.Error("a pattern that a shell takes for something else")
	}
}
