package run

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"psafe/host/report"
	"psafe/internal/outfile"
)

// TestOutRace: a file that appears, or is replaced, between look and use is refused.
func TestOutRace(t *testing.T) {
	out := filepath.Join(t.TempDir(), "r.jsonl")
	first, err := openPartial(out, &earlier{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openPartial(out, &earlier{}); err == nil || !strings.Contains(err.Error(), "r.jsonl.partial: has just been made by another run") {
		t.Errorf("second: %v", err)
	}
	if _, err := openPartial(out, &earlier{partial: true}); err != nil {
		t.Error(err)
	}
	if err := first.commit(); err == nil || !strings.Contains(err.Error(), "taken over") {
		t.Errorf("commit of a file that was taken over: %v", err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("there is a result")
	}
	if _, err := openPartial(filepath.Join(t.TempDir(), "absent", "r.jsonl"), &earlier{}); err == nil || !strings.Contains(err.Error(), "cannot be written") {
		t.Errorf("no folder: %v", err)
	}
}

// TestFullDisk: what was finished before a record could not be written stays.
func TestFullDisk(t *testing.T) {
	out := filepath.Join(t.TempDir(), "r.jsonl")
	p, err := openPartial(out, &earlier{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Write([]byte("{}\n")); err != nil {
		t.Fatal(err)
	}
	r := &ready{Job: &Job{Out: Output{Path: out}}}
	err = p.leave(r.write(&report.Record{}, full{}), 3)
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
