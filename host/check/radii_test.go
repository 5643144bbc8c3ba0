package check

import (
	"path/filepath"
	"strings"
	"testing"

	"psafe/host/check/record"
	"psafe/host/job/certify"
	"psafe/host/prove"
	"psafe/host/read/property"
)

// TestRadiusEnds: records of radii are proved again at what was found. What is no end of the radii that
// were looked for is refused.
func TestRadiusEnds(t *testing.T) {
	j := file("samples-2-8-3.npz", "", certify.Method{By: new(prove.Finite), Decision: true, Cells: new(8)}, 0)
	j.Tasks = certify.Tasks{Points: certify.Points{Inputs: filepath.Join("testdata", "pairs.csv"), Index: new("0:1"), Most: "1", Step: "0.03125", Property: property.KeepsClass}}
	lines := written(t, j)
	var c Checker
	check := func(line []byte, words string) {
		t.Helper()
		v, err := c.Check(t.Context(), line, false)
		if err != nil {
			t.Fatal(err)
		}
		if (v.Refused == nil) != (words == "") || v.Refused != nil && !strings.Contains(v.Refused.Error(), words) {
			t.Errorf("%v, want %q: %s", v.Refused, words, line)
		}
	}
	for _, line := range lines {
		check(line, "")
	}
	r, err := record.Parse(lines[0])
	if err != nil || len(lines) != 2 || r.RadiusEnd != "certified" || r.Decision.Verdict != "decision_safe" {
		t.Fatalf("%d records, %v: %s", len(lines), err, lines[0])
	}
	eps := `"eps":"` + r.Eps + `"`
	for _, k := range []struct{ from, to, want string }{
		{eps, `"eps":"1"`, "proved are"},
		{eps, `"eps":"0.1"`, "eps: "},
		{eps, `"eps":"1.03125"`, "eps: "},
		{eps, `"eps":"-0.03125"`, "eps: "},
		{`"radius_end":"certified"`, `"radius_end":"refuted"`, "nothing is refuted at"},
		{`"radius_end":"certified"`, `"radius_end":"largest"`, "radius_end: "},
		{`"radius_end":"certified",`, ``, "radius_end: "},
		{` --most 1`, ``, "radius_end: "},
		{` --most 1`, ` --most 0`, "eps: "},
		{` --step 0.03125`, ` --step 0`, "the step is none"},
		{` --step 0.03125`, ` --step 0.3`, "eps: "},
		{` --step 0.03125`, ` --step 0.03125 --time-limit 1s`, "radius_end: "},
		{`"verdict":"decision_safe"`, `"verdict":"unknown"`, "verdict"},
	} {
		if !strings.Contains(string(lines[0]), k.from) {
			t.Fatalf("no %s: %s", k.from, lines[0])
		}
		text := strings.Replace(string(lines[0]), k.from, k.to, 1)
		line := changed(t, []byte(text), `"index":0`, `"index":0`) // sealed again
		check(line, k.want)
	}
	// Nothing is certified: only of the point itself that is what there is to say.
	for _, k := range []struct{ end, eps, most, verdict, words string }{
		{"certified", "0", "1", "unknown", ""}, {"certified", "0.5", "1", "unknown", "nothing is certified"}, {"certified", "0.5", "1", "safe", ""}, {"certified", "0", "1", "unsafe", ""}, {"certified", "-0.5", "1", "safe", "no multiple"},
		{"refuted", "1", "1", "unknown", ""}, {"refuted", "0.5", "1", "unknown", "nothing is refuted"}, {"refuted", "0.5", "1", "unsafe", ""},
		{"refuted", "1", "1.25", "unknown", ""}, {"refuted", "1", "1.5", "safe", "nothing is refuted"},
	} {
		r := &record.Record{RadiusEnd: k.end, Eps: k.eps, Verdict: k.verdict, Flags: "--method clbp --most " + k.most + " --step 0.5"}
		f, err := record.ReadFlags(r.Flags)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.ConsistentEnd(f); (err == nil) != (k.words == "") || err != nil && !strings.Contains(err.Error(), k.words) {
			t.Errorf("%+v: %v", k, err)
		}
	}
}
