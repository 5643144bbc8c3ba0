package certify

import (
	"path/filepath"
	"strings"
	"testing"

	"psafe/host/prove"
	"psafe/host/record"
)

// advisory asks four questions, of which auto goes on with one after its first bounds unless what
// is required is known.
func advisory(require string) *Job {
	return &Job{Posterior: Posterior{Path: testFile("advisory-4-32-9.npz")}, Tasks: Tasks{File: testFile("advisory-property.json")}, Require: require,
		Version: "test", Open: onCPU, Out: Output{OmitTiming: true}}
}

// TestRequireStops: with --require auto ends where the verdict is known and says so; the records are
// of another question then, as their numbers may be others.
func TestRequireStops(t *testing.T) {
	records := func(j *Job) []*record.Record {
		r, err := j.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	all, some := records(advisory("")), records(advisory("0.010"))
	stopped := 0
	for i, r := range some {
		switch {
		case r.ID == all[i].ID:
			t.Errorf("%s: --require changes no id", r.Name)
		case r.Flags != "--method auto --require 0.01" || all[i].Flags != "--method auto":
			t.Errorf("%s: flags %q and %q", r.Name, r.Flags, all[i].Flags)
		case r.Verdict != "safe" || float64(r.PLower) > float64(all[i].PLower)+1e-12:
			t.Errorf("%s: %s, %v with and %v without --require", r.Name, r.Verdict, r.PLower, all[i].PLower)
		case r.Stopped != "" && r.Stopped != "require" || r.TimedOut() || all[i].Stopped != "":
			t.Errorf("%s: stopped %q and %q", r.Name, r.Stopped, all[i].Stopped)
		}
		if r.Stopped != "" {
			stopped++
		} else if float64(r.PLower) != float64(all[i].PLower) {
			t.Errorf("%s: %v with and %v without --require, and nothing was stopped", r.Name, r.PLower, all[i].PLower)
		}
	}
	if stopped == 0 || stopped == len(some) {
		t.Errorf("%d of %d were stopped", stopped, len(some))
	}
	// Other methods do all that they can, whatever is required.
	clbp, required := advisory(""), advisory("0.01")
	clbp.Method.By, required.Method.By = new(prove.CLBP), new(prove.CLBP)
	without := records(clbp)
	for i, r := range records(required) {
		if o := without[i]; r.PLower != o.PLower || r.Stopped != "" || strings.Contains(r.Flags, "require") {
			t.Errorf("clbp, %s: %v stopped %q, flags %s; %v without --require", r.Name, r.PLower, r.Stopped, r.Flags, o.PLower)
		}
	}
}

// TestRequireResumed: what was stopped for another --require is not gone on with.
func TestRequireResumed(t *testing.T) {
	out := filepath.Join(t.TempDir(), "r.jsonl")
	first := advisory("0.01")
	first.Out.Path = out
	if _, err := first.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := advisory("0.02")
	again.Out.Path, again.Out.Resume = out, true
	var notes []string
	again.Note = func(n Note) { notes = append(notes, n.String()) }
	if _, err := again.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "flags is") {
		t.Errorf("%v", err)
	}
	again.Out.Overwrite = true
	records, err := again.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if said := strings.Join(notes, "\n"); !strings.Contains(said, "flags is") || records[0].Flags != "--method auto --require 0.02" {
		t.Errorf("%s\n%s", records[0].Flags, said)
	}
}
