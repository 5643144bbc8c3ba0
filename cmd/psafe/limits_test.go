package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"psafe/host/job/certify"
)

// TestTotalTimeLimit: a run that ends with its time, again and again, keeps what is finished
// each time, says so with its own status, and in the end has written the file of a run that
// nobody stopped.
func TestTotalTimeLimit(t *testing.T) {
	for name, args := range interruptedRuns(t) {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"certify", "--device", "cpu", "--omit-timing", "--quiet"}, args...)
			dir := t.TempDir()
			whole, out := filepath.Join(dir, "whole.jsonl"), filepath.Join(dir, "r.jsonl")
			psafe(t, exitDone, append(args, "--out", whole)...)
			want := readTest(t, whole)
			stops := 0
			for limit := time.Millisecond; ; limit *= 2 { // a busy machine may take long for anything
				start := time.Now()
				e := signalled(t, 0, append(args, "--out", out, "--resume", "--total-time-limit", limit.String()))
				if e.status == exitDone {
					break
				}
				left, err := os.ReadFile(out + certify.PartialSuffix)
				kept := strings.Contains(e.text, "records are in")
				// A machine so busy that the program was ended (endLate) may not have come to the file.
				late := !kept && time.Since(start) > limit+respite
				if e.status != exitTime || !strings.HasPrefix(e.text, "psafe: --total-time-limit ended the run") || !strings.HasPrefix(want, string(left)) || !late && kept != (err == nil && len(left) > 0) {
					t.Fatalf("after %v: %+v, left %q", limit, e, left)
				}
				stops++
			}
			if got := readTest(t, out); got != want || stops == 0 {
				t.Errorf("after %d stops:\n%s\nundisturbed:\n%s", stops, got, want)
			}
			t.Logf("stopped %d times", stops)
		})
	}
}

// TestTimeLimitInAPass: an input's time ends within a pass over a network of 2,000 layers,
// which takes a minute, and longer on a machine as busy as makes this take long too.
func TestTimeLimitInAPass(t *testing.T) {
	net, points := deepNet(t, 2000, 8)
	out := filepath.Join(t.TempDir(), "r.jsonl")
	start := time.Now()
	certifyTo(t, out, "--device", "cpu", "--posterior", net, "--inputs", points, "--eps", "0.001", "--time-limit", "50ms", "--quiet")
	if n := strings.Count(readTest(t, out), `"stopped":"time limit"`); n != 3 {
		t.Errorf("%d of 3 inputs were stopped", n)
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("three inputs of 50 ms took %v", took)
	}
	psafe(t, exitDone, "check", out)
}
