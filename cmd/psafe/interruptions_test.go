package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"psafe/host/job/certify"
	"psafe/internal/testscale"
)

// interruptedRuns are small runs with many records, which take some tenths of a second.
func interruptedRuns(t *testing.T) map[string][]string {
	var many strings.Builder
	for i := range 25 {
		fmt.Fprintf(&many, "%.2f,%.2f\n", 0.9-0.07*float64(i), 0.07*float64(i)-0.8)
	}
	points := pointsOf(t, many.String())
	return map[string][]string{
		"one record at a time": {"--posterior", testFile("tiny-2-3-2-tanh.npz"), "--inputs", points, "--eps", "0.1", "--method", "neuronsum", "--options", "cells=2"},
		"one group at a time":  {"--posterior", testFile("cubic-128.npz"), "--property", testFile("cubic-property.json"), "--method", "clbp"},
		"all at the end":       {"--posterior", testFile("tiny-2-3-2-tanh.npz"), "--inputs", points, "--eps", "0.05", "--method", "ibp", "--draws", "5", "--gamma", "2", "--options", "no-upper"},
	}
}

// TestInterruptions ends runs at random moments in every way that there is, as often as
// deep affords, and goes on with --resume until they are done: the files are those of runs
// that nobody disturbed, and nothing that was left behind is in the way.
func TestInterruptions(t *testing.T) {
	noSignals(t)
	if testing.Short() {
		t.Skip("numbers, not races: not with -short")
	}
	ways := map[string][]syscall.Signal{
		"KILL": {syscall.SIGKILL}, "INT": {syscall.SIGINT}, "TERM": {syscall.SIGTERM}, "HUP": {syscall.SIGHUP}, "INT INT": {syscall.SIGINT, syscall.SIGINT},
		"HUP TERM KILL": {syscall.SIGHUP, syscall.SIGTERM, syscall.SIGKILL},
	}
	var names []string
	for name := range ways {
		names = append(names, name)
	}
	rng := rand.New(rand.NewPCG(11, uint64(time.Now().UnixNano())))
	wanted := testscale.Cases(t, 70) // of each of three runs
	if !testscale.Deep(t) {
		wanted = (wanted + 3) / 4
	}
	for name, args := range interruptedRuns(t) {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"certify", "--device", "cpu", "--omit-timing", "--quiet"}, args...)
			dir := t.TempDir()
			whole := filepath.Join(dir, "whole.jsonl")
			start := time.Now()
			if e := signalled(t, 0, append(args, "--out", whole)); e.status != exitDone {
				t.Fatalf("undisturbed: %+v", e)
			}
			took := time.Since(start)
			want := readTest(t, whole)
			count, done := map[string]int{}, 0
			for ended := 0; ended < wanted; {
				out := filepath.Join(dir, fmt.Sprintf("r%d.jsonl", done))
				for try := range 1000 {
					way := names[rng.IntN(len(names))]
					delay := time.Duration(rng.Float64() * (1 + float64(try)/8) * float64(took)) // longer in the end, or a busy machine never gets there
					e := signalled(t, delay, append(args, "--out", out, "--resume"), ways[way]...)
					if e.status == exitDone {
						break
					}
					// Before a handler is there a signal ends the program by itself.
					if e.status != exitInterrupted && !e.signal {
						t.Fatalf("%s after %v: %+v", way, delay, e)
					}
					ended++
					count[way]++
					checkLeft(t, way, out, want, e)
				}
				if got := readTest(t, out); got != want {
					t.Fatalf("resumed:\n%s\nundisturbed:\n%s", got, want)
				}
				done++
			}
			left, err := filepath.Glob(filepath.Join(dir, ".psafe-*.tmp"))
			if err != nil || len(left) > count["KILL"]+count["HUP TERM KILL"] {
				t.Errorf("temporary files: %q, %v", left, err)
			}
			t.Logf("%d files, each undisturbed in %v, after %v; %d temporary files left", done, took, count, len(left))
		})
	}
}

// checkLeft demands that what an ended run leaves is the beginning of the result, and that
// its message says how much of it there is.
func checkLeft(t *testing.T, way, out, want string, e ending) {
	t.Helper()
	if _, err := os.Stat(out); err == nil {
		if got := readTest(t, out); got != want { // it ended between its last step and its exit
			t.Fatalf("%s left a result that is not whole: %q", way, got)
		}
		return
	}
	left, err := os.ReadFile(out + certify.PartialSuffix)
	if !strings.HasPrefix(want, string(left)) {
		t.Fatalf("%s left %q, which is not the beginning of\n%s", way, left, want)
	}
	n := bytes.Count(left, []byte("\n"))
	switch said := strings.Contains(e.text, fmt.Sprintf("%d of ", n)) || strings.Contains(e.text, fmt.Sprintf("%d finished records are in ", n)); {
	case e.signal:
	case n == 0 && err == nil && strings.Contains(e.text, "records are in"), n > 0 && strings.Contains(e.text, "records are in") && !said:
		t.Errorf("%s: %d records are left, and it says %q", way, n, e.text)
	}
}

// TestLeftovers: what kill -9 leaves is in nobody's way: temporary files of any name, also
// that of the process itself, and an OUT.partial without a record.
func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".psafe-0123456789abcdef.tmp", fmt.Sprintf(".psafe-%d.tmp", os.Getpid()), ".psafe-.tmp"} {
		writeTest(t, filepath.Join(dir, name), "left")
	}
	out := filepath.Join(dir, "r.jsonl")
	args := []string{"--device", "cpu", "--posterior", testFile("tiny-2-3-2-tanh.npz"), "--inputs", pointsOf(t, "0,1\n"), "--eps", "0.05", "--method", "clbp", "--quiet"}
	certifyTo(t, out, args...)
	writeTest(t, out+certify.PartialSuffix, "")
	certifyTo(t, out, append(args, "--resume")...)
	psafe(t, exitDone, "convert", testFile("tiny-2-3-2-tanh.npz"), "--out", filepath.Join(dir, "c.npz"))
	psafe(t, exitDone, "plot", "eps", out, "--out", filepath.Join(dir, "f.svg"))
	if left, err := filepath.Glob(filepath.Join(dir, ".psafe-*.tmp")); err != nil || len(left) != 3 {
		t.Errorf("%q, %v: files of others were touched", left, err)
	}
}

// TestNoPlace: where nothing can be written, or no more, the status is 2, the line says why,
// and what was finished stays.
func TestNoPlace(t *testing.T) {
	noSignals(t)
	args := []string{"certify", "--device", "cpu", "--omit-timing", "--quiet", "--posterior", testFile("cubic-128.npz"), "--property", testFile("cubic-property.json"), "--method", "clbp"}
	dir := t.TempDir()
	whole, out := filepath.Join(dir, "whole.jsonl"), filepath.Join(dir, "r.jsonl")
	psafe(t, exitDone, append(args, "--out", whole)...)
	// A limit of the size of files is a disk that gets full.
	cmd := exec.Command("sh", "-c", `ulimit -f 4; exec psafe "$@"`, "sh")
	cmd.Args = append(append(cmd.Args, args...), "--out", out)
	text, err := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != exitUsage || !strings.Contains(string(text), "records are in "+out+".partial: add --resume") {
		t.Errorf("full: status %d, %v, %q", got, err, text)
	}
	psafe(t, exitDone, append(args, "--out", out, "--resume")...)
	if readTest(t, out) != readTest(t, whole) {
		t.Error("after a full disk: another file")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
	readOnly := "/proc/sys" // for root, too
	if _, err := os.Stat(readOnly); err != nil {
		t.Skip("no folder that nobody may write to")
	}
	for _, args := range [][]string{
		append(args, "--out", readOnly+"/r.jsonl"), {"convert", testFile("cubic-128.npz"), "--out", readOnly + "/c.npz"},
		{"plot", "bars", whole, "--out", readOnly + "/f.svg"}, {"train", "--data", "cubic", "--out", readOnly + "/t.npz"}, {"paper", "vcas", "--quick", "--out", readOnly + "/p"},
	} {
		var stdout, stderr bytes.Buffer
		if got := program(args, &stdout, &stderr); got != exitUsage || strings.Count(stderr.String(), "\n") != 1 || !strings.Contains(stderr.String(), readOnly) {
			t.Errorf("psafe %q: status %d, %q", args, got, stderr.String())
		}
	}
}
