package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/job/certify"
	"psafe/host/record"
	"psafe/internal/testscale"
)

// testFile is a file of the project's testdata.
func testFile(name string) string { return filepath.Join("..", "..", "testdata", name) }

// deepOnly skips a test that make test cannot afford.
func deepOnly(t *testing.T) {
	t.Helper()
	testscale.DeepOnly(t)
}

// resumeRuns are small runs of every method, with --out.
func resumeRuns(t *testing.T) map[string][]string {
	points, line := filepath.Join(t.TempDir(), "points.csv"), filepath.Join(t.TempDir(), "line.csv")
	for name, text := range map[string]string{points: "0.0,1\n0.1,0.9\n-0.9,-0.4\n0.7,-0.6\n", line: "1\n2\n0.5\n"} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	images := "0:3"
	if testscale.Deep(t) {
		images = "0:6"
	}
	of := func(posterior string, more ...string) []string {
		return append([]string{"--device", "cpu", "--omit-timing", "--posterior", testFile(posterior)}, more...)
	}
	glyphs := func(more ...string) []string {
		return append(of("glyphs-64-32-10.npz", "--inputs", testFile("glyphs-test-images-idx3-ubyte.gz"), "--index", images, "--clip", "0,1"), more...)
	}
	cubic := func(more ...string) []string {
		return append(of("cubic-128.npz", "--property", testFile("cubic-property.json")), more...)
	}
	plane := func(posterior string, more ...string) []string {
		return append(of(posterior, "--inputs", points, "--eps", "0.05"), more...)
	}
	return map[string][]string{
		"clbp, derived":     cubic("--method", "clbp", "--options", "derived,cells=4"),
		"clbp, two weights": of("two-weights-product.npz", "--inputs", line, "--eps", "0.1", "--property", "output_box:[-3,1]", "--method", "clbp", "--options", "cells=4"),
		"clbp":              glyphs("--eps", "0.03", "--method", "clbp"),
		"clbp, cells":       plane("tiny-2-3-2-tanh.npz", "--method", "clbp", "--precision", "float64", "--options", "cells=16"),
		"auto":              glyphs("--eps", "0.03", "--draws", "20", "--options", "seed=3"),
		"auto, neurons":     plane("tiny-2-3-2-tanh.npz", "--options", "cells=8"),
		"neuronsum":         plane("tiny-2-3-2-tanh.npz", "--method", "neuronsum", "--options", "cells=4"),
		"statistical":       glyphs("--eps", "0.03", "--method", "statistical", "--draws", "30", "--options", "confidence=0.9"),
		"statistical, SWAG": plane("swag-2-8-3.npz", "--method", "statistical", "--draws", "30"),
		"samples":           plane("samples-2-8-3.npz"),
		"sampled boxes":     plane("tiny-2-3-2-tanh.npz", "--method", "ibp", "--draws", "8", "--gamma", "2", "--options", "seed=5"),
		"sampled, unions":   cubic("--draws", "6", "--gamma", "2"),
	}
}

// certifyTo runs psafe certify --out and returns its notes.
func certifyTo(t *testing.T, out string, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if err := execute(t.Context(), overridden(append([]string{"certify", "--out", out}, args...)), &stdout, &stderr); err != nil {
		t.Fatalf("psafe certify %q: %v", args, err)
	}
	if stdout.Len() > 0 {
		t.Fatalf("psafe certify %q: standard output has %q", args, stdout.String())
	}
	return stderr.String()
}

func readTest(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestResumeSameBytes: a file that was cut anywhere and gone on with is the file that
// was not, whatever the method: what a task gives does not depend on which others are
// certified beside it. The summary is that of all records.
func TestResumeSameBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("numbers, not races: not with -short")
	}
	for name, args := range resumeRuns(t) {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "r.jsonl")
			notes := certifyTo(t, out, args...)
			// Beside it a slow run tells its progress, and a run that had the time what else might prove something.
			summary := summaryOf(notes)
			want := readTest(t, out)
			lines := strings.SplitAfter(strings.TrimSuffix(want, "\n"), "\n")
			at := 0
			for k, line := range lines {
				cuts := []int{at, at + len(line)/2}
				if k == len(lines)-1 {
					cuts = append(cuts, at+len(line)-1) // all but the end of the line
				}
				if !testscale.Deep(t) { // one of the first records, and once, since it is of no method, the last cut
					last := cuts[len(cuts)-1:]
					if name != "clbp" {
						last = nil
					}
					cuts = map[int][]int{1: cuts[1:2], len(lines) - 1: last}[k]
				}
				for _, cut := range cuts {
					os.Remove(out)
					if err := os.WriteFile(out+certify.PartialSuffix, []byte(want[:cut]), 0o666); err != nil {
						t.Fatal(err)
					}
					notes := certifyTo(t, out, append(args, "--resume")...)
					if got := readTest(t, out); got != want {
						t.Fatalf("cut in record %d at byte %d, resumed:\n%s\nat once:\n%s", k, cut, got, want)
					}
					if note := fmt.Sprintf("going on after %d of %d records\n", k, len(lines)); !strings.Contains(notes, note) || summaryOf(notes) != summary {
						t.Fatalf("cut in record %d: standard error %q, want %q and %q", k, notes, note, summary)
					}
				}
				at += len(line)
			}
			onlyFile(t, out)
		})
	}
}

// summaryOf is the last line of what certify says that is no note.
func summaryOf(notes string) (summary string) {
	for line := range strings.Lines(notes) {
		if !strings.HasPrefix(line, "psafe: note: ") {
			summary = line
		}
	}
	return summary
}

// onlyFile demands that a run has left its result and nothing else.
func onlyFile(t *testing.T, out string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(out))
	if err != nil || len(entries) != 1 || entries[0].Name() != filepath.Base(out) {
		t.Errorf("%v, %v: want only %s", entries, err, out)
	}
}

// hooked is a device that calls hook before each of its affine maps.
type hooked struct {
	bound.Device
	hook func() error
}

func (h *hooked) Do(op bound.Operation) error {
	if _, is := op.(bound.Affine); is {
		if err := h.hook(); err != nil {
			return err
		}
	}
	return h.Device.Do(op)
}

// certifyOn is psafe certify on a hooked device.
func certifyOn(ctx context.Context, t *testing.T, hook func() error, args ...string) error {
	t.Helper()
	_, job, err := parseCertify(args, false)
	if err != nil {
		t.Fatal(err)
	}
	job.Version = version()
	job.Open = func(p bound.Precision) (*certify.Devices, error) {
		return &certify.Devices{List: []bound.Device{&hooked{fallback.New(p), hook}}}, nil
	}
	return job.Each(ctx, func(*record.Record) {})
}

// TestStopped: whatever stops a run, at whichever step, the records that are finished
// stay, the message says where, and a resumed run ends with the same file. Where none
// is finished, nothing stays.
func TestStopped(t *testing.T) {
	// Three groups: three properties of one box, one of two boxes, one of one.
	args := []string{"--device", "cpu", "--omit-timing", "--posterior", testFile("cubic-128.npz"), "--property", testFile("cubic-property.json"), "--method", "clbp", "--options", "cells=8"}
	whole := filepath.Join(t.TempDir(), "whole.jsonl")
	certifyTo(t, whole, args...)
	steps := 0
	with := func(out string) []string { return append([]string{"--out", out, "--resume"}, args...) }
	if err := certifyOn(t.Context(), t, func() error { steps++; return nil }, with(filepath.Join(t.TempDir(), "r.jsonl"))...); err != nil {
		t.Fatal(err)
	}
	for _, stop := range []struct {
		name   string
		status int
		words  string
	}{
		{"signal", exitInterrupted, "interrupted: %d of 5 records are in %s.partial: add --resume to go on from there"},
		{"fault", exitDevice, "device cpu: lost: %d of 5 records are in %s.partial: add --resume to go on from there"},
	} {
		seen := map[int]bool{}
		for at := 1; at <= steps; at += max(1, steps/10) {
			out := filepath.Join(t.TempDir(), "r.jsonl")
			ctx, cancel := context.WithCancelCause(t.Context())
			n := 0
			err := certifyOn(ctx, t, func() error {
				if n++; n < at {
					return nil
				}
				if stop.name == "fault" {
					return errors.New("lost")
				}
				cancel(errors.New("a signal"))
				return nil
			}, with(out)...)
			cancel(nil)
			kept, readErr := os.ReadFile(out + certify.PartialSuffix)
			k := bytes.Count(kept, []byte("\n"))
			seen[k] = true
			var text bytes.Buffer
			switch got := status(err, &text); {
			case err == nil && stop.name == "signal": // past the last look at ctx
			case got != stop.status:
				t.Errorf("%s at step %d: %v, exit status %d, want %d", stop.name, at, err, got, stop.status)
			case k == 0 && !errors.Is(readErr, os.ErrNotExist):
				t.Errorf("%s at step %d: no record, but a file: %v", stop.name, at, readErr)
			case k > 0 && text.String() != "psafe: "+fmt.Sprintf(stop.words, k, out)+"\n":
				t.Errorf("%s at step %d: %q", stop.name, at, text.String())
			}
			if err == nil {
				continue
			}
			if _, err := os.Stat(out); err == nil {
				t.Errorf("%s at step %d: there is a result", stop.name, at)
			}
			certifyTo(t, out, append(args, "--resume")...)
			if readTest(t, out) != readTest(t, whole) {
				t.Errorf("%s at step %d: resumed after %d records, the file differs", stop.name, at, k)
			}
			onlyFile(t, out)
		}
		if !seen[0] || !seen[3] || !seen[4] {
			t.Errorf("%s: stopped after these numbers of records: %v", stop.name, seen)
		}
	}
}

// TestTakenOver: of two runs with one --out the second is refused; with --resume it
// goes on alone, and the first says so and leaves the file alone. So does a run whose
// file a user removes.
func TestTakenOver(t *testing.T) {
	args := []string{"--device", "cpu", "--omit-timing", "--posterior", testFile("cubic-128.npz"), "--property", testFile("cubic-property.json"), "--method", "clbp", "--options", "cells=8"}
	whole := filepath.Join(t.TempDir(), "whole.jsonl")
	certifyTo(t, whole, args...)
	for _, resume := range []bool{true, false} {
		out := filepath.Join(t.TempDir(), "r.jsonl")
		done := false
		second := func() error {
			if text, err := os.ReadFile(out + certify.PartialSuffix); done || err != nil || bytes.Count(text, []byte("\n")) < 3 {
				if err == nil && !done {
					time.Sleep(time.Millisecond) // records are written beside the work
				}
				return nil
			}
			done = true
			err := execute(t.Context(), append([]string{"certify", "--out", out}, args...), io.Discard, io.Discard)
			if err == nil || !regexp.MustCompile(`r\.jsonl\.partial: holds \d+ finished records`).MatchString(err.Error()) {
				t.Errorf("a second run without --resume: %v", err)
			}
			if resume {
				certifyTo(t, out, append(args, "--resume")...)
			} else if err := os.Remove(out + certify.PartialSuffix); err != nil {
				t.Error(err)
			}
			return nil
		}
		err := certifyOn(t.Context(), t, second, append([]string{"--out", out}, args...)...)
		if want := "r.jsonl: cannot be written: " + out + ".partial was removed, or taken over by another run with --resume or --overwrite"; !done || err == nil || !strings.HasSuffix(err.Error(), want) || status(err, io.Discard) != exitUsage {
			t.Errorf("resume %v: %v", resume, err)
		}
		if !resume {
			certifyTo(t, out, args...)
		}
		if readTest(t, out) != readTest(t, whole) {
			t.Errorf("resume %v: another file", resume)
		}
		onlyFile(t, out)
	}
}

// TestKilled: kill -9 leaves every record that was written.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("numbers, not races: not with -short")
	}
	// A run may be faster than the kill where the machine is busy: then a longer one.
	for points := 8; ; points *= 4 {
		if killed(t, points) {
			return
		}
		if points > 1000 {
			t.Fatal("every run was faster than the kill")
		}
	}
}

// killed is TestKilled with three times so many points, and false if the run had
// ended.
func killed(t *testing.T, repeats int) bool {
	points := filepath.Join(t.TempDir(), "points.csv")
	if err := os.WriteFile(points, []byte(strings.Repeat("0.0,1\n0.1,0.9\n-0.9,-0.4\n", repeats)), 0o666); err != nil {
		t.Fatal(err)
	}
	args := []string{"--device", "cpu", "--omit-timing", "--posterior", testFile("tiny-2-3-2-tanh.npz"), "--inputs", points, "--eps", "0.1", "--method", "neuronsum", "--options", "cells=2"}
	out := filepath.Join(t.TempDir(), "r.jsonl")
	cmd := exec.Command("psafe", append([]string{"certify", "--out", out}, args...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for written := false; !written; {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
			return false
		case <-time.After(5 * time.Millisecond):
			text, err := os.ReadFile(out + certify.PartialSuffix)
			written = err == nil && len(text) > 0
		}
	}
	_ = cmd.Process.Kill() // it may have ended
	if err := <-ended; err == nil {
		return false
	}
	left := readTest(t, out+certify.PartialSuffix)
	if !strings.HasSuffix(left, "}\n") {
		t.Fatalf("left: %q", left)
	}
	notes := certifyTo(t, out, append(args, "--resume")...)
	if want := fmt.Sprintf("going on after %d of %d records", strings.Count(left, "\n"), 3*repeats); !strings.Contains(notes, want) {
		t.Errorf("notes %q, want %q", notes, want)
	}
	whole := filepath.Join(t.TempDir(), "whole.jsonl")
	certifyTo(t, whole, args...)
	if got := readTest(t, out); got != readTest(t, whole) || !strings.HasPrefix(got, left) {
		t.Errorf("resumed:\n%s\nat once:\n%s", got, readTest(t, whole))
	}
	return true
}
