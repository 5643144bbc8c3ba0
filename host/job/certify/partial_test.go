package certify

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"psafe/host/record"
	"psafe/internal/outfile"
)

func to(path string) *Output { return &Output{Path: path} }

// TestOutRace: a file that appears, or is replaced, between look and use is refused.
func TestOutRace(t *testing.T) {
	out := filepath.Join(t.TempDir(), "r.jsonl")
	first, err := to(out).openPartial(&earlier{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := to(out).openPartial(&earlier{}); err == nil || !strings.Contains(err.Error(), "r.jsonl.partial: has just been made by another run") {
		t.Errorf("second: %v", err)
	}
	if _, err := to(out).openPartial(&earlier{partial: true}); err != nil {
		t.Error(err)
	}
	if err := first.commit(); err == nil || !strings.Contains(err.Error(), "taken over") {
		t.Errorf("commit of a file that was taken over: %v", err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("there is a result")
	}
	if _, err := to(filepath.Join(t.TempDir(), "absent", "r.jsonl")).openPartial(&earlier{}); err == nil || !strings.Contains(err.Error(), "cannot be written") {
		t.Errorf("no folder: %v", err)
	}
}

// TestKept: a file that comes to --out while a run computes stays, and so do the records.
func TestKept(t *testing.T) {
	out := filepath.Join(t.TempDir(), "r.jsonl")
	j := digits()
	j.Out.Path = out
	j.Progress = func(done, _ int) {
		if err := os.WriteFile(out, []byte("precious"), 0o666); err != nil {
			t.Error(err)
		}
	}
	want := "--out " + out + ": exists: --overwrite replaces it: 2 of 2 records are in " + out + ".partial: add --resume to go on from there"
	if _, err := j.Run(t.Context()); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if text, err := os.ReadFile(out); err != nil || string(text) != "precious" {
		t.Errorf("the file became %q, %v", text, err)
	}
	j.Out.Resume, j.Out.Overwrite, j.Open = true, true, nil // nothing is left to compute
	if records, err := j.Run(t.Context()); err != nil || len(records) != 2 {
		t.Errorf("%d records, %v", len(records), err)
	}
}

// TestFullDisk: what was finished before a record could not be written stays.
func TestFullDisk(t *testing.T) {
	out := filepath.Join(t.TempDir(), "r.jsonl")
	p, err := to(out).openPartial(&earlier{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Write([]byte("{}\n")); err != nil {
		t.Fatal(err)
	}
	r := &ready{Job: &Job{Out: Output{Path: out}}}
	err = p.leave(r.write(&record.Record{}, full{}), 3)
	if _, typed := errors.AsType[*outfile.Error](err); !typed {
		t.Errorf("%T is no error of the file", err)
	}
	begin, end := out+": cannot be written: ", ": 1 of 3 records are in "+out+".partial: add --resume to go on from there"
	if !strings.HasPrefix(err.Error(), begin) || !strings.HasSuffix(err.Error(), end) {
		t.Errorf("%q; want %q...%q", err, begin, end)
	}
	if left, err := os.ReadFile(p.Name()); err != nil || string(left) != "{}\n" {
		t.Errorf("the file was changed: %q, %v", left, err)
	}
}

// full takes no more.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }
